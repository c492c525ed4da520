// How to generate, and what the model is told beside the transcript.

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct GenerationOptions: Sendable, Equatable {
    public var samplingMode: SamplingMode?
    public var temperature: Double?
    public var maximumResponseTokens: Int?
    private var mode: ToolCallingMode?

    @available(macOS 27.0, *)
    public var toolCallingMode: ToolCallingMode? {
        get { mode }
        set { mode = newValue }
    }

    public init(samplingMode: SamplingMode? = nil, temperature: Double? = nil, maximumResponseTokens: Int? = nil) {
        self.samplingMode = samplingMode
        self.temperature = temperature
        self.maximumResponseTokens = maximumResponseTokens
    }

    @available(macOS 27.0, *)
    public init(
        samplingMode: SamplingMode? = nil,
        temperature: Double? = nil,
        maximumResponseTokens: Int? = nil,
        toolCallingMode: ToolCallingMode?
    ) {
        self.init(samplingMode: samplingMode, temperature: temperature, maximumResponseTokens: maximumResponseTokens)
        mode = toolCallingMode
    }

    public struct SamplingMode: Sendable, Equatable {
        @available(macOS 27.0, *)
        public var kind: Kind { storage }
        private let storage: Kind

        public static var greedy: SamplingMode { SamplingMode(storage: .greedy) }

        public static func random(top k: Int, seed: UInt64? = nil) -> SamplingMode {
            SamplingMode(storage: .randomTopK(k, seed: seed))
        }

        public static func random(probabilityThreshold: Double, seed: UInt64? = nil) -> SamplingMode {
            SamplingMode(storage: .randomProbabilityThreshold(probabilityThreshold, seed: seed))
        }

        @available(macOS 27.0, *)
        public enum Kind: Sendable, Equatable {
            case greedy
            case randomTopK(_: Int, seed: UInt64?)
            case randomProbabilityThreshold(_: Double, seed: UInt64?)
        }
    }

    @available(macOS 27.0, *)
    public struct ToolCallingMode: Sendable, Equatable {
        public var kind: Kind

        public static let allowed = ToolCallingMode(kind: .allowed)
        public static let required = ToolCallingMode(kind: .required)
        public static let disallowed = ToolCallingMode(kind: .disallowed)

        public enum Kind: Sendable, Equatable, Hashable {
            case allowed, required, disallowed
        }
    }
}

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public struct ContextOptions: Sendable, Equatable {
    public var includeSchemaInPrompt: Bool?
    public var reasoningLevel: ReasoningLevel?

    public init(includeSchemaInPrompt: Bool? = nil, reasoningLevel: ReasoningLevel? = nil) {
        self.includeSchemaInPrompt = includeSchemaInPrompt
        self.reasoningLevel = reasoningLevel
    }

    public enum ReasoningLevel: Sendable, Equatable {
        case light, moderate, deep
        case custom(String)
    }
}
