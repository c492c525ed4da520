// What goes wrong, as a failure of the protocol.
//
// Errors are told apart by their type, never by their text. Many failures of the framework have no type: they are
// NSErrors around NSErrors. Of those a few domains and codes are known; of the rest, `data` has all domains and codes,
// so that whoever reads a report can tell.

import Foundation
import FoundationModels
import WorkerProtocol

extension Failure {
    /// The failure that an error of the framework is.
    init(_ error: any Error) {
        if let failure = error as? Failure {
            self = failure
        } else if error is CancellationError {
            self.init(.cancelled, "The step was cancelled.")
        } else if let error = error as? LanguageModelSession.ToolCallError {
            self.init(error.underlyingError)
        } else if let error = error as? LanguageModelSession.GenerationError {
            self.init(error)
        } else if #available(macOS 27.0, *), let failure = Self.ofMacOS27(error) {
            self = failure
        } else {
            self = .opaque(error)
        }
    }

    @available(macOS 27.0, *)
    private static func ofMacOS27(_ error: any Error) -> Failure? {
        switch error {
        case let error as LanguageModelError: Failure(error)
        case let error as LanguageModelSession.Error: Failure(.busy, sentence(error.debugDescription))
        case let error as SystemLanguageModel.Error:
            Failure(.modelUnavailable, sentence(error.debugDescription))
        case let error as GeneratedContent.ParsingError:
            Failure(.generationFailed, sentence("The answer is malformed: \(error.debugDescription)"))
        default: nil
        }
    }

    @available(macOS 27.0, *)
    private init(_ error: LanguageModelError) {
        switch error {
        case .contextSizeExceeded(let facts):
            self.init(
                .contextSizeExceeded, Self.sentence(facts.debugDescription),
                data: [
                    "contextSize": .integer(Int64(facts.contextSize)), "tokenCount": .integer(Int64(facts.tokenCount)),
                ])
        case .rateLimited(let facts):
            // Rounded up to milliseconds, so that whoever waits for it is not too early.
            let seconds = facts.resetDate.map { max(($0.timeIntervalSinceNow * 1000).rounded(.up) / 1000, 0) }
            self.init(
                .rateLimited, Self.sentence(facts.debugDescription),
                data: seconds.map { ["retryAfterSeconds": Value($0)] })
        case .guardrailViolation(let facts): self.init(.guardrailViolation, Self.sentence(facts.debugDescription))
        case .refusal(let facts): self.init(.refusal, Self.sentence(facts.debugDescription))
        case .unsupportedCapability(let facts): self.init(.invalidRequest, Self.sentence(facts.debugDescription))
        case .unsupportedTranscriptContent(let facts):
            self.init(.invalidRequest, Self.sentence(facts.debugDescription))
        case .unsupportedGenerationGuide(let facts):
            self.init(
                .invalidSchema, Self.sentence(facts.debugDescription),
                data: facts.schemaName.map { ["schema": .text($0)] })
        case .unsupportedLanguageOrLocale(let facts):
            self.init(
                .unsupportedLanguage, Self.sentence(facts.debugDescription),
                data: ["language": .text(facts.languageCode.identifier)])
        case .timeout(let facts): self.init(.generationFailed, Self.sentence(facts.debugDescription))
        @unknown default: self = .opaque(error)
        }
    }

    private init(_ error: LanguageModelSession.GenerationError) {
        switch error {
        case .exceededContextWindowSize(let context):
            self.init(.contextSizeExceeded, Self.sentence(context.debugDescription))
        case .assetsUnavailable(let context): self.init(.modelUnavailable, Self.sentence(context.debugDescription))
        case .guardrailViolation(let context): self.init(.guardrailViolation, Self.sentence(context.debugDescription))
        case .unsupportedGuide(let context): self.init(.invalidSchema, Self.sentence(context.debugDescription))
        case .unsupportedLanguageOrLocale(let context):
            self.init(.unsupportedLanguage, Self.sentence(context.debugDescription))
        case .decodingFailure(let context): self.init(.generationFailed, Self.sentence(context.debugDescription))
        case .rateLimited(let context): self.init(.rateLimited, Self.sentence(context.debugDescription))
        case .concurrentRequests(let context): self.init(.busy, Self.sentence(context.debugDescription))
        case .refusal(_, let context): self.init(.refusal, Self.sentence(context.debugDescription))
        @unknown default: self = .opaque(error)
        }
    }

    private static func sentence(_ text: String) -> String {
        text.isEmpty ? "The model failed without saying why." : text
    }
}

// MARK: Errors of no known type

extension Failure {
    private static let generativeDomain = "com.apple.GenerativeFunctionsFoundation.GenerativeError"

    private static func opaque(_ error: any Error) -> Failure {
        let codes = ErrorCodes(of: error)
        let data: ValueObject = ["errors": .array(codes.all.map { ["domain": .text($0.domain), "code": .integer(Int64($0.code))] })]
        for found in codes.all where found.domain == generativeDomain {
            switch found.code {
            case 4_050_000:
                return Failure(.contextSizeExceeded, "The request does not fit the model's context.", data: data)
            case 1_010_000: return Failure(.rateLimited, "The system limits how often the model is asked.", data: data)
            case 1_020_000: return Failure(.modelUnavailable, "Parts of the model are missing.", data: data)
            default: break
            }
        }
        let name = codes.all.map { "\($0.domain) \($0.code)" }.joined(separator: ", ")
        return Failure(.generationFailed, "The model failed: \(name).", data: data)
    }
}

/// The domains and codes of an error and of all that it was caused by.
private struct ErrorCodes {
    /// Errors may be caused by many, at many levels.
    private static let most = 16

    private(set) var all: [(domain: String, code: Int)] = []

    init(of error: any Error) {
        var waiting: [any Error] = [error]
        while !waiting.isEmpty, all.count < Self.most {
            let next = waiting.removeFirst()
            // Through Any, which bridges where there are bridges.
            guard let object = (next as Any) as? NSError else {
                all.append((String(reflecting: type(of: next)), 0))
                continue
            }
            all.append((object.domain, object.code))
            if let cause = object.userInfo[NSUnderlyingErrorKey] as? any Error { waiting.append(cause) }
            // The constant of this name is not there on every platform.
            if let causes = object.userInfo["NSMultipleUnderlyingErrorsKey"] as? [any Error] { waiting += causes }
        }
    }
}
