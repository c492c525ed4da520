// Hearing a step: puts the answer together and says its parts as they come.

import WorkerProtocol

/// Hears what the model says in one step.
struct StepListener {
    /// The most that an answer may be, in bytes: more would be a violation of the protocol.
    private static let longest = 1_048_576

    private(set) var answer = StepAnswer()
    private let isStreamed: Bool
    private let isStructured: Bool
    private let say: @Sendable (StepPiece) -> Void
    private var growing = GrowingValue()

    init(of step: Generate, say: @escaping @Sendable (StepPiece) -> Void) {
        isStreamed = step.stream
        isStructured = step.schema != nil
        self.say = say
    }

    /// - Throws: ``Failure`` when the answer becomes too long.
    mutating func hear(_ event: ModelEvent) throws {
        let change = answer.hear(event)
        guard answer.length <= Self.longest else {
            throw Failure(.generationFailed, "The model's answer became longer than 1 MiB and was stopped.")
        }
        guard isStreamed, let change else { return }
        if isStructured {
            if let value = growing.read(answer.text) { say(.partial(value)) }
        } else {
            switch change {
            case .delta(let text): say(.delta(text))
            case .reset(let text): say(.reset(text))
            }
        }
    }

    /// Says what was held back.
    mutating func finish() {
        guard isStreamed, isStructured, answer.calls.isEmpty else { return }
        if let value = growing.finish(answer.text) { say(.partial(value)) }
    }
}
