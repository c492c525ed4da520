import Synchronization
import WorkerProtocol

/// The steps that have not ended, and those that the model has not let go of.
///
/// Every step ends exactly once: with what the model made of it, or at once when it is cancelled, whatever the model does
/// then. But the model gets its next step only when it has returned from one before: as many run as it can work on.
final class StepTable: Sendable {
    private struct Step: Sendable {
        let request: Generate
        let answer: StepAnswer
    }

    private struct Run: Sendable {
        let answer: StepAnswer
        let task: Task<Void, Never>
        /// Since when nobody waits for it any more.
        var abandonedSince: ContinuousClock.Instant?
    }

    private struct State {
        var runner: (any StepRunner)?
        var freePlaces: UInt32 = 0
        var running: [StepID: Run] = [:]
        var waiting: [StepID: Step] = [:]
        /// The ids of those that wait, and of some that were cancelled while they did.
        var order = Queue<StepID>()
        var counts: [StepID: Task<Void, Never>] = [:]
        var isClosed = false

        func knows(_ id: StepID) -> Bool {
            waiting[id] != nil || running[id] != nil || counts[id] != nil
        }
    }

    private let outbox: Outbox
    private let settleTime: Duration
    private let state = Mutex(State())

    /// - Parameter settleTime: How long the model may go on with steps that were cancelled.
    init(outbox: Outbox, settleTime: Duration) {
        self.outbox = outbox
        self.settleTime = settleTime
    }

    /// The model, once it is there.
    var runner: (any StepRunner)? {
        state.withLock { $0.runner }
    }

    /// Says that the worker is ready and lets the steps begin, at once: who has heard of it finds the model there.
    func open(_ runner: any StepRunner, _ ready: Ready) {
        state.withLock { state in
            do {
                try outbox.send(.ready(ready))
            } catch {
                outbox.log(.error, "cannot say what this worker is: the message \(error)")
            }
            state.runner = runner
            state.freePlaces = max(1, ready.capabilities.parallelSteps)
            startNext(&state)
        }
    }

    /// Begins a step, as soon as there is a place for it.
    func begin(_ request: Generate) {
        let id = request.id
        let answer = StepAnswer(id: id, isStreamed: request.stream, outbox: outbox)
        state.withLock { state in
            guard !state.isClosed else {
                answer.cancel()
                return
            }
            guard isNew(id, state) else { return }
            state.waiting[id] = Step(request: request, answer: answer)
            state.order.append(id)
            startNext(&state)
        }
    }

    /// Counts the tokens of a request, beside the steps.
    func count(_ request: Generate) {
        let id = request.id
        state.withLock { state in
            guard isNew(id, state) else { return }
            guard let runner = state.runner, !state.isClosed else {
                return send(.failed(id: id, failure: Failure(.modelUnavailable, "The worker does not count now.")))
            }
            state.counts[id] = Task {
                let answer = await Self.result { try await runner.countTokens(request) }
                // A count that was cancelled has its answer.
                guard self.state.withLock({ $0.counts.removeValue(forKey: id) }) != nil else { return }
                switch answer {
                case .success(let count): self.send(.tokens(id: id, count: count))
                case .failure(let failure): self.send(.failed(id: id, failure: failure))
                }
            }
        }
    }

    /// Ends a step as cancelled, if it has not ended.
    func cancel(_ id: StepID) {
        state.withLock { cancel(id, &$0) }
    }

    /// Ends all steps as cancelled, and those that still come. Nothing is sent after that.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for id in Array(state.waiting.keys) + Array(state.running.keys) + Array(state.counts.keys) {
                cancel(id, &state)
            }
        }
    }

    /// How long the model may still go on with what was cancelled; `nil` while it does nothing of that kind, or works on other
    /// steps as well.
    var patience: Duration? {
        state.withLock { state in
            let abandoned = state.running.values.compactMap(\.abandonedSince)
            guard abandoned.count == state.running.count, let first = abandoned.min() else { return nil }
            return settleTime - first.duration(to: .now)
        }
    }

    /// What has the id of something that has not ended is ignored: nothing may end twice.
    private func isNew(_ id: StepID, _ state: State) -> Bool {
        guard state.knows(id) else { return true }
        outbox.log(.warning, "ignored another request with the id \(id), which has not ended")
        return false
    }

    private func cancel(_ id: StepID, _ state: inout State) {
        if let step = state.waiting.removeValue(forKey: id) {
            step.answer.cancel()
        } else if let run = state.running[id] {
            if run.answer.cancel() {
                state.running[id]?.abandonedSince = .now
            }
            run.task.cancel()
        } else if let task = state.counts.removeValue(forKey: id) {
            send(.failed(id: id, failure: .cancelled))
            task.cancel()
        }
    }

    private func startNext(_ state: inout State) {
        guard let runner = state.runner else { return }
        while state.freePlaces > 0, let id = state.order.next() {
            guard let step = state.waiting.removeValue(forKey: id) else { continue }
            state.freePlaces -= 1
            let task = Task {
                await self.play(step, on: runner)
                self.settle(id)
            }
            state.running[id] = Run(answer: step.answer, task: task)
        }
    }

    /// Plays a step to its end.
    private func play(_ step: Step, on runner: any StepRunner) async {
        // It may have been cancelled on its way to this task.
        guard !step.answer.hasEnded else { return }
        let result = await Self.result { try await runner.run(step.request, answer: step.answer) }
        step.answer.end(result)
        if case .failure(let failure) = result, failure.code == .modelUnavailable {
            send(.availability(id: nil, availability: await runner.availability()))
        }
    }

    /// The model has let go of a step.
    private func settle(_ id: StepID) {
        state.withLock { state in
            state.running[id] = nil
            state.freePlaces += 1
            startNext(&state)
        }
    }

    private func send(_ message: FromWorker) {
        // All that is sent this way is small.
        try? outbox.send(message)
    }

    private static func result<Value>(_ work: () async throws -> Value) async -> Result<Value, Failure> {
        do {
            return .success(try await work())
        } catch let failure as Failure {
            return .failure(failure)
        } catch is CancellationError {
            // Who cancelled it has ended it as well, so this is seen only if nobody did.
            return .failure(Failure(.generationFailed, "The model stopped by itself."))
        } catch {
            return .failure(Failure(.generationFailed, "The model failed: \(error)."))
        }
    }
}

extension StepAnswer {
    /// Ends the step as cancelled, if it has not ended before.
    @discardableResult
    fileprivate func cancel() -> Bool {
        end(.failure(.cancelled))
    }
}

extension Failure {
    fileprivate static let cancelled = Failure(.cancelled, "The step was cancelled.")
}

/// First in, first out, each in constant time.
private struct Queue<Element> {
    private var elements: [Element] = []
    private var first = 0

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func next() -> Element? {
        guard first < elements.count else { return nil }
        defer {
            first += 1
            // Moving what is left costs no more than what was taken since the last move.
            if first > elements.count - first {
                elements.removeFirst(first)
                first = 0
            }
        }
        return elements[first]
    }
}
