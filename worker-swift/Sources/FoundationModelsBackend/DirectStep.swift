// A step on macOS 27: the executor of the system's model, asked directly.
//
// A session would call tools itself and go on until there is an answer. An executor plays one step: it takes the whole
// transcript and streams what the model says into a channel, tool calls included, and calls nothing. A transcript that
// ends in the outputs of tools is gone on with.

import Foundation
import FoundationModels
import WorkerCore
import WorkerProtocol

@available(macOS 27.0, *)
struct DirectStep: Sendable {
    typealias Channel = LanguageModelExecutorGenerationChannel

    let model: SystemLanguageModel
    /// One for the life of the process: what it may have cached of one step can serve the next.
    let executor: SystemLanguageModel.Executor

    init(model: SystemLanguageModel) {
        self.model = model
        executor = SystemLanguageModel.Executor(configuration: model.executorConfiguration)
    }

    /// Plays a step. Returns when the model has let go of it, also when the task is cancelled.
    func play(_ step: Generate, _ request: FrameworkRequest, say: @escaping SayPiece) async throws -> StepResult {
        let listener = Guarded(StepListener(of: step, say: say))
        try await listen(to: request) { event in
            try listener.withValue { try $0.hear(event) }
        }
        return try listener.withValue { listener in
            try listener.finish()
            return try StepResult(listener.answer, of: step)
        }
    }

    /// Lets the model say what it has to say. Returns when it has let go of the request, also when the task is cancelled.
    ///
    /// - Parameter hear: Told of all events in their order. If it throws, the model is stopped, and this throws the same.
    func listen(to request: FrameworkRequest, hear: @escaping @Sendable (ModelEvent) throws -> Void) async throws {
        let channel = Channel()
        let generation = Task {
            try await executor.respond(to: request.forExecutor, model: model, streamingInto: channel)
        }
        // Nobody but us ends the channel: an event with this name is the last one.
        let end = UUID().uuidString
        let reader = Task {
            await Self.read(channel, until: end, hear) { generation.cancel() }
        }
        let ended = await withTaskCancellationHandler {
            await generation.result
        } onCancel: {
            generation.cancel()
        }
        // Not waited for: if the reader has ended by itself, nobody takes it.
        Task { await channel.send(.response(entryID: end, action: .updateMetadata([:]))) }
        let problem = await reader.value

        try Task.checkCancellation()
        if let problem { throw problem }
        try ended.get()
    }

    /// Reads on until the end, whatever happens: an executor that nobody listens to would wait for ever.
    ///
    /// - Returns: The first thing that went wrong.
    private static func read(
        _ channel: Channel, until end: String, _ hear: (ModelEvent) throws -> Void, stop: () -> Void
    ) async -> (any Error)? {
        var problem: (any Error)?
        do {
            for try await event in channel {
                // Answers and calls can be read, or steps would not be played like this. What cannot be is something new.
                let said = EventDecoder.decode(event) ?? .aside
                if said == .aside, EventDecoder.responseEntry(event) == end { break }
                guard problem == nil else { continue }
                do {
                    try hear(said)
                } catch {
                    problem = error
                    stop()
                }
            }
        } catch {
            problem = problem ?? error
            stop()
        }
        return problem
    }

    /// Lets the model get ready for conversations that begin with these instructions.
    func prewarm(instructions: String?) {
        executor.prewarm(model: model, transcript: Transcript(instructions: instructions))
    }
}

extension Transcript {
    init(instructions: String?) {
        self.init(entries: instructions.map { text in
            [.instructions(.init(segments: [.text(.init(content: text))], toolDefinitions: []))]
        } ?? [])
    }
}

@available(macOS 27.0, *)
extension FrameworkRequest {
    fileprivate var forExecutor: LanguageModelExecutorGenerationRequest {
        LanguageModelExecutorGenerationRequest(
            id: UUID(),
            transcript: transcript,
            enabledTools: tools,
            schema: schema,
            generationOptions: options,
            // What a session would ask for.
            contextOptions: ContextOptions(includeSchemaInPrompt: schema == nil ? nil : true),
            metadata: [:])
    }
}
