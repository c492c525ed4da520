import Testing
import WorkerProtocol

@testable import WorkerCore

/// What a step says, and how it ends.
@Suite(.timeLimit(.minutes(10))) struct StepTests {
    @Test func aStreamedAnswerGrowsAndEnds() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "say a b c", stream: true)
        let heard = try await supervisor.hear(4)
        #expect(heard == ["a", "b", "c"].map { .delta(id: 1, text: $0) } + [finished(1, "abc")])
    }

    @Test func anAnswerThatIsNotStreamedHasNoPieces() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        for (id, prompt) in ["say a b", "rewrite", "form"].enumerated() {
            try supervisor.ask(StepID(id), prompt)
            #expect(try await supervisor.hear().code == "finished")
        }
    }

    @Test func whatIsTakenBackIsReset() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "rewrite", stream: true)
        let heard = try await supervisor.hear(4)
        #expect(
            heard == [
                .delta(id: 1, text: "One"), .reset(id: 1, text: "Two"), .delta(id: 1, text: "!"), finished(1, "Two!"),
            ])
    }

    @Test func piecesAddUpToTheOutcomeEvenIfTheModelSaysElse() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "say-else", stream: true)
        let heard = try await supervisor.hear(3)
        #expect(heard == [.delta(id: 1, text: "One"), .reset(id: 1, text: "Two"), finished(1, "Two")])
    }

    @Test func aStructuredAnswerGrowsAndEnds() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "form", stream: true)
        #expect(try await supervisor.hear() == .partial(id: 1, value: ["a": 1]))
        #expect(
            try await supervisor.hear()
                == .finished(id: 1, outcome: .structured(["a": 1, "b": 2]), usage: TokenUsage()))
    }

    @Test(arguments: [
        ("fail rate_limited", "rate_limited"), ("throw", "generation_failed"), ("cancel-itself", "generation_failed"),
        ("endless", "generation_failed"), ("long", "generation_failed"), ("long-form", "generation_failed"),
        ("no-calls", "generation_failed"),
        ("deep", "generation_failed"), ("long-id", "generation_failed"), ("fail-long", "refusal"),
    ])
    func whatGoesWrongEndsTheStepAndNotTheWorker(_ prompt: String, _ code: String) async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, prompt)
        #expect(try await supervisor.hear().code == code)
        try supervisor.ask(2, "say a")
        #expect(try await supervisor.hear() == finished(2, "a"))
    }

    @Test(arguments: ["endless", "long", "long-part", "long-form", "long-id"])
    func anAnswerThatIsTooLongSaysSo(_ prompt: String) async throws {
        for isStreamed in [true, false] {
            let supervisor = try await Supervisor.ready(FakeRunner())
            try supervisor.ask(1, prompt, stream: isStreamed)
            var end = try await supervisor.hear()
            while case .delta = end { end = try await supervisor.hear() }
            let tooLong = Failure(.generationFailed, "The answer is longer than 1048576 bytes.")
            #expect(end == .failed(id: 1, failure: tooLong))
        }
    }

    @Test func aFailureThatIsTooLongIsToldWithoutWhatIsKnown() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "fail-long")
        guard case .failed(1, let failure) = try await supervisor.hear() else { throw Supervisor.HeardNothing() }
        #expect(failure.message.utf8.count < 200)
    }

    @Test func whatHasTheIdOfAStepThatHasNotEndedIsIgnored() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "wait")
        try supervisor.ask(1, "say a")
        try supervisor.say(.countTokens(step(1, "a")))
        let warning = FromWorker.log(level: .warning, message: "ignored another request with the id 1, which has not ended")
        #expect(try await supervisor.hearUntilPong() == [warning, warning])
        try supervisor.say(.cancel(id: 1))
        #expect(try await supervisor.hear().code == "cancelled")
    }

    @Test func aFailureIsToldWithAllThatIsKnownOfIt() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "fail refusal")
        let data = Value(dictionaryLiteral: ("why", "because")).object
        #expect(try await supervisor.hear() == .failed(id: 1, failure: Failure(.refusal, "It failed.", data: data)))
    }

    @Test func anUnavailableModelIsAnnounced() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        try supervisor.ask(1, "fail model_unavailable")
        #expect(try await supervisor.hear().code == "model_unavailable")
        guard case .availability(nil, _) = try await supervisor.hear() else { throw Supervisor.HeardNothing() }
    }

    @Test func piecesForASupervisorThatReadsSlowlyComeTogether() async throws {
        let runner = FakeRunner(parallelSteps: 2)
        let (own, other) = try socketPair()
        let outbox = Outbox(Connection(socket: other), onEnd: { _ in })
        let answer = StepAnswer(id: 1, isStreamed: true, outbox: outbox)
        // Nobody reads yet.
        let result = try await runner.run(step(1, "pieces"), answer: answer)
        answer.end(.success(result))
        outbox.close()

        var (frames, text, pieces) = (FrameReader(), "", 0)
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while let count = Connection(socket: own).read(into: &chunk) {
            frames.feed(chunk[..<count])
            while let body = try frames.next() {
                switch try FromWorker(frameBody: body) {
                case .delta(_, let delta): (text, pieces) = (text + delta, pieces + 1)
                case let message:
                    #expect(message.code == "finished")
                    #expect(text.utf8.count == 900_000)
                    #expect((10..<9_000).contains(pieces))
                    return
                }
            }
        }
        throw Supervisor.HeardNothing()
    }
}
