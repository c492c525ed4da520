// A step through a session of the framework: on macOS 26, where there is nothing else.
//
// A session calls tools itself. So a step with tools is not played here; the caller refuses it.

import FoundationModels
import WorkerCore
import WorkerProtocol

/// A conversation as a session is asked to go on with it.
struct SessionTurn: Sendable {
    /// All that was said before.
    let history: Transcript
    /// What is asked now; nothing, to go on from the outputs of tools.
    let prompt: Prompt

    init(_ transcript: Transcript) {
        guard case .prompt(let prompt)? = transcript.last else {
            history = transcript
            self.prompt = Prompt("")
            return
        }
        history = Transcript(entries: transcript.dropLast())
        self.prompt = Prompt(prompt.segments.text)
    }
}

extension [Transcript.Segment] {
    /// The texts as they are, values as JSON. Images cannot be said in a text.
    var text: String {
        map { segment in
            switch segment {
            case .text(let text): text.content
            case .structure(let structure): structure.content.jsonString
            default: ""
            }
        }.joined()
    }
}

struct SessionStep: Sendable {
    let model: SystemLanguageModel

    /// Plays a step without tools. The session is not used again, so one that was cancelled disturbs nobody.
    func play(_ step: Generate, _ request: FrameworkRequest) async throws -> StepResult {
        let turn = SessionTurn(request.transcript)
        let session = LanguageModelSession(model: model, transcript: turn.history)
        let outcome = try await session.answer(turn.prompt, request)
        try Task.checkCancellation()
        return StepResult(outcome, usage: session.usageIfKnown)
    }
}

extension LanguageModelSession {
    /// One answer, in prose or structured, as the request asks for it.
    func answer(_ prompt: Prompt, _ request: FrameworkRequest) async throws -> Outcome {
        guard let schema = request.schema else {
            return .text(try await respond(to: prompt, options: request.options).content)
        }
        let response = try await respond(
            to: prompt, schema: schema, includeSchemaInPrompt: true, options: request.options)
        // The text is exact where the content counts in doubles.
        return .answer(response.content.jsonString, isStructured: true)
    }

    /// What the session has cost; nothing where the system does not tell.
    var usageIfKnown: TokenUsage {
        guard #available(macOS 27.0, *) else { return TokenUsage() }
        return TokenUsage(
            input: usage.input.totalTokenCount,
            cached: usage.input.cachedTokenCount,
            output: usage.output.totalTokenCount)
    }
}
