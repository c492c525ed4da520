/// What a step produced: the whole of it, whatever was sent on the way.
public enum Outcome: Sendable, Equatable {
    /// An answer in prose. In a step with a schema it must be the JSON text of the answer.
    case text(String)
    /// A structured answer.
    case structured(Value)
    /// The model wants tools called: at least one.
    case toolCalls([ToolCall])

    init(_ map: PackMap) throws {
        switch try map.type() {
        case "text": self = .text(try map.required("text") { try $0.text() })
        case "structured": self = .structured(try map.required("value") { try $0.value() })
        case "toolCalls": self = .toolCalls(try map.required("calls") { try $0.array { try ToolCall($0.map()) } })
        case let type: throw DecodeError.malformed("is no message: there is no outcome '\(type)'")
        }
    }

    var members: [(String, PackMember)] {
        switch self {
        case .text(let text): [("type", .text("text")), ("text", .text(text))]
        case .structured(let value): [("type", .text("structured")), ("value", .value(value))]
        case .toolCalls(let calls): [("type", .text("toolCalls")), ("calls", .maps(calls.map(\.members)))]
        }
    }
}

/// Tokens used by a step.
public struct TokenUsage: Sendable, Equatable {
    /// All input tokens, the cached ones included.
    public var inputTokens: UInt64
    /// Input tokens that were cached.
    public var cachedInputTokens: UInt64
    /// Generated tokens.
    public var outputTokens: UInt64

    public init(inputTokens: UInt64 = 0, cachedInputTokens: UInt64 = 0, outputTokens: UInt64 = 0) {
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
    }

    init(_ map: PackMap) throws {
        func count(_ key: String) throws -> UInt64 { try map.defaulted(key, 0) { try $0.integer() } }
        inputTokens = try count("inputTokens")
        cachedInputTokens = try count("cachedInputTokens")
        outputTokens = try count("outputTokens")
    }

    var members: [(String, PackMember)] {
        [
            ("inputTokens", .integer(inputTokens)), ("cachedInputTokens", .integer(cachedInputTokens)),
            ("outputTokens", .integer(outputTokens)),
        ]
    }
}

/// Why a step, or a `countTokens`, came to nothing.
public struct Failure: Error, Sendable, Equatable {
    /// What kind of failure it is.
    public var code: FailureCode
    /// A full sentence for a developer.
    public var message: String
    /// Further facts. `retryAfterSeconds` tells when a rate limit ends.
    public var data: ValueObject?

    public init(_ code: FailureCode, _ message: String, data: ValueObject? = nil) {
        self.code = code
        self.message = message
        self.data = data
    }

    init(_ map: PackMap) throws {
        code = FailureCode(rawValue: try map.required("code") { try $0.text() })
        message = try map.required("message") { try $0.text() }
        data = try map.optional("data") { try $0.object() }
    }

    var members: [(String, PackMember)] {
        [
            ("code", .text(code.rawValue)), ("message", .text(message)),
            ("data", data.map(PackMember.object) ?? .absent),
        ]
    }
}

/// The kinds of failures (docs/IPC.md, section 9). The set is open.
public struct FailureCode: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The model cannot be used now.
    public static let modelUnavailable = FailureCode(rawValue: "model_unavailable")
    /// Input or output tripped the model's safety rules.
    public static let guardrailViolation = FailureCode(rawValue: "guardrail_violation")
    /// The model declined to answer.
    public static let refusal = FailureCode(rawValue: "refusal")
    /// The request does not fit the model's context.
    public static let contextSizeExceeded = FailureCode(rawValue: "context_size_exceeded")
    /// The system limits how often the model may be asked.
    public static let rateLimited = FailureCode(rawValue: "rate_limited")
    /// The model does not speak the prompt's language.
    public static let unsupportedLanguage = FailureCode(rawValue: "unsupported_language")
    /// The schema or a tool's parameters cannot be used.
    public static let invalidSchema = FailureCode(rawValue: "invalid_schema")
    /// After `cancel` or `shutdown`.
    public static let cancelled = FailureCode(rawValue: "cancelled")
    /// The model cannot take another step now.
    public static let busy = FailureCode(rawValue: "busy")
    /// The request itself is not usable.
    public static let invalidRequest = FailureCode(rawValue: "invalid_request")
    /// Anything else.
    public static let generationFailed = FailureCode(rawValue: "generation_failed")
}
