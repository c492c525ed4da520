// The model of the operating system: here, one that plays a script.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public final class SystemLanguageModel: Sendable {
    public static let `default` = SystemLanguageModel()

    public convenience init(useCase: UseCase = .general, guardrails: Guardrails = Guardrails.default) {
        self.init()
    }

    private init() {}

    public var availability: Availability { StandIn.current.availability }
    public var isAvailable: Bool { availability == .available }
    public var contextSize: Int { StandIn.current.contextSize }

    public var supportedLanguages: Set<Locale.Language> {
        Set(StandIn.current.languages.map(Locale.Language.init(identifier:)))
    }

    @available(macOS 26.4, *)
    public func tokenCount(for transcriptEntries: some Collection<Transcript.Entry>) async throws -> Int {
        guard StandIn.current.canCount else { throw ScriptedFailure.opaque("Tokens cannot be counted.") }
        return TokenEstimate.tokens(of: transcriptEntries)
    }

    @available(macOS 26.4, *)
    public func tokenCount(for schema: GenerationSchema) async throws -> Int {
        guard StandIn.current.canCount else { throw ScriptedFailure.opaque("Tokens cannot be counted.") }
        return schema.debugDescription.utf8.count.dividedUp(by: 4)
    }

    @available(macOS 27.0, *)
    public var variant: Variant { Variant(displayName: StandIn.current.variant) }

    public struct UseCase: Sendable, Equatable {
        private let name: String

        public static let general = UseCase(name: "general")
        public static let contentTagging = UseCase(name: "contentTagging")
    }

    public struct Guardrails: Sendable {
        public static let `default` = Guardrails()
        public static let permissiveContentTransformations = Guardrails()
    }

    @frozen
    public enum Availability: Equatable, Sendable {
        case available
        case unavailable(UnavailableReason)

        public enum UnavailableReason: Equatable, Sendable, Hashable {
            case deviceNotEligible, appleIntelligenceNotEnabled, modelNotReady
        }
    }

    @available(macOS 27.0, *)
    public struct Variant: Sendable, Hashable {
        public let displayName: String
    }

    @available(macOS 27.0, *)
    public enum Error: LocalizedError, CustomDebugStringConvertible {
        case assetsUnavailable(AssetsUnavailable)

        public struct AssetsUnavailable: Sendable {
            public var debugDescription: String

            public init(debugDescription: String) {
                self.debugDescription = debugDescription
            }
        }

        public var debugDescription: String {
            switch self {
            case .assetsUnavailable(let facts): facts.debugDescription
            }
        }

        public var errorDescription: String? { debugDescription }
    }
}

@available(macOS 27.0, *)
extension SystemLanguageModel: LanguageModel {
    public var capabilities: LanguageModelCapabilities {
        LanguageModelCapabilities([.guidedGeneration, .toolCalling] + (StandIn.current.canSee ? [.vision] : []))
    }

    public var executorConfiguration: Executor.Configuration { Executor.Configuration() }

    public struct Executor: LanguageModelExecutor {
        public typealias Model = SystemLanguageModel

        public struct Configuration: Hashable, Sendable {
            fileprivate init() {}
        }

        public init(configuration: Configuration) {}

        public func prewarm(model: SystemLanguageModel, transcript: Transcript) {}

        public func respond(
            to request: LanguageModelExecutorGenerationRequest,
            model: SystemLanguageModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            try await Performance(request: request, channel: channel, settings: StandIn.current).play()
        }
    }
}

/// Tokens, invented: four bytes each.
enum TokenEstimate {
    static func tokens(of entries: some Collection<Transcript.Entry>) -> Int {
        entries.reduce(0) { $0 + bytes(of: $1) }.dividedUp(by: 4)
    }

    private static func bytes(of entry: Transcript.Entry) -> Int {
        switch entry {
        case .instructions(let entry):
            entry.toolDefinitions.reduce(entry.segments.text.utf8.count) {
                $0 + $1.name.utf8.count + $1.description.utf8.count + $1.form.debugDescription.utf8.count
            }
        case .prompt(let entry): entry.segments.text.utf8.count
        case .toolCalls(let entry): entry.reduce(0) { $0 + $1.description.utf8.count }
        case .toolOutput(let entry): entry.segments.text.utf8.count
        case .response(let entry): entry.segments.text.utf8.count
        case .reasoning(let entry): entry.segments.text.utf8.count
        }
    }
}

extension Int {
    func dividedUp(by divisor: Int) -> Int { (self + divisor - 1) / divisor }
}
