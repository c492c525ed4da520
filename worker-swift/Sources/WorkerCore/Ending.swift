#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Why the worker ends.
public enum Ending: Sendable, Equatable {
    /// The supervisor is gone, in whatever way. Nobody reads an answer any more.
    case connectionEnded
    /// The supervisor wanted it, and has been told the end of every step.
    case shutdown
    /// A frame could not be read, so what follows cannot be relied on.
    case malformedFrame(String)
    /// The model goes on with a step that was cancelled, and blocks those that come.
    case modelIsStuck
    /// The worker could not start.
    case failedStart(String)

    /// The code the process exits with.
    public var exitCode: Int32 {
        switch self {
        case .connectionEnded, .shutdown: 0
        case .malformedFrame, .modelIsStuck: 1
        case .failedStart: 2
        }
    }

    /// The last words, for standard error; `nil` where there is nobody to read them or nothing to say.
    public var lastWords: String? {
        switch self {
        case .connectionEnded, .shutdown: nil
        case .malformedFrame(let reason): "the frame \(reason)"
        case .modelIsStuck: "the model goes on with a step that was cancelled"
        case .failedStart(let reason): reason
        }
    }

    /// Ends the process at once: nothing is waited for, and nothing cleaned up.
    public func exitProcess(name: String) -> Never {
        if let lastWords {
            // They may quote what came in. More than a pipe holds would wait for a reader, who may be gone.
            let longest = 4096
            var line = Array("\(name): \(lastWords)".utf8.prefix(longest)) + Array("\n".utf8)
            _ = write(STDERR_FILENO, &line, line.count)
        }
        _exit(exitCode)
    }
}
