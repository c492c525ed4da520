import Foundation
import Synchronization
import WorkerProtocol

@testable import WorkerCore

/// A model that does what the prompt says.
final class FakeRunner: StepRunner {
    struct Trouble: Error {}

    private let capabilities: Capabilities
    private let remarks: [Preparation.Remark]
    private let isPrepared: Gate
    /// Lets the stubborn steps go on.
    let gate = Gate()
    /// The prompts that were begun with.
    let begun = Mutex<[String]>([])
    let prewarmed = Mutex<[String?]>([])

    init(parallelSteps: UInt32 = 1, remarks: [Preparation.Remark] = [], preparation: Gate = Gate(isOpen: true)) {
        capabilities = Capabilities(streaming: true, tokenCount: true, prewarm: true, parallelSteps: parallelSteps)
        self.remarks = remarks
        isPrepared = preparation
    }

    /// Waits until so many steps have begun.
    func beginning(of count: Int) async {
        while begun.withLock({ $0.count }) < count {
            await Task.yield()
        }
    }

    func prepare() async -> Preparation {
        await isPrepared.wait()
        return Preparation(capabilities: capabilities, remarks: remarks)
    }

    func availability() async -> Availability {
        Availability(isAvailable: true, contextSize: 4096)
    }

    func run(_ step: Generate, answer: StepAnswer) async throws -> StepResult {
        guard case .prompt(let segments)? = step.transcript.last, case .text(let prompt)? = segments.first else {
            throw Failure(.invalidRequest, "There is no prompt.")
        }
        begun.withLock { $0.append(prompt) }
        let words = prompt.split(separator: " ").map(String.init)
        var text = words.dropFirst().joined(separator: " ")
        switch words.first {
        case "say":
            for word in words.dropFirst() {
                try answer.append(word)
            }
            text = words.dropFirst().joined()
        case "rewrite":
            try answer.append("One")
            try answer.replace("Two")
            try answer.append("!")
            text = "Two!"
        case "say-else":
            try answer.append("One")
            text = "Two"
        case "form":
            try answer.update(["a": 1])
            return StepResult(.structured(["a": 1, "b": 2]))
        case "wait": try await Task.sleep(for: .seconds(1000))
        case "stubborn":
            await gate.wait()
            try? answer.append("too late")
        case "block": gate.block()
        case "pieces":
            for _ in 0..<9_000 {
                try answer.append(String(repeating: "x", count: 100))
            }
            text = String(repeating: "x", count: 900_000)
        case "endless":
            while true {
                try answer.append(String(repeating: "x", count: 1000))
            }
        case "long": text = String(repeating: "x", count: StepAnswer.longest + 1)
        case "long-part":
            try answer.update(.text(String(repeating: "x", count: StepAnswer.longest)))
            throw Trouble()
        case "long-form":
            return StepResult(.structured(.text(String(repeating: "x", count: StepAnswer.longest))))
        case "long-id":
            return StepResult(.toolCalls([ToolCall(id: String(repeating: "x", count: StepAnswer.longest), name: "look")]))
        case "no-calls": return StepResult(.toolCalls([]))
        case "deep":
            return StepResult(.structured((0..<200).reduce(Value.null) { value, _ in .array([value]) }))
        case "fail":
            let data = Value(dictionaryLiteral: ("why", "because")).object
            throw Failure(FailureCode(rawValue: text), "It failed.", data: data)
        case "fail-long": throw Failure(.refusal, String(repeating: "x", count: StepAnswer.longest + 1))
        case "throw": throw Trouble()
        case "cancel-itself": throw CancellationError()
        default: break
        }
        return StepResult(.text(text), usage: TokenUsage(outputTokens: 1))
    }

    func countTokens(_ request: Generate) async throws -> UInt32 {
        if request.instructions == "wait" { try await Task.sleep(for: .seconds(1000)) }
        return 42
    }

    func prewarm(instructions: String?) async {
        prewarmed.withLock { $0.append(instructions) }
    }
}

/// Holds up whoever waits for it, cancelled or not, until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen: Bool
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(isOpen: Bool = false) {
        state = Mutex(State(isOpen: isOpen))
    }

    func open() {
        state.withLock { state in
            state.isOpen = true
            state.waiting.forEach { $0.resume() }
            state.waiting = []
        }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if state.isOpen {
                    continuation.resume()
                } else {
                    state.waiting.append(continuation)
                }
            }
        }
    }

    /// Waits with the thread.
    func block() {
        while !state.withLock({ $0.isOpen }) {
            usleep(1000)
        }
    }
}
