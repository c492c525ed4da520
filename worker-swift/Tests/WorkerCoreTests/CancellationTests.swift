import Testing
import WorkerProtocol

@testable import WorkerCore

@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
    @Test func aStepThatStopsEndsOnce() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "wait")
        try supervisor.say(.cancel(id: 1), .cancel(id: 1))
        #expect(try await supervisor.hear().code == "cancelled")
        try supervisor.ask(2, "say a")
        #expect(try await supervisor.hear() == finished(2, "a"))
    }

    @Test func aStepThatDoesNotStopEndsAtOnceAndTheNextOneWaitsForIt() async throws {
        let runner = FakeRunner()
        let supervisor = try await Supervisor.ready(runner)
        try supervisor.ask(1, "stubborn", stream: true)
        await runner.beginning(of: 1)
        try supervisor.say(.cancel(id: 1))
        #expect(try await supervisor.hear().code == "cancelled")
        try supervisor.ask(2, "say a")
        #expect(try await supervisor.hearUntilPong() == [])
        #expect(!runner.begun.withLock { $0.contains("say a") })
        runner.gate.open()
        #expect(try await supervisor.hear() == finished(2, "a"))
    }

    @Test func aStepThatWaitsIsNeverBegun() async throws {
        let runner = FakeRunner()
        let supervisor = try await Supervisor.ready(runner)
        try supervisor.ask(1, "stubborn")
        try supervisor.ask(2, "say never")
        try supervisor.ask(3, "say c")
        try supervisor.say(.cancel(id: 2))
        #expect(try await supervisor.hear().end! == (2, "cancelled"))
        runner.gate.open()
        #expect(try await supervisor.hear().end! == (1, "finished"))
        #expect(try await supervisor.hear() == finished(3, "c"))
        #expect(runner.begun.withLock { $0 } == ["stubborn", "say c"])
    }

    @Test func whatHasEndedOrNeverWasIsNotCancelled() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "say a")
        #expect(try await supervisor.hear() == finished(1, "a"))
        try supervisor.say(.cancel(id: 1), .cancel(id: 99))
        #expect(try await supervisor.hearUntilPong() == [])
    }

    @Test func aCountIsCancelledToo() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.say(.countTokens(Generate(id: 1, instructions: "wait")), .cancel(id: 1))
        #expect(try await supervisor.hear().code == "cancelled")
        try supervisor.say(.countTokens(Generate(id: 2)))
        #expect(try await supervisor.hear() == .tokens(id: 2, count: 42))
    }

    @Test func aModelThatNeverStopsEndsTheWorkerUnlessItWorksOnSomethingElse() async throws {
        let runner = FakeRunner(parallelSteps: 2)
        let supervisor = try await Supervisor.ready(runner, settleTime: .milliseconds(1))
        try supervisor.ask(1, "stubborn")
        try supervisor.ask(2, "wait")
        await runner.beginning(of: 2)
        try supervisor.say(.cancel(id: 1))
        #expect(try await supervisor.hear().code == "cancelled")
        #expect(try await supervisor.hearUntilPong() == [])
        try supervisor.say(.cancel(id: 2))
        #expect(await supervisor.ending == .modelIsStuck)
        runner.gate.open()
    }

    /// Whenever a cancellation comes, there is one end, and nothing behind it.
    @Test func everyStepEndsOnceWhateverHappens() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner(parallelSteps: 3))
        let prompts = ["say a b c d e f g", "rewrite", "throw", "wait", "no-calls", "form"]
        let count: StepID = 600
        for id in 1...count {
            let prompt = prompts[Int(id) % prompts.count]
            try supervisor.ask(id, prompt, stream: true)
            if prompt == "wait" || id % 4 == 0 {
                try supervisor.say(.cancel(id: id))
            }
        }
        var ended: Set<StepID> = []
        while ended.count < count {
            let message = try await supervisor.hear()
            switch message {
            case .delta(let id, _), .reset(let id, _), .partial(let id, _): #expect(!ended.contains(id))
            default:
                let end = try #require(message.end)
                #expect(ended.insert(end.id).inserted)
            }
        }
        #expect(try await supervisor.hearUntilPong() == [])
    }
}
