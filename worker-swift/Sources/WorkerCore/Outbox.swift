import WorkerProtocol

/// What goes to the supervisor: whole frames, from any thread, in the order in which they were sent.
///
/// Nobody who sends waits for the connection. A thread writes what has come together since it wrote last.
final class Outbox: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        /// Bytes that are being written.
        var underWay = 0
        /// The last message has been sent.
        var isClosed = false
    }

    private enum Job {
        case write([UInt8])
        case end
    }

    /// So much may wait before it is worth while to send less.
    private static let crowdedAbove = 256 << 10

    private let state = Monitor(State())

    /// - Parameter onEnd: Called once when nothing can be written any more: `connectionEnded`, or after ``close()`` and when
    ///   all is written `shutdown`.
    init(_ connection: Connection, onEnd: @escaping @Sendable (Ending) -> Void) {
        let state = state
        startThread {
            while true {
                let job = state.wait { state -> Job? in
                    state.underWay = 0
                    guard !state.waiting.isEmpty else { return state.isClosed ? .end : nil }
                    defer { state.waiting = [] }
                    state.underWay = state.waiting.count
                    return .write(state.waiting)
                }
                switch job {
                case .write(let bytes) where connection.write(bytes): continue
                case .write: return onEnd(.connectionEnded)
                case .end: return onEnd(.shutdown)
                }
            }
        }
    }

    /// Sends a message. After ``close()`` it is dropped.
    ///
    /// - Throws: `EncodeError` where no supervisor would read it.
    func send(_ message: FromWorker) throws {
        let frame = try message.encodeFrame()
        state.change { state in
            if !state.isClosed {
                state.waiting += frame
            }
        }
    }

    /// Sends a line for the supervisor's log.
    func log(_ level: LogLevel, _ message: String) {
        // A text of this length always has a frame.
        let longest = 4096
        let text = message.utf8.count > longest ? String(decoding: message.utf8.prefix(longest), as: UTF8.self) : message
        try? send(.log(level: level, message: text))
    }

    /// Whether the supervisor reads more slowly than the worker writes.
    var isCrowded: Bool {
        state.read { $0.waiting.count + $0.underWay > Self.crowdedAbove }
    }

    /// Nothing more is sent. Ends the worker when all has been written.
    func close() {
        state.change { $0.isClosed = true }
    }
}
