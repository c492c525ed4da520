import Synchronization
import WorkerProtocol

/// The answer of one step while it grows, and its one end.
///
/// All of it goes out in order and nothing after the end. What is said for a step that is not streamed counts, and is not
/// sent. While the supervisor reads slowly, pieces are held back and go out together.
public final class StepAnswer: Sendable {
    /// The step has ended, by an end of its own or because it was cancelled: whoever still works on it may stop.
    public struct Ended: Error {}

    private struct State {
        var isOpen = true
        /// What was said so far, and how much of it the supervisor has heard.
        var text = ""
        var heardBytes = 0
        /// The supervisor has heard something that is not the beginning of the text.
        var mustReset = false
    }

    /// No supervisor takes a longer answer.
    static let longest = 1 << 20

    let id: StepID
    private let isStreamed: Bool
    private let outbox: Outbox
    private let state = Mutex(State())

    init(id: StepID, isStreamed: Bool, outbox: Outbox) {
        self.id = id
        self.isStreamed = isStreamed
        self.outbox = outbox
    }

    /// The answer grew by this text.
    ///
    /// - Throws: ``Ended``, or a `Failure` where it became too long.
    public func append(_ text: String) throws {
        guard !text.isEmpty else { return }
        try change { $0.text += text }
    }

    /// The whole answer is this now: the model took back something of what it said.
    ///
    /// - Throws: ``Ended``, or a `Failure` where it is too long.
    public func replace(_ text: String) throws {
        try change { state in
            state.mustReset = state.mustReset || !text.utf8.starts(with: state.text.utf8.prefix(state.heardBytes))
            state.text = text
        }
    }

    /// The structured answer so far.
    ///
    /// - Throws: ``Ended``, or a `Failure` where it is too long.
    public func update(_ value: Value) throws {
        try state.withLock { state in
            guard state.isOpen else { throw Ended() }
            guard value.jsonText.utf8.count <= Self.longest else { throw Self.tooLong }
            // The next one makes up for one that is left out; so does the outcome.
            guard isStreamed, !outbox.isCrowded else { return }
            try? outbox.send(.partial(id: id, value: value))
        }
    }

    /// Ends the step, if it has not ended before.
    ///
    /// - Returns: Whether this was its end.
    @discardableResult
    func end(_ result: Result<StepResult, Failure>) -> Bool {
        state.withLock { state in
            guard state.isOpen else { return false }
            state.isOpen = false
            switch result {
            case .success(let result): finish(result, &state)
            case .failure(let failure): fail(failure)
            }
            return true
        }
    }

    var hasEnded: Bool {
        state.withLock { !$0.isOpen }
    }

    private func change(_ body: (inout State) -> Void) throws {
        try state.withLock { state in
            guard state.isOpen else { throw Ended() }
            body(&state)
            guard state.text.utf8.count <= Self.longest else { throw Self.tooLong }
            if isStreamed, !outbox.isCrowded {
                tell(&state)
            }
        }
    }

    /// Lets the supervisor hear what it has not heard.
    private func tell(_ state: inout State) {
        let message: FromWorker
        if state.mustReset {
            message = .reset(id: id, text: state.text)
        } else {
            let unheard = state.text.utf8.dropFirst(state.heardBytes)
            guard !unheard.isEmpty else { return }
            message = .delta(id: id, text: String(decoding: unheard, as: UTF8.self))
        }
        // Texts that are not too long have a frame.
        try? outbox.send(message)
        state.heardBytes = state.text.utf8.count
        state.mustReset = false
    }

    private func finish(_ result: StepResult, _ state: inout State) {
        switch result.outcome {
        case .text(let text) where text.utf8.count > Self.longest: return fail(Self.tooLong)
        case .text(let text) where isStreamed && (state.heardBytes > 0 || state.mustReset):
            // What was sent on the way adds up to the outcome.
            state.mustReset = state.mustReset || !text.utf8.starts(with: state.text.utf8.prefix(state.heardBytes))
            state.text = text
            tell(&state)
        case .toolCalls(let calls) where calls.isEmpty:
            return fail(Failure(.generationFailed, "The model ended its answer with no tool call, and with nothing else."))
        case .structured(let value) where value.jsonText.utf8.count > Self.longest: return fail(Self.tooLong)
        case .toolCalls(let calls) where Self.length(calls) > Self.longest: return fail(Self.tooLong)
        default: break
        }
        do {
            try outbox.send(.finished(id: id, outcome: result.outcome, usage: result.usage))
        } catch {
            fail(Failure(.generationFailed, "The answer cannot be sent: the message \(error)."))
        }
    }

    private func fail(_ failure: Failure) {
        do {
            guard Self.length(failure) <= Self.longest else { return fail(failure.code, "it is longer than \(Self.longest) bytes") }
            try outbox.send(.failed(id: id, failure: failure))
        } catch {
            fail(failure.code, "the message \(error)")
        }
    }

    /// Fails without what is known, which cannot be sent.
    private func fail(_ code: FailureCode, _ reason: String) {
        let message = "A failure cannot be sent with all that is known about it: \(reason)."
        try? outbox.send(.failed(id: id, failure: Failure(code, message)))
    }

    private static func length(_ calls: [ToolCall]) -> Int {
        calls.reduce(0) { length, call in
            length + call.id.utf8.count + call.name.utf8.count + Value.object(call.arguments).jsonText.utf8.count
        }
    }

    private static func length(_ failure: Failure) -> Int {
        failure.message.utf8.count + (failure.data.map { Value.object($0).jsonText.utf8.count } ?? 0)
    }

    private static let tooLong = Failure(.generationFailed, "The answer is longer than \(longest) bytes.")
}
