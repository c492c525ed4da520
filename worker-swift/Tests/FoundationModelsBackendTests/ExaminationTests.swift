#if OAM_STANDIN
@_spi(StandIn) import FoundationModels
import Testing

@testable import FoundationModelsBackend

/// The examination of a system, on the stand-in.
@Suite struct ExaminationTests {
    private func report(_ settings: String) async throws -> String {
        let lines = Guarded<[String]>([])
        try await StandIn.with(settings) {
            await Examination(soakSteps: 3) { line in lines.withValue { $0.append(line) } }.run()
        }
        return lines.withValue { $0 }.joined(separator: "\n")
    }

    @Test func everyPointHasItsFinding() async throws {
        let report = try await report("{}")
        for point in 0...10 {
            #expect(report.contains("\(point). "), "point \(point)")
        }
        #expect(report.contains("Self-test of events: passed"))
        #expect(report.contains("arguments of call_0_0, usage"))
        #expect(report.contains("Tokens of a prompt: "))
        #expect(report.contains("\"type\":\"image\""))
        #expect(!report.contains("cannot be read again"))
        #expect(report.contains("wrapped: open_gate#call_0_0{\"gate\":"))
        #expect(report.contains("session: failed: model_unavailable"))
        #expect(report.contains("can do with images: true"))
        #expect(report.contains("3 steps in"))
        #expect(report.contains("failed: none"))
    }

    @Test func aModelThatFailsIsReportedToo() async throws {
        let report = try await report(#"{"fallback": {"error": "guardrail_violation"}}"#)
        #expect(report.contains("failed: guardrail_violation, Scripted guardrail_violation."))
        #expect(report.contains("8. "))
    }

    @Test func aModelThatIsNotThereIsNotAsked() async throws {
        let report = try await report(#"{"availability": "modelNotReady"}"#)
        #expect(report.contains("Available: false, model_not_ready"))
        #expect(!report.contains("2. "))
    }
}
#endif
