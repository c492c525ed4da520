import Foundation
import Testing
import WorkerProtocol

@testable import WorkerCore

/// The other end of a worker's connection, in the same process.
final class Supervisor: Sendable {
    struct HeardNothing: Error {}

    private let socket: Int32
    private let messages: AsyncStream<FromWorker>
    private let working: Task<Ending, Never>

    /// Starts a worker and hears nothing of it yet.
    init(_ runner: FakeRunner, settleTime: Duration = .seconds(60)) throws {
        let (own, other) = try socketPair()
        socket = own
        messages = AsyncStream { messages in
            startThread {
                var frames = FrameReader()
                var chunk = [UInt8](repeating: 0, count: 4096)
                while let count = Connection(socket: own).read(into: &chunk) {
                    frames.feed(chunk[..<count])
                    while let body = try? frames.next(), let message = try? FromWorker(frameBody: body) {
                        messages.yield(message)
                    }
                }
                messages.finish()
            }
        }
        let worker = Worker(
            name: "fake", version: "1", connection: Connection(socket: other), settleTime: settleTime, onEnd: { _ in })
        working = Task { await worker.serve { _ in runner } }
    }

    deinit {
        hangUp()
    }

    /// A worker that has said `ready`.
    static func ready(_ runner: FakeRunner, settleTime: Duration = .seconds(60)) async throws -> Supervisor {
        let supervisor = try Supervisor(runner, settleTime: settleTime)
        guard case .ready = try await supervisor.hear() else { throw HeardNothing() }
        return supervisor
    }

    func say(_ messages: ToWorker...) throws {
        for message in messages {
            _ = Connection(socket: socket).write(try message.encodeFrame())
        }
    }

    func say(bytes: [UInt8]) {
        _ = Connection(socket: socket).write(bytes)
    }

    func ask(_ id: StepID, _ prompt: String, stream: Bool = false) throws {
        try say(.generate(step(id, prompt, stream: stream)))
    }

    /// The next message.
    func hear() async throws -> FromWorker {
        guard let message = await messages.first(where: { _ in true }) else { throw HeardNothing() }
        return message
    }

    func hear(_ count: Int) async throws -> [FromWorker] {
        var heard: [FromWorker] = []
        while heard.count < count {
            heard.append(try await hear())
        }
        return heard
    }

    /// All there is until the connection ends or falls silent, which it does at the answer to a ping.
    func hearUntilPong() async throws -> [FromWorker] {
        try say(.ping(n: .max))
        var heard: [FromWorker] = []
        while true {
            let message = try await hear()
            guard message != .pong(n: .max) else { return heard }
            heard.append(message)
        }
    }

    func hangUp() {
        endConnection(socket)
    }

    /// Why the worker ended.
    var ending: Ending {
        get async { await working.value }
    }
}

func step(_ id: StepID, _ prompt: String, stream: Bool = false) -> Generate {
    Generate(id: id, transcript: [.prompt([.text(prompt)])], stream: stream)
}

func finished(_ id: StepID, _ text: String) -> FromWorker {
    .finished(id: id, outcome: .text(text), usage: TokenUsage(outputTokens: 1))
}

/// Ends a connection for both sides.
func endConnection(_ socket: Int32) {
    shutdown(socket, Int32(SHUT_RDWR))
}

func socketPair() throws -> (Int32, Int32) {
    var descriptors: [Int32] = [-1, -1]
    #if canImport(Darwin)
        let kind = SOCK_STREAM
    #else
        let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    try #require(socketpair(AF_UNIX, kind, 0, &descriptors) == 0)
    return (descriptors[0], descriptors[1])
}

extension FromWorker {
    /// The step it ends, and how.
    var end: (id: StepID, code: String)? {
        switch self {
        case .finished(let id, _, _): (id, "finished")
        case .failed(let id, let failure): (id, failure.code.rawValue)
        default: nil
        }
    }

    var code: String? { end?.code }
}
