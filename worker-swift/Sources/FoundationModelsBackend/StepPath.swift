// The way in which steps are played on the system at hand.

import FoundationModels
import WorkerProtocol

/// A way to play steps.
enum StepPath: String, Sendable, CaseIterable {
    /// The executor, asked directly: macOS 27.
    case direct
    /// A session around a model of our own, without streaming: macOS 27, where events cannot be read.
    case wrapped
    /// A session, without tools and streaming: macOS 26.
    case session

    /// Forces a way, for tests and to look for faults.
    static let variable = "OAM_WORKER_STEP_PATH"

    /// The best way on this system, and a line for the log that tells why it is not a better one.
    static func best(forced name: String?) -> (path: StepPath, reason: String?) {
        if let path = name.flatMap(StepPath.init(rawValue:)), path.isPossible {
            return (path, "\(variable) says to play steps by '\(path.rawValue)'.")
        }
        guard #available(macOS 27.0, *) else {
            return (.session, "This is macOS 26: steps are played without tools and without streaming.")
        }
        let test = EventSelfTest()
        if test.isPassed {
            let losses = test.losses.joined(separator: ", ")
            return (.direct, losses.isEmpty ? nil : "Some events of the model cannot be read on this system: \(losses).")
        }
        return (
            .wrapped,
            "Events of the model cannot be read on this system, so answers come as a whole. "
                + "Not read: \(test.failures.joined(separator: ", ")). An event is \(test.layout)."
        )
    }

    private var isPossible: Bool {
        guard #available(macOS 27.0, *) else { return self == .session }
        return true
    }

    var capabilities: Capabilities {
        Capabilities(
            streaming: self == .direct,
            nativeTools: self != .session,
            guidedGeneration: true,
            tokenCount: Self.canCount,
            prewarm: true,
            parallelSteps: 1)
    }

    private static var canCount: Bool {
        if #available(macOS 26.4, *) { true } else { false }
    }
}
