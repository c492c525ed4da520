#if OAM_STANDIN
@_spi(StandIn) import FoundationModels
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// Events that the framework makes and does not show. The stand-in makes them in several ways.
@Suite struct EventDecoderTests {
    @available(macOS 27.0, *)
    @Test(arguments: ["plain", "wrapped"])
    func everyFormOfEventIsReadThroughAnyNumberOfLevels(_ layout: String) async throws {
        let test = try await StandIn.with("{\"events\": \"\(layout)\"}") { EventSelfTest() }
        #expect(test.failures == [])
        #expect(test.losses == [])
        #expect(test.layout.contains("TextFragment"))
    }

    @available(macOS 27.0, *)
    @Test func eventsThatShowNothingFailTheSelfTest() async throws {
        let test = try await StandIn.with(#"{"events": "sealed"}"#) { EventSelfTest() }
        #expect(!test.isPassed)
        #expect(test.failures.count == 6)
        #expect(test.losses.count == 7)
        #expect(!test.layout.contains("TextFragment"))
    }

    @Test func theWayToPlayStepsFollowsFromTheSelfTest() async throws {
        let best = try await StandIn.with(#"{"events": "plain"}"#) { StepPath.best(forced: nil) }
        #expect(best.path == .direct)
        #expect(best.reason == nil)
        let fallback = try await StandIn.with(#"{"events": "sealed"}"#) { StepPath.best(forced: nil) }
        #expect(fallback.path == .wrapped)
        #expect(fallback.reason?.hasPrefix("Events of the model cannot be read on this system") == true)
        #expect(StepPath.best(forced: "session").path == .session)
        #expect(StepPath.best(forced: "nonsense").path == .direct)
    }

    @Test func onlyTheDirectWayStreams() {
        #expect(StepPath.allCases.map(\.capabilities.streaming) == [true, false, false])
        #expect(StepPath.allCases.map(\.capabilities.nativeTools) == [true, true, false])
    }
}
#endif
