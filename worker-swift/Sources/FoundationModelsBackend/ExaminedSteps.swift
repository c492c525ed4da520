// The points of an examination that ask the model.

import Foundation
import FoundationModels
import WorkerCore
import WorkerProtocol

@available(macOS 27.0, *)
struct ExaminedSteps: Sendable {
    let say: @Sendable (String) -> Void
    private let schemas = SchemaStore()
    private let direct = DirectStep(model: .default)
    private let senses = ModelSenses(SystemLanguageModel.default.capabilities)

    init(say: @escaping @Sendable (String) -> Void) {
        self.say = say
    }

    // MARK: Points

    func structured() async {
        let repeats = 5
        say("2. Structured answers, \(repeats) times:")
        for _ in 0..<repeats { await tell(ExaminedRequests.structured) }
    }

    func calls() async {
        say("3. Calls of tools, and 4. what they say of usage:")
        var step = ExaminedRequests.calling("Please open the north gate and the south gate.", .required)
        let heard = await tell(step)
        guard let result = try? heard.result(of: step), case .toolCalls(let calls) = result.outcome else { return }
        say("   Going on from their outputs:")
        step.toolMode = .allowed
        step.transcript.append(.toolCalls(calls))
        step.transcript += calls.map { call in
            .toolOutput(callID: call.id, toolName: call.name, segments: [.text("It is jammed.")])
        }
        await tell(step)
        say("   Without the tools' definitions:")
        step.tools = []
        step.toolMode = .disallowed
        await tell(step)
    }

    func caches() async {
        say("6. The same conversation, a turn longer, with the same executor and with another:")
        var step = ExaminedRequests.asking("Who are you, and what do you guard?")
        await tell(step)
        step.transcript += [.response([.text("I am the guard of the gate.")]), .prompt([.text("May I pass?")])]
        await tell(step)
        await tell(step, with: DirectStep(model: .default))
    }

    func cancellation() async {
        say("8. Cancellation after the first words:")
        let step = ExaminedRequests.asking("Tell a long story of the gate, in twenty sentences.")
        let clock = ContinuousClock()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let task = Task {
            let heard = await listen(step, with: direct) { begin.yield() }
            begin.finish()
            return heard
        }
        for await _ in begun { break }
        let cancelled = clock.now
        task.cancel()
        let heard = await task.value
        say("   let go after \(clock.now - cancelled): \(heard.summary)")
    }

    func images() async {
        say("10. An image, all of it red; the model says that it can do with images: \(senses.contains(.images))")
        guard senses.contains(.images) else { return }
        do {
            try await ExaminedImage.withFile { await tell(ExaminedRequests.showing($0, "Which colour is this?")) }
        } catch {
            say("   not shown, because its file cannot be written: \(error)")
        }
    }

    func soak(_ count: Int) async {
        say("7. Streamed steps with a tool, \(count) times:")
        let step = ExaminedRequests.calling("Please open the north gate.", .allowed)
        let clock = ContinuousClock()
        let start = clock.now
        var failures: [String: Int] = [:]
        for number in 1...max(count, 1) where count > 0 {
            if let failure = await listen(step, with: direct).failure { failures[failure.message, default: 0] += 1 }
            if number % 50 == 0 { say("   \(number) after \(clock.now - start)") }
        }
        say("   \(count) steps in \(clock.now - start), failed: \(failures.isEmpty ? "none" : "\(failures)")")
    }

    // MARK: Listening

    @discardableResult
    private func tell(_ step: Generate, with executor: DirectStep? = nil) async -> Heard {
        let heard = await listen(step, with: executor ?? direct)
        say("   \(heard.summary)")
        return heard
    }

    private func listen(
        _ step: Generate, with executor: DirectStep, begun: @escaping @Sendable () -> Void = {}
    ) async -> Heard {
        let clock = ContinuousClock()
        let start = clock.now
        let heard = Guarded(Heard())
        do {
            let request = try FrameworkRequest(step, senses: senses, schemas: schemas)
            try await executor.listen(to: request) { event in
                heard.withValue { $0.hear(event, after: clock.now - start) }
                begun()
            }
        } catch {
            heard.withValue { $0.failure = Failure(error) }
        }
        return heard.withValue { heard in
            heard.duration = clock.now - start
            return heard
        }
    }
}

/// What was heard of a step, to be told.
private struct Heard: Sendable {
    private var answer = SpokenAnswer()
    private var kinds: [String] = []
    private var first: Duration?
    var duration = Duration.zero
    var failure: Failure?

    mutating func hear(_ event: ModelEvent, after time: Duration) {
        first = first ?? time
        _ = answer.hear(event)
        kinds.append(event.kind)
    }

    func result(of step: Generate) throws -> StepResult { try StepResult(answer, of: step) }

    var summary: String {
        // Equal kinds in a row, with their count.
        var runs: [(kind: String, count: Int)] = []
        for kind in kinds {
            if runs.last?.kind == kind { runs[runs.count - 1].count += 1 } else { runs.append((kind, 1)) }
        }
        let events = runs.map { $0.count == 1 ? $0.kind : "\($0.count) × \($0.kind)" }.joined(separator: ", ")
        let calls = answer.calls.map { "\($0.tool)#\($0.id)\($0.arguments)" }.joined(separator: " ")
        let usage = "usage \(answer.usage.summary)"
        let end = failure?.summary ?? "done"
        let times = "first after \(first.map { "\($0)" } ?? "never"), all after \(duration)"
        return "\(end); \(events); \(usage); \(times); said '\(answer.text)' \(calls)"
    }
}

extension ModelEvent {
    fileprivate var kind: String {
        switch self {
        case .text(_, let place): "text at \(place.entry ?? "-")/\(place.segment ?? "-")"
        case .replacement(_, let place): "replacement at \(place.entry ?? "-")/\(place.segment ?? "-")"
        case .arguments(_, let call, _): "arguments of \(call)"
        case .call(let call, _): "call \(call)"
        case .callRemoved(let call): "call \(call) taken back"
        case .usage: "usage"
        case .aside: "aside"
        }
    }
}
