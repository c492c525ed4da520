import Testing
import WorkerProtocol

@testable import WorkerCore

/// From the start to the end.
@Suite(.timeLimit(.minutes(10))) struct LifeTests {
    @Test func aWorkerSaysFirstWhatItIs() async throws {
        let remark = Preparation.Remark(.warning, "The self-test failed.")
        let supervisor = try Supervisor(FakeRunner(parallelSteps: 3, remarks: [remark]))
        #expect(try await supervisor.hear() == .log(level: .warning, message: "The self-test failed."))
        guard case .ready(let ready) = try await supervisor.hear() else { throw Supervisor.HeardNothing() }
        #expect(ready.version == 1)
        #expect(ready.worker.name == "fake")
        #expect(ready.capabilities.parallelSteps == 3)
        #expect(ready.availability == Availability(isAvailable: true, contextSize: 4096))
    }

    @Test func questionsAreAnswered() async throws {
        let runner = FakeRunner()
        let supervisor = try await Supervisor.ready(runner)
        try supervisor.say(.availability(id: 1))
        let availability = Availability(isAvailable: true, contextSize: 4096)
        #expect(try await supervisor.hear() == .availability(id: 1, availability: availability))
        try supervisor.say(.countTokens(step(2, "a")))
        #expect(try await supervisor.hear() == .tokens(id: 2, count: 42))
        try supervisor.say(.unknown(type: "dance"))
        #expect(try await supervisor.hear() == .log(level: .warning, message: "ignored a message of the type 'dance'"))
        try supervisor.say(.prewarm(instructions: "Be brief."))
        #expect(try await supervisor.hearUntilPong() == [])
        while runner.prewarmed.withLock({ $0.isEmpty }) {
            await Task.yield()
        }
        #expect(runner.prewarmed.withLock { $0 } == ["Be brief."])
    }

    /// However soon it asks.
    @Test func whoHasHeardThatAWorkerIsReadyIsAnsweredByItsModel() async throws {
        for _ in 0..<50 {
            let supervisor = try Supervisor(FakeRunner())
            guard case .ready = try await supervisor.hear() else { throw Supervisor.HeardNothing() }
            try supervisor.say(.countTokens(step(1, "a")))
            #expect(try await supervisor.hear() == .tokens(id: 1, count: 42))
        }
    }

    @Test func noMoreStepsRunThanTheModelCanTake() async throws {
        let runner = FakeRunner(parallelSteps: 2)
        let supervisor = try await Supervisor.ready(runner)
        for id: StepID in 1...3 {
            try supervisor.ask(id, "wait")
        }
        #expect(try await supervisor.hearUntilPong() == [])
        await runner.beginning(of: 2)
        #expect(runner.begun.withLock { $0.count } == 2)
        try supervisor.say(.cancel(id: 1))
        await runner.beginning(of: 3)
    }

    @Test func pingsAreAnsweredWhileTheModelLoads() async throws {
        let loaded = Gate()
        let supervisor = try Supervisor(FakeRunner(preparation: loaded))
        #expect(try await supervisor.hearUntilPong() == [])
        try supervisor.ask(1, "say a")
        loaded.open()
        guard case .ready = try await supervisor.hear() else { throw Supervisor.HeardNothing() }
        #expect(try await supervisor.hear() == finished(1, "a"))
    }

    @Test func theEndOfTheConnectionIsNoticedWhileTheModelLoads() async throws {
        let loaded = Gate()
        let (own, other) = try socketPair()
        let ending = Monitor<Ending?>(nil)
        let worker = Worker(name: "fake", version: "1", connection: Connection(socket: other)) { end in
            ending.change { $0 = end }
        }
        let runner = FakeRunner(preparation: loaded)
        let serving = Task { await worker.serve { _ in runner } }
        endConnection(own)
        while ending.read({ $0 }) == nil {
            await Task.yield()
        }
        #expect(ending.read { $0 } == .connectionEnded)
        loaded.open()
        #expect(await serving.value == .connectionEnded)
    }

    /// With all threads of all tasks in the model, this test's own task among them could not go on: a thread does the talking.
    @Test func pingsAreAnsweredWhileTheModelHasAllThreads() async throws {
        let runner = FakeRunner(parallelSteps: 64)
        let (own, other) = try socketPair()
        let worker = Worker(name: "fake", version: "1", connection: Connection(socket: other), onEnd: { _ in })
        let serving = Task { await worker.serve { _ in runner } }
        let heard = await withCheckedContinuation { done in
            startThread {
                let connection = Connection(socket: own)
                var frames = FrameReader()
                func hear() -> FromWorker? {
                    var chunk = [UInt8](repeating: 0, count: 4096)
                    while true {
                        if let body = try? frames.next() { return try? FromWorker(frameBody: body) }
                        guard let count = connection.read(into: &chunk) else { return nil }
                        frames.feed(chunk[..<count])
                    }
                }
                _ = hear()
                for id: StepID in 1...64 {
                    _ = connection.write((try? ToWorker.generate(step(id, "block")).encodeFrame()) ?? [])
                }
                var heard: [FromWorker?] = []
                for message: ToWorker in [.ping(n: 1), .cancel(id: 1), .cancel(id: 64)] {
                    _ = connection.write((try? message.encodeFrame()) ?? [])
                    heard.append(hear())
                }
                runner.gate.open()
                endConnection(own)
                done.resume(returning: heard)
            }
        }
        #expect(heard.first == .pong(n: 1))
        #expect(heard.dropFirst().map { $0?.code } == ["cancelled", "cancelled"])
        #expect(await serving.value == .connectionEnded)
    }

    @Test func shutdownEndsAllStepsAndThenTheWorker() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner(parallelSteps: 2))
        for id: StepID in 1...3 {
            try supervisor.ask(id, "wait")
        }
        try supervisor.say(.shutdown(graceMs: 1000))
        let ends = try await supervisor.hear(3).map(\.code)
        #expect(ends == Array(repeating: "cancelled", count: 3))
        #expect(await supervisor.ending == .shutdown)
        #expect(Ending.shutdown.exitCode == 0)
    }

    @Test func aFrameThatCannotBeReadEndsTheWorker() async throws {
        let supervisor = try await Supervisor.ready(FakeRunner())
        supervisor.say(bytes: [0, 0, 0, 1, 0xc0])
        let ending = await supervisor.ending
        #expect(ending == .malformedFrame("is not a map"))
        #expect(ending.exitCode == 1)
        #expect(ending.lastWords == "the frame is not a map")
    }
}
