// The points of an examination that any macOS can be asked: tokens, and steps that are played in the ways that are taken
// where the best one cannot be.

import FoundationModels
import WorkerProtocol

struct ExaminedWays {
    let say: @Sendable (String) -> Void

    func counts(_ backend: FoundationModelsBackend) async {
        let requests = [
            ("a prompt", ExaminedRequests.asking("Who are you?")),
            ("with a schema", ExaminedRequests.structured),
            ("with a tool", ExaminedRequests.calling("Who are you?", .allowed)),
        ]
        for (name, request) in requests {
            do {
                say("   Tokens of \(name): \(try await backend.countTokens(request))")
            } catch {
                say("   Tokens of \(name): \(Failure(error).summary)")
            }
        }
    }

    func steps() async {
        say("9. The other ways to play steps: an answer, a structured one, and calls:")
        let steps = [
            ExaminedRequests.asking("Who are you?"), ExaminedRequests.structured,
            ExaminedRequests.calling("Please open the north gate and the south gate.", .required),
        ]
        for path in [StepPath.wrapped, .session] {
            let backend = FoundationModelsBackend(environment: [StepPath.variable: path.rawValue])
            guard backend.path == path else { continue }
            for step in steps { say("   \(path.rawValue): \(await play(step, on: backend))") }
        }
    }

    private func play(_ step: Generate, on backend: FoundationModelsBackend) async -> String {
        do {
            let result = try await backend.play(step) { _ in }
            return "\(result.outcome.summary), usage \(result.usage.summary)"
        } catch {
            return Failure(error).summary
        }
    }
}

extension Outcome {
    fileprivate var summary: String {
        switch self {
        case .text(let text): "said '\(text)'"
        case .structured(let value): "structured \(value.jsonText)"
        case .toolCalls(let calls):
            calls.map { "\($0.name)#\($0.id)\(Value.object($0.arguments).jsonText)" }.joined(separator: " ")
        }
    }
}

extension TokenUsage {
    /// Input, how much of it was cached, and output.
    var summary: String { "\(inputTokens)/\(cachedInputTokens)/\(outputTokens)" }
}

extension Failure {
    var summary: String { "failed: \(code.rawValue), \(message)" }
}
