// A step on macOS 27 where events cannot be read: a session around a model of our own.
//
// The session asks our model, which passes the first question on to the system's. If the system's model calls tools, the
// session runs them, and they return nothing at once. When it then asks a second time, the step is over: the transcript
// that it asks with has the calls, and an error stops it. So one step is played, no event is read, and nothing is streamed.

import Foundation
import FoundationModels
import WorkerCore
import WorkerProtocol

@available(macOS 27.0, *)
struct WrappedStep: Sendable {
    let model: SystemLanguageModel

    /// Plays a step. The session is not used again, so one that was cancelled disturbs nobody.
    func play(_ step: Generate, _ request: FrameworkRequest) async throws -> StepResult {
        let turn = SessionTurn(request.transcript)
        let once = OnceModel(asking: model)
        let session = LanguageModelSession(
            model: once, tools: request.tools.map(SilentTool.init), transcript: turn.history)
        do {
            let outcome = try await session.answer(turn.prompt, request)
            try Task.checkCancellation()
            return StepResult(outcome, usage: session.usageIfKnown)
        } catch {
            try Task.checkCancellation()
            guard let calls = once.question.calls(after: turn.history.count) else { throw error }
            var ids = CallIDs(taken: step.transcript)
            return StepResult(
                .toolCalls(calls.map { call in
                    let arguments = Value(call.arguments).object ?? ValueObject()
                    return ToolCall(id: ids.unused(call.id), name: call.toolName, arguments: arguments)
                }),
                usage: session.usageIfKnown)
        }
    }
}

/// The question that a session asked when it should have been done.
@available(macOS 27.0, *)
private final class SecondQuestion: Sendable {
    struct Asked: Error {}

    private struct State {
        var count = 0
        var transcript: Transcript?
    }

    private let state = Guarded(State())

    /// - Throws: ``Asked`` the second time.
    func ask(_ transcript: Transcript) throws {
        try state.withValue { state in
            state.count += 1
            guard state.count > 1 else { return }
            state.transcript = state.transcript ?? transcript
            throw Asked()
        }
    }

    /// The calls that led to it; `nil` if it was not asked.
    func calls(after count: Int) -> Transcript.ToolCalls? {
        guard let transcript = state.withValue({ $0.transcript }) else { return nil }
        for case .toolCalls(let calls) in transcript.dropFirst(count).reversed() where !calls.isEmpty { return calls }
        return nil
    }
}

/// The system's model, asked once.
@available(macOS 27.0, *)
private struct OnceModel: LanguageModel {
    let model: SystemLanguageModel
    let question = SecondQuestion()

    init(asking model: SystemLanguageModel) {
        self.model = model
    }

    var capabilities: LanguageModelCapabilities { model.capabilities }
    var executorConfiguration: Executor.Configuration { Executor.Configuration(model: model, question: question) }

    struct Executor: LanguageModelExecutor {
        typealias Model = OnceModel

        struct Configuration: Hashable, Sendable {
            let model: SystemLanguageModel
            let question: SecondQuestion

            static func == (left: Configuration, right: Configuration) -> Bool { left.question === right.question }
            func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(question)) }
        }

        private let executor: SystemLanguageModel.Executor
        private let question: SecondQuestion

        init(configuration: Configuration) {
            executor = SystemLanguageModel.Executor(configuration: configuration.model.executorConfiguration)
            question = configuration.question
        }

        func respond(
            to request: LanguageModelExecutorGenerationRequest,
            model: OnceModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            try question.ask(request.transcript)
            try await executor.respond(to: request, model: model.model, streamingInto: channel)
        }
    }
}

/// A tool that does nothing: the step ends with its call.
private struct SilentTool: Tool {
    let name: String
    let description: String
    let parameters: GenerationSchema

    @available(macOS 27.0, *)
    init(_ definition: Transcript.ToolDefinition) {
        name = definition.name
        description = definition.description
        parameters = definition.parameters
    }

    func call(arguments: GeneratedContent) async throws -> String { "" }
}
