// A step of a script that fails: by the framework's own types, or by errors of none.

import Foundation

struct ScriptedFailure: Sendable {
    let error: any Error

    /// Nil if the step is no failure.
    init?(_ content: GeneratedContent) throws {
        if let code = content["error"]?.text {
            error = try Self.typed(code, content)
        } else if let name = content["legacyError"]?.text {
            error = try Self.legacy(name, content)
        } else if let nsError = content["nsError"] {
            error = Self.untyped(nsError)
        } else {
            return nil
        }
    }

    private static func typed(_ code: String, _ content: GeneratedContent) throws -> any Error {
        let message = content["message"]?.text ?? "Scripted \(code)."
        switch code {
        case "context_size_exceeded":
            return LanguageModelError.contextSizeExceeded(
                .init(contextSize: 8192, tokenCount: 9000, debugDescription: message))
        case "rate_limited":
            let reset = content["retryAfterSeconds"]?.number.map { Date(timeIntervalSinceNow: $0) }
            return LanguageModelError.rateLimited(.init(resetDate: reset, debugDescription: message))
        case "guardrail_violation": return LanguageModelError.guardrailViolation(.init(debugDescription: message))
        case "refusal": return LanguageModelError.refusal(.init(explanation: message, debugDescription: message))
        case "unsupported_capability":
            return LanguageModelError.unsupportedCapability(.init(capability: .reasoning, debugDescription: message))
        case "invalid_request":
            return LanguageModelError.unsupportedTranscriptContent(
                .init(unsupportedContent: [], debugDescription: message))
        case "invalid_schema":
            return LanguageModelError.unsupportedGenerationGuide(
                .init(schemaName: content["schemaName"]?.text, debugDescription: message))
        case "unsupported_language":
            return LanguageModelError.unsupportedLanguageOrLocale(
                .init(languageCode: .init("tlh"), debugDescription: message))
        case "generation_failed": return LanguageModelError.timeout(.init(debugDescription: message))
        case "model_unavailable":
            return SystemLanguageModel.Error.assetsUnavailable(.init(debugDescription: message))
        case "busy": return LanguageModelSession.Error.concurrentRequests
        case "cancelled": return CancellationError()
        default: throw ScriptError("There is no error '\(code)'.")
        }
    }

    private static func legacy(_ name: String, _ content: GeneratedContent) throws -> any Error {
        typealias GenerationError = LanguageModelSession.GenerationError
        let context = GenerationError.Context(debugDescription: content["message"]?.text ?? "Scripted \(name).")
        switch name {
        case "exceededContextWindowSize": return GenerationError.exceededContextWindowSize(context)
        case "assetsUnavailable": return GenerationError.assetsUnavailable(context)
        case "guardrailViolation": return GenerationError.guardrailViolation(context)
        case "unsupportedGuide": return GenerationError.unsupportedGuide(context)
        case "unsupportedLanguageOrLocale": return GenerationError.unsupportedLanguageOrLocale(context)
        case "decodingFailure": return GenerationError.decodingFailure(context)
        case "rateLimited": return GenerationError.rateLimited(context)
        case "concurrentRequests": return GenerationError.concurrentRequests(context)
        case "refusal": return GenerationError.refusal(.init(transcriptEntries: []), context)
        default: throw ScriptError("There is no error '\(name)'.")
        }
    }

    private static func untyped(_ content: GeneratedContent) -> NSError {
        let underlying = content["underlying"]?.elements ?? []
        var facts: [String: Any] = [:]
        if !underlying.isEmpty { facts["NSMultipleUnderlyingErrorsKey"] = underlying.map(untyped) }
        if let message = content["message"]?.text { facts[NSLocalizedDescriptionKey] = message }
        return NSError(
            domain: content["domain"]?.text ?? "FoundationModels.LanguageModelError",
            code: content["code"]?.integer ?? -1,
            userInfo: facts)
    }

    /// What the executor throws for everything that it has no type for.
    static func opaque(_ message: String, underlying: [(domain: String, code: Int)] = []) -> NSError {
        NSError(
            domain: "FoundationModels.LanguageModelError",
            code: -1,
            userInfo: [
                NSLocalizedDescriptionKey: message,
                "NSMultipleUnderlyingErrorsKey": underlying.map { NSError(domain: $0.domain, code: $0.code) },
            ])
    }
}
