import Foundation
import FoundationModels
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// What the framework throws, as failures.
@Suite struct ErrorMappingTests {
    @available(macOS 27.0, *)
    private static let model: [(error: LanguageModelError, code: FailureCode)] = [
        (.contextSizeExceeded(.init(contextSize: 4096, tokenCount: 5000, debugDescription: "Why.")), .contextSizeExceeded),
        (.rateLimited(.init(resetDate: nil, debugDescription: "Why.")), .rateLimited),
        (.guardrailViolation(.init(debugDescription: "Why.")), .guardrailViolation),
        (.refusal(.init(explanation: "No.", debugDescription: "Why.")), .refusal),
        (.unsupportedCapability(.init(capability: .reasoning, debugDescription: "Why.")), .invalidRequest),
        (.unsupportedTranscriptContent(.init(unsupportedContent: [], debugDescription: "Why.")), .invalidRequest),
        (.unsupportedGenerationGuide(.init(schemaName: nil, debugDescription: "Why.")), .invalidSchema),
        (.unsupportedLanguageOrLocale(.init(languageCode: "tlh", debugDescription: "Why.")), .unsupportedLanguage),
        (.timeout(.init(debugDescription: "Why.")), .generationFailed),
    ]

    @available(macOS 27.0, *)
    @Test func everyErrorOfModelsHasItsCode() {
        for (error, code) in Self.model {
            let failure = Failure(error)
            #expect(failure.code == code)
            #expect(failure.message == "Why.")
        }
    }

    @Test func everyErrorOfMacOS26HasItsCode() {
        typealias Old = LanguageModelSession.GenerationError
        let context = Old.Context(debugDescription: "Why.")
        let errors: [(Old, FailureCode)] = [
            (.exceededContextWindowSize(context), .contextSizeExceeded),
            (.assetsUnavailable(context), .modelUnavailable),
            (.guardrailViolation(context), .guardrailViolation),
            (.unsupportedGuide(context), .invalidSchema),
            (.unsupportedLanguageOrLocale(context), .unsupportedLanguage),
            (.decodingFailure(context), .generationFailed),
            (.rateLimited(context), .rateLimited),
            (.concurrentRequests(context), .busy),
            (.refusal(.init(transcriptEntries: []), context), .refusal),
        ]
        for (error, code) in errors {
            #expect(Failure(error) == Failure(code, "Why."))
        }
    }

    @available(macOS 27.0, *)
    @Test func everyOtherErrorHasItsCode() {
        let errors: [(any Error, FailureCode)] = [
            (CancellationError(), .cancelled),
            (LanguageModelSession.Error.concurrentRequests, .busy),
            (LanguageModelSession.Error.transcriptMutationWhileResponding, .busy),
            (SystemLanguageModel.Error.assetsUnavailable(.init(debugDescription: "Why.")), .modelUnavailable),
            (GeneratedContent.ParsingError(rawContent: "{", underlyingError: nil, debugDescription: "Why."), .generationFailed),
            (Failure(.invalidSchema, "Why."), .invalidSchema),
            (SomeError(), .generationFailed),
        ]
        for (error, code) in errors {
            #expect(Failure(error).code == code)
        }
    }

    private struct SomeError: Error {}

    private struct SomeTool: Tool {
        let name = "tool"
        let description = ""
        var parameters: GenerationSchema { GeneratedContent.generationSchema }
        func call(arguments: GeneratedContent) async throws -> String { "" }
    }

    @available(macOS 27.0, *)
    @Test func anErrorOfAToolIsTheOneInside() {
        let inside = LanguageModelError.guardrailViolation(.init(debugDescription: "Why."))
        let error = LanguageModelSession.ToolCallError(tool: SomeTool(), underlyingError: inside)
        #expect(Failure(error) == Failure(.guardrailViolation, "Why."))
    }

    @available(macOS 27.0, *)
    @Test func aFailureTellsWhatIsKnown() {
        let overflow = LanguageModelError.contextSizeExceeded(
            .init(contextSize: 4096, tokenCount: 5000, debugDescription: "Why."))
        #expect(Failure(overflow).data == ["contextSize": 4096, "tokenCount": 5000])

        let limited = LanguageModelError.rateLimited(
            .init(resetDate: Date(timeIntervalSinceNow: 60), debugDescription: "Why."))
        guard case .number(let seconds)? = Failure(limited).data?["retryAfterSeconds"] else {
            Issue.record("It does not tell for how long.")
            return
        }
        #expect((1...60.001).contains(seconds))
        let over = LanguageModelError.rateLimited(.init(resetDate: .distantPast, debugDescription: "Why."))
        #expect(Failure(over).data?["retryAfterSeconds"] == 0.0)

        let guide = LanguageModelError.unsupportedGenerationGuide(.init(schemaName: "Mood", debugDescription: ""))
        #expect(Failure(guide).data == ["schema": "Mood"])
        #expect(Failure(guide).message == "The model failed without saying why.")
    }

    private func opaque(_ underlying: [NSError], _ key: String = "NSMultipleUnderlyingErrorsKey") -> NSError {
        NSError(domain: "FoundationModels.LanguageModelError", code: -1, userInfo: [key: underlying])
    }

    @Test(arguments: [
        (4_050_000, FailureCode.contextSizeExceeded), (1_010_000, .rateLimited), (1_020_000, .modelUnavailable),
        (2_010_000, .generationFailed),
    ])
    func aKnownCodeInsideOfAnUnknownErrorCounts(_ code: Int, _ expected: FailureCode) {
        let cause = NSError(domain: "com.apple.GenerativeFunctionsFoundation.GenerativeError", code: code)
        #expect(Failure(opaque([opaque([cause])])).code == expected)
    }

    @Test func anUnknownErrorTellsAllItsDomainsAndCodes() {
        let inner = NSError(domain: "ModelManagerServices.ModelManagerError", code: 1013)
        let cause = NSError(domain: "outer", code: 7, userInfo: [NSUnderlyingErrorKey: inner])
        let failure = Failure(opaque([cause]))
        #expect(failure.code == .generationFailed)
        let expected: Value = [
            ["domain": "FoundationModels.LanguageModelError", "code": -1],
            ["domain": "outer", "code": 7],
            ["domain": "ModelManagerServices.ModelManagerError", "code": 1013],
        ]
        #expect(failure.data?["errors"] == expected)
    }

    @Test func causesThatDoNotEndAreToldInPart() {
        var error = NSError(domain: "d", code: 0)
        for code in 1...100 { error = NSError(domain: "d", code: code, userInfo: [NSUnderlyingErrorKey: error]) }
        #expect(Failure(error).data?["errors"]?.array?.count == 16)
    }
}
