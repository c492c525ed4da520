// How models and sessions fail. As with Apple, many failures are none of these types but plain NSErrors.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 27.0, *)
public enum LanguageModelError: LocalizedError, CustomDebugStringConvertible {
    case contextSizeExceeded(ContextSizeExceeded)
    case rateLimited(RateLimited)
    case guardrailViolation(GuardrailViolation)
    case refusal(Refusal)
    case unsupportedCapability(UnsupportedCapability)
    case unsupportedTranscriptContent(UnsupportedTranscriptContent)
    case unsupportedGenerationGuide(UnsupportedGenerationGuide)
    case unsupportedLanguageOrLocale(UnsupportedLanguageOrLocale)
    case timeout(Timeout)

    public var debugDescription: String {
        switch self {
        case .contextSizeExceeded(let error): error.debugDescription
        case .rateLimited(let error): error.debugDescription
        case .guardrailViolation(let error): error.debugDescription
        case .refusal(let error): error.debugDescription
        case .unsupportedCapability(let error): error.debugDescription
        case .unsupportedTranscriptContent(let error): error.debugDescription
        case .unsupportedGenerationGuide(let error): error.debugDescription
        case .unsupportedLanguageOrLocale(let error): error.debugDescription
        case .timeout(let error): error.debugDescription
        }
    }

    public var errorDescription: String? { debugDescription }

    public struct ContextSizeExceeded: Sendable {
        public var contextSize: Int
        public var tokenCount: Int
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(
            contextSize: Int, tokenCount: Int, debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.contextSize = contextSize
            self.tokenCount = tokenCount
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct RateLimited: Sendable {
        public var resetDate: Date?
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(resetDate: Date?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.resetDate = resetDate
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct GuardrailViolation: Sendable {
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct Refusal: Sendable {
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(explanation: String, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct UnsupportedCapability: Sendable {
        public var capability: LanguageModelCapabilities.Capability
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(
            capability: LanguageModelCapabilities.Capability,
            debugDescription: String,
            metadata: [String: any Sendable] = [:]
        ) {
            self.capability = capability
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct UnsupportedTranscriptContent: Sendable {
        public var unsupportedContent: [Transcript.Entry]
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(
            unsupportedContent: [Transcript.Entry], debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.unsupportedContent = unsupportedContent
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct UnsupportedGenerationGuide: Sendable {
        public var schemaName: String?
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(schemaName: String?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.schemaName = schemaName
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct UnsupportedLanguageOrLocale: Sendable {
        public var languageCode: Locale.LanguageCode
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(
            languageCode: Locale.LanguageCode, debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.languageCode = languageCode
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    public struct Timeout: Sendable {
        public var debugDescription: String
        public var metadata: [String: any Sendable]

        public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }
}

@available(macOS 26.0, *)
extension LanguageModelSession {
    @available(macOS 27.0, *)
    public enum Error: LocalizedError, Equatable, Hashable, CustomDebugStringConvertible {
        case concurrentRequests, transcriptMutationWhileResponding

        public var debugDescription: String {
            switch self {
            case .concurrentRequests: "The session is responding already."
            case .transcriptMutationWhileResponding: "The transcript was changed while the session responded."
            }
        }

        public var errorDescription: String? { debugDescription }
    }

    public struct ToolCallError: Swift.Error, LocalizedError {
        public var tool: any Tool
        public var underlyingError: any Swift.Error

        public init(tool: any Tool, underlyingError: any Swift.Error) {
            self.tool = tool
            self.underlyingError = underlyingError
        }

        public var errorDescription: String? { "The tool '\(tool.name)' failed." }
    }

    @available(macOS, introduced: 26.0, deprecated: 27.0)
    public enum GenerationError: Swift.Error, LocalizedError {
        case exceededContextWindowSize(Context)
        case assetsUnavailable(Context)
        case guardrailViolation(Context)
        case unsupportedGuide(Context)
        case unsupportedLanguageOrLocale(Context)
        case decodingFailure(Context)
        case rateLimited(Context)
        case concurrentRequests(Context)
        case refusal(Refusal, Context)

        public struct Context: Sendable {
            public let debugDescription: String

            public init(debugDescription: String) {
                self.debugDescription = debugDescription
            }
        }

        public struct Refusal: Sendable {
            public init(transcriptEntries: [Transcript.Entry]) {}
        }

        public var errorDescription: String? {
            switch self {
            case .exceededContextWindowSize(let context), .assetsUnavailable(let context),
                .guardrailViolation(let context), .unsupportedGuide(let context),
                .unsupportedLanguageOrLocale(let context), .decodingFailure(let context),
                .rateLimited(let context), .concurrentRequests(let context), .refusal(_, let context):
                context.debugDescription
            }
        }
    }
}
