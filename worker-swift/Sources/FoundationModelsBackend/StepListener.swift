// Hearing a step: puts the answer together and says its parts as they come.

import WorkerCore
import WorkerProtocol

/// A part of an answer, said while it is generated.
enum StepPiece: Sendable, Equatable {
    case delta(String)
    /// The model took back what it said: the whole answer so far.
    case reset(String)
    /// The structured answer so far.
    case partial(Value)
}

/// Says a part of an answer. Throws when nobody wants to hear more.
typealias SayPiece = @Sendable (StepPiece) throws -> Void

extension StepAnswer {
    func say(_ piece: StepPiece) throws {
        switch piece {
        case .delta(let text): try append(text)
        case .reset(let text): try replace(text)
        case .partial(let value): try update(value)
        }
    }
}

/// Hears what the model says in one step.
struct StepListener {
    /// The most that an answer may be, in bytes, calls included: more would be a violation of the protocol.
    private static let longest = 1_048_576

    private(set) var answer = SpokenAnswer()
    private let isStreamed: Bool
    private let isStructured: Bool
    private let say: SayPiece
    private var growing = GrowingValue()

    init(of step: Generate, say: @escaping SayPiece) {
        isStreamed = step.stream
        isStructured = step.schema != nil
        self.say = say
    }

    /// - Throws: ``Failure`` when the answer becomes too long; what `say` throws.
    mutating func hear(_ event: ModelEvent) throws {
        let change = answer.hear(event)
        guard answer.length <= Self.longest else {
            throw Failure(.generationFailed, "The model's answer became longer than 1 MiB and was stopped.")
        }
        guard isStreamed, let change else { return }
        if isStructured {
            if let value = growing.read(answer.text) { try say(.partial(value)) }
        } else {
            switch change {
            case .delta(let text): try say(.delta(text))
            case .reset(let text): try say(.reset(text))
            }
        }
    }

    /// Says what was held back.
    mutating func finish() throws {
        guard isStreamed, isStructured, answer.calls.isEmpty else { return }
        if let value = growing.finish(answer.text) { try say(.partial(value)) }
    }
}
