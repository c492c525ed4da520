// What a language model is to the framework: a model, an executor that plays one step of it, and the request for it.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public protocol LanguageModel: Sendable {
    associatedtype Executor: LanguageModelExecutor where Self == Self.Executor.Model
    var capabilities: LanguageModelCapabilities { get }
    var executorConfiguration: Self.Executor.Configuration { get }
}

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public struct LanguageModelCapabilities: Sendable {
    private let capabilities: Set<Capability>

    public init(_ capabilities: [Capability]) {
        self.capabilities = Set(capabilities)
    }

    public func contains(_ capability: Capability) -> Bool {
        capabilities.contains(capability)
    }

    public struct Capability: Sendable, Hashable {
        private let name: String

        public static var vision: Capability { Capability(name: "vision") }
        public static var guidedGeneration: Capability { Capability(name: "guidedGeneration") }
        public static var reasoning: Capability { Capability(name: "reasoning") }
        public static var toolCalling: Capability { Capability(name: "toolCalling") }
    }
}

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public protocol LanguageModelExecutor: Sendable {
    associatedtype Configuration: Hashable, Sendable
    associatedtype Model: LanguageModel
    func prewarm(model: Self.Model, transcript: Transcript)
    init(configuration: Self.Configuration) throws
    func respond(
        to request: LanguageModelExecutorGenerationRequest,
        model: Self.Model,
        streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws
}

@available(macOS 27.0, *)
extension LanguageModelExecutor {
    public func prewarm(model: Self.Model, transcript: Transcript) {}
}

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public struct LanguageModelExecutorGenerationRequest: Sendable {
    public var id: UUID
    public var transcript: Transcript
    public var enabledToolDefinitions: [Transcript.ToolDefinition]
    public var schema: GenerationSchema?
    public var generationOptions: GenerationOptions
    public var contextOptions: ContextOptions
    public var metadata: [String: GeneratedContent]

    public init(
        id: UUID,
        transcript: Transcript,
        enabledTools: [Transcript.ToolDefinition],
        schema: GenerationSchema? = nil,
        generationOptions: GenerationOptions,
        contextOptions: ContextOptions,
        metadata: [String: any ConvertibleToGeneratedContent]
    ) {
        self.id = id
        self.transcript = transcript
        self.enabledToolDefinitions = enabledTools
        self.schema = schema
        self.generationOptions = generationOptions
        self.contextOptions = contextOptions
        self.metadata = metadata.mapValues(\.generatedContent)
    }
}
