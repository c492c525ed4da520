// What a step came to: the model's words as an outcome.

import Foundation
import WorkerCore
import WorkerProtocol

extension StepResult {
    /// - Throws: ``Failure`` when the model's words make no outcome.
    init(_ answer: SpokenAnswer, of step: Generate) throws {
        if answer.calls.isEmpty {
            self.init(.answer(answer.text, isStructured: step.schema != nil), usage: answer.usage)
        } else {
            var ids = CallIDs(taken: step.transcript)
            let calls = try answer.calls.map { call in
                ToolCall(id: ids.unused(call.id), name: call.tool, arguments: try call.members())
            }
            self.init(.toolCalls(calls), usage: answer.usage)
        }
    }
}

extension Outcome {
    /// An answer. What was to be structured and is not even JSON stays text: the supervisor says so to whoever asked.
    static func answer(_ text: String, isStructured: Bool) -> Outcome {
        guard isStructured, let value = try? Value(json: text) else { return .text(text) }
        return .structured(value)
    }
}

extension SpokenAnswer.Call {
    /// The arguments, which are JSON if the model kept to its form.
    fileprivate func members() throws -> ValueObject {
        if arguments.allSatisfy(\.isWhitespace) { return ValueObject() }
        guard let members = (try? Value(json: arguments))?.object else {
            throw Failure(.generationFailed, "The model called '\(tool)' with arguments that are no JSON object.")
        }
        return members
    }
}

/// Ids of calls, none twice in a conversation.
struct CallIDs {
    private var taken: Set<String> = []

    init(taken conversation: [Entry] = []) {
        for case .toolCalls(let calls) in conversation {
            taken.formUnion(calls.map(\.id))
        }
    }

    /// The id that the model has given, or one of our own where that is none, or was given before.
    mutating func unused(_ id: String) -> String {
        if !id.isEmpty, taken.insert(id).inserted { return id }
        let own = "call_\(UUID().uuidString)"
        taken.insert(own)
        return own
    }
}
