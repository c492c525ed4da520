/// What a worker says (docs/IPC.md, section 6).
public enum FromWorker: Sendable, Equatable {
    /// The worker is up. Once, and before everything but `log`.
    case ready(Ready)
    /// The answer of a streamed step grew by this text.
    case delta(id: StepID, text: String)
    /// The model took back what it said; this is the whole answer so far.
    case reset(id: StepID, text: String)
    /// The structured answer of a streamed step so far.
    case partial(id: StepID, value: Value)
    /// A step is done.
    case finished(id: StepID, outcome: Outcome, usage: TokenUsage)
    /// A step, or a `countTokens`, came to nothing.
    case failed(id: StepID, failure: Failure)
    /// The answer to `countTokens`.
    case tokens(id: StepID, count: UInt32)
    /// Whether the model can be asked now: the answer to `availability` with its id, or unasked when that has changed.
    case availability(id: StepID?, availability: Availability)
    /// The answer to `ping`.
    case pong(n: UInt64)
    /// A line for the supervisor's log.
    case log(level: LogLevel, message: String)
    /// A message this side does not know; to be ignored.
    case unknown(type: String)
}

extension FromWorker {
    /// Reads the content of a frame, without its length.
    ///
    /// - Throws: ``DecodeError``.
    public init(frameBody: [UInt8]) throws {
        self = try decodeFrame(frameBody) { map in
            let type = try map.type()
            func id() throws -> StepID { try map.required("id") { try $0.integer() } }
            func text(_ key: String) throws -> String { try map.required(key) { try $0.text() } }
            func availability() throws -> Availability {
                try map.required("availability") { try Availability($0.map()) }
            }
            return switch type {
            case "ready": .ready(try Ready(map))
            case "delta": .delta(id: try id(), text: try text("text"))
            case "reset": .reset(id: try id(), text: try text("text"))
            case "partial": .partial(id: try id(), value: try map.required("value") { try $0.value() })
            case "finished":
                .finished(
                    id: try id(), outcome: try map.required("outcome") { try Outcome($0.map()) },
                    usage: try map.defaulted("usage", TokenUsage()) { try TokenUsage($0.map()) })
            case "failed": .failed(id: try id(), failure: try Failure(map))
            case "tokens": .tokens(id: try id(), count: try map.required("count") { try $0.integer() })
            case "availability":
                .availability(id: try map.optional("id") { try $0.integer() }, availability: try availability())
            case "pong": .pong(n: try map.required("n") { try $0.integer() })
            case "log": .log(level: try map.required("level") { try $0.choice() }, message: try text("message"))
            default: .unknown(type: type)
            }
        }
    }

    /// The message with its length, ready to be sent.
    ///
    /// - Throws: ``EncodeError`` where no supervisor would read it.
    public func encodeFrame() throws -> [UInt8] {
        try WorkerProtocol.encodeFrame { writer in
            switch self {
            case .ready(let ready): writer.map([("type", .text("ready"))] + ready.members)
            case .delta(let id, let text): writer.message("delta", ("id", .integer(id)), ("text", .text(text)))
            case .reset(let id, let text): writer.message("reset", ("id", .integer(id)), ("text", .text(text)))
            case .partial(let id, let value): writer.message("partial", ("id", .integer(id)), ("value", .value(value)))
            case .finished(let id, let outcome, let usage):
                writer.message(
                    "finished", ("id", .integer(id)), ("outcome", .map(outcome.members)),
                    ("usage", .map(usage.members)))
            case .failed(let id, let failure):
                writer.map([("type", .text("failed")), ("id", .integer(id))] + failure.members)
            case .tokens(let id, let count): writer.message("tokens", ("id", .integer(id)), ("count", PackMember(count)))
            case .availability(let id, let availability):
                writer.message("availability", ("id", PackMember(id)), ("availability", .map(availability.members)))
            case .pong(let n): writer.message("pong", ("n", .integer(n)))
            case .log(let level, let message):
                writer.message("log", ("level", .text(level.rawValue)), ("message", .text(message)))
            case .unknown(let type): writer.message(type)
            }
        }
    }
}

/// How important a log line is.
public enum LogLevel: String, Sendable, CaseIterable {
    /// For whoever looks for a fault.
    case debug
    /// Worth knowing.
    case info
    /// Should not be, but was coped with.
    case warning
    /// Went wrong.
    case error
}
