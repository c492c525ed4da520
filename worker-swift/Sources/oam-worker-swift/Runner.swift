import WorkerCore
import WorkerProtocol

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The model that this program asks: none yet, but for an echo where `OAM_WORKER_ECHO` is set.
func makeRunner(_ supervisor: SupervisorLink) -> any StepRunner {
    EchoRunner(isAvailable: getenv("OAM_WORKER_ECHO") != nil)
}

/// Answers a prompt with the prompt.
struct EchoRunner: StepRunner {
    let isAvailable: Bool

    func prepare() async -> Preparation {
        Preparation(capabilities: Capabilities(streaming: true, parallelSteps: 4))
    }

    func availability() async -> Availability {
        Availability(isAvailable: isAvailable, reason: isAvailable ? nil : .deviceNotEligible, variant: "echo")
    }

    func run(_ step: Generate, answer: StepAnswer) async throws -> StepResult {
        guard isAvailable else { throw Failure(.modelUnavailable, "This build of the worker has no model.") }
        let text = step.transcript.compactMap { entry -> String? in
            guard case .prompt(let segments) = entry else { return nil }
            return segments.map { if case .text(let text) = $0 { text } else { "" } }.joined()
        }.last ?? ""
        for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            try answer.append(index == 0 ? String(word) : " \(word)")
        }
        return StepResult(.text(text))
    }
}
