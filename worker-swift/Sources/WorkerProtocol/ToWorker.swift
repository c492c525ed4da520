/// Identifies a step, or another question, of one connection. Chosen by the supervisor, never used twice.
public typealias StepID = UInt64

/// What the supervisor says (docs/IPC.md, section 5).
public enum ToWorker: Sendable, Equatable {
    /// Play one step. Answered by exactly one `finished` or `failed`.
    case generate(Generate)
    /// Stop working on a step. It still gets its `finished` or `failed`, soon.
    case cancel(id: StepID)
    /// Count the tokens of a request. Answered by `tokens` or `failed`.
    case countTokens(Generate)
    /// Get ready for steps with these instructions, if known. Not answered.
    case prewarm(instructions: String?)
    /// Tell whether the model can be asked now. Answered by `availability` with the id.
    case availability(id: StepID)
    /// Show that you are alive. Answered by `pong` at once.
    case ping(n: UInt64)
    /// End within so many milliseconds.
    case shutdown(graceMs: UInt64)
    /// A message this side does not know; to be ignored.
    case unknown(type: String)
}

extension ToWorker {
    /// Reads the content of a frame, without its length.
    ///
    /// - Throws: ``DecodeError``.
    public init(frameBody: [UInt8]) throws {
        self = try decodeFrame(frameBody) { map in
            let type = try map.type()
            func id() throws -> StepID { try map.required("id") { try $0.integer() } }
            return switch type {
            case "generate": .generate(try Generate(map))
            case "cancel": .cancel(id: try id())
            case "countTokens": .countTokens(try Generate(map))
            case "prewarm": .prewarm(instructions: try map.optional("instructions") { try $0.text() })
            case "availability": .availability(id: try id())
            case "ping": .ping(n: try map.required("n") { try $0.integer() })
            case "shutdown": .shutdown(graceMs: try map.required("graceMs") { try $0.integer() })
            default: .unknown(type: type)
            }
        }
    }

    /// The message with its length, ready to be sent.
    ///
    /// - Throws: ``EncodeError`` where no worker would read it.
    public func encodeFrame() throws -> [UInt8] {
        try WorkerProtocol.encodeFrame { writer in
            switch self {
            case .generate(let request): request.write("generate", to: &writer)
            case .cancel(let id): writer.message("cancel", ("id", .integer(id)))
            case .countTokens(let request): request.write("countTokens", to: &writer)
            case .prewarm(let instructions): writer.message("prewarm", ("instructions", .text(instructions)))
            case .availability(let id): writer.message("availability", ("id", .integer(id)))
            case .ping(let n): writer.message("ping", ("n", .integer(n)))
            case .shutdown(let graceMs): writer.message("shutdown", ("graceMs", .integer(graceMs)))
            case .unknown(let type): writer.message(type)
            }
        }
    }
}
