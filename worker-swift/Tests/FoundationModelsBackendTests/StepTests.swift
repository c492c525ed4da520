#if OAM_STANDIN
import Foundation
@_spi(StandIn) import FoundationModels
import Testing
import WorkerCore
import WorkerProtocol

@testable import FoundationModelsBackend

/// Whole steps, played on the stand-in in every way there is.
@Suite struct StepTests {
    private static let gate = ToolDefinition(
        name: "open_gate", description: "Opens.",
        parameters: [
            "title": "open_gate", "type": "object", "properties": ["gate": ["type": "string"]], "required": ["gate"],
            "additionalProperties": false, "x-order": ["gate"],
        ])
    private static let mood: Value = [
        "title": "Mood", "type": "object",
        "properties": ["mood": ["type": "string"], "reason": ["type": "string"]],
        "required": ["mood", "reason"], "additionalProperties": false, "x-order": ["reason", "mood"],
    ]

    private func asking(
        _ prompt: String = "Open.", tools: [ToolDefinition] = [], _ mode: ToolMode = .disallowed, schema: Value? = nil,
        stream: Bool = true
    ) -> Generate {
        Generate(
            id: 1, instructions: "Guard.", transcript: [.prompt([.text(prompt)])], tools: tools, toolMode: mode,
            schema: schema, stream: stream)
    }

    struct Played: Sendable {
        var result: Result<StepResult, Failure>
        var pieces: [StepPiece]

        var outcome: Outcome? { try? result.get().outcome }
        var failure: Failure? {
            if case .failure(let failure) = result { failure } else { nil }
        }
    }

    private func play(_ step: Generate, _ settings: String, path: String? = nil) async throws -> Played {
        try await StandIn.with(settings) {
            let backend = FoundationModelsBackend(environment: path.map { [StepPath.variable: $0] } ?? [:])
            return await played(step, on: backend)
        }
    }

    private func played(_ step: Generate, on backend: FoundationModelsBackend) async -> Played {
        let pieces = Guarded<[StepPiece]>([])
        do {
            let result = try await backend.play(step) { piece in pieces.withValue { $0.append(piece) } }
            return Played(result: .success(result), pieces: pieces.withValue { $0 })
        } catch {
            return Played(result: .failure(Failure(error)), pieces: pieces.withValue { $0 })
        }
    }

    @Test(arguments: ["plain", "wrapped"])
    func aStreamedAnswerAddsUp(_ layout: String) async throws {
        let settings = #"{"steps": [{"text": "The gate is shut.", "chunks": 4, "reasoning": "Hm."}], "events": "\#(layout)"}"#
        let played = try await play(asking(), settings)
        #expect(played.pieces == [.delta("The g"), .delta("ate i"), .delta("s shu"), .delta("t.")])
        #expect(played.outcome == .text("The gate is shut."))
    }

    @Test func anAnswerThatIsTakenBackIsReset() async throws {
        let played = try await play(asking(), #"[{"replacements": ["The", "The gate", "No."]}]"#)
        #expect(played.pieces == [.delta("The"), .delta(" gate"), .reset("No.")])
        #expect(played.outcome == .text("No."))
    }

    @Test func aStepThatIsNotStreamedSaysNothingOnTheWay() async throws {
        let text = try await play(asking(stream: false), #"[{"replacements": ["The", "No."]}]"#)
        #expect(text.pieces == [])
        #expect(text.outcome == .text("No."))
        let value = try await play(asking(schema: Self.mood, stream: false), #"[{"json": {"reason": "a", "mood": "b"}}]"#)
        #expect(value.pieces == [])
    }

    @Test func aStructuredAnswerGrowsAsAValue() async throws {
        let script = #"[{"text": "{\"reason\": \"None.\", \"mood\": \"calm\"}", "chunks": 3}]"#
        let played = try await play(asking(schema: Self.mood), script)
        let whole: Value = ["reason": "None.", "mood": "calm"]
        #expect(played.pieces.count == 3)
        #expect(played.pieces.last == .partial(whole))
        #expect(played.pieces.allSatisfy { if case .partial = $0 { true } else { false } })
        #expect(played.outcome == .structured(whole))
    }

    @Test func callsComeBackAndAreNotMade() async throws {
        let script = #"""
            [{"preamble": "Let me see.", "fragments": 5, "removed": ["c"], "usage": {"input": 184, "cached": 183, "output": 17},
              "toolCalls": [{"name": "open_gate", "id": "a", "arguments": {"gate": "north"}},
                            {"name": "open_gate", "arguments": {"gate": "south"}}, {"name": "open_gate", "id": "c"}]}]
            """#
        let played = try await play(asking(tools: [Self.gate], .required), script)
        let calls = [
            ToolCall(id: "a", name: "open_gate", arguments: ["gate": "north"]),
            ToolCall(id: "call_0_1", name: "open_gate", arguments: ["gate": "south"]),
        ]
        #expect(
            try played.result.get()
                == StepResult(
                    .toolCalls(calls),
                    usage: TokenUsage(inputTokens: 184, cachedInputTokens: 183, outputTokens: 17)))
        #expect(played.pieces == [.delta("Let me see.")])
    }

    @Test(arguments: ["direct", "wrapped"])
    func aTurnGoesOnFromTheOutputsOfItsTools(_ path: String) async throws {
        let script = #"[{"toolCalls": [{"name": "open_gate", "id": "a"}]}, {"template": "{prompt} {toolOutput}"}]"#
        var step = asking(tools: [Self.gate], .allowed)
        let first = try await play(step, script, path: path)
        guard case .toolCalls(let calls)? = first.outcome else {
            Issue.record("It did not call: \(first)")
            return
        }
        #expect(calls == [ToolCall(id: "a", name: "open_gate")])
        let output = Entry.toolOutput(callID: "a", toolName: "open_gate", segments: [.text("jammed")])
        step.transcript += [.toolCalls(calls), output]
        let second = try await play(step, script, path: path)
        #expect(second.outcome == .text("Open. jammed"))
        step.transcript.append(.prompt([.text("")]))
        let again = try await play(step, script, path: path)
        #expect(again.outcome == .text("Open. jammed"))
    }

    @Test func withoutEventsAllCallsOfAStepComeBack() async throws {
        let script = #"""
            {"events": "sealed", "steps": [{"usage": {"input": 9, "cached": 8, "output": 7}, "toolCalls":
              [{"name": "open_gate", "id": "a", "arguments": {"gate": "n"}}, {"name": "open_gate", "id": "b"}]}]}
            """#
        let played = try await play(asking(tools: [Self.gate], .required), script)
        let calls = [
            ToolCall(id: "a", name: "open_gate", arguments: ["gate": "n"]), ToolCall(id: "b", name: "open_gate"),
        ]
        let usage = TokenUsage(inputTokens: 9, cachedInputTokens: 8, outputTokens: 7)
        #expect(try played.result.get() == StepResult(.toolCalls(calls), usage: usage))
        #expect(played.pieces == [])
    }

    @Test(arguments: ["wrapped", "session"])
    func sessionsAnswerAsAWhole(_ path: String) async throws {
        let text = try await play(asking(), #"[{"text": "The gate is shut."}]"#, path: path)
        #expect(text.outcome == .text("The gate is shut."))
        #expect(text.pieces == [])
        let value = try await play(asking(schema: Self.mood), #"[{"json": {"reason": "a", "mood": "b"}}]"#, path: path)
        #expect(value.outcome == .structured(["reason": "a", "mood": "b"]))
    }

    @Test func onMacOS26ToolsAreRefusedInPlainWords() async throws {
        let played = try await play(asking(tools: [Self.gate], .allowed), "[]", path: "session")
        #expect(played.failure?.code == .modelUnavailable)
        #expect(played.failure?.message == "On macOS 26 the model cannot be asked with tools. macOS 27 is needed for that.")
    }

    @Test(arguments: ["direct", "wrapped", "session"])
    func failuresHaveTheirCodes(_ path: String) async throws {
        let steps: [(String, FailureCode)] = [
            (#"{"error": "refusal"}"#, .refusal),
            (#"{"error": "rate_limited", "retryAfterSeconds": 12}"#, .rateLimited),
            (#"{"error": "guardrail_violation"}"#, .guardrailViolation),
            (#"{"error": "context_size_exceeded"}"#, .contextSizeExceeded),
            (#"{"legacyError": "rateLimited"}"#, .rateLimited),
            (#"{"nsError": {"domain": "d", "code": 7, "underlying": [{"domain": "e", "code": 8}]}}"#, .generationFailed),
        ]
        for (step, code) in steps {
            let played = try await play(asking(), "[\(step)]", path: path)
            #expect(played.failure?.code == code)
        }
    }

    @Test func aRequestThatIsTooLongSaysSo() async throws {
        let played = try await play(asking(String(repeating: "x", count: 500)), #"{"contextSize": 100, "steps": []}"#)
        #expect(played.failure?.code == .contextSizeExceeded)
    }

    @Test func anUnavailableModelFailsItsSteps() async throws {
        let played = try await play(asking(), #"{"availability": "modelNotReady"}"#)
        #expect(played.failure?.code == .modelUnavailable)
        #expect(played.failure?.data == ["reason": "model_not_ready"])
    }

    @Test func anAnswerWithoutEndIsStopped() async throws {
        let text = String(repeating: "x", count: 700_000)
        let played = try await play(asking(stream: false), "[{\"replacements\": [\"\(text)\", \"\(text)\(text)\"]}]")
        #expect(played.failure?.code == .generationFailed)
    }

    @Test func anEmptyAnswerIsOne() async throws {
        let played = try await play(asking(), #"[{"replacements": [""]}]"#)
        #expect(played.outcome == .text(""))
    }

    // MARK: Cancellation

    @Test(arguments: ["direct", "wrapped", "session"])
    func aCancelledStepFailsAsCancelledWhateverIsThrown(_ path: String) async throws {
        let failure = try await StandIn.with(#"[{"text": "Never.", "delayMs": 60000}]"#) {
            let backend = FoundationModelsBackend(environment: [StepPath.variable: path])
            let task = Task { await played(asking(), on: backend) }
            task.cancel()
            return await task.value.failure
        }
        #expect(failure?.code == .cancelled)
    }

    @Test func aStepReturnsWhenTheModelHasLetGoOfIt() async throws {
        let steps = #"[{"text": "Late.", "chunks": 1, "delayMs": 200, "uncancellable": true}]"#
        let end = try await StandIn.with(steps) {
            let backend = FoundationModelsBackend(environment: [:])
            let task = Task { await played(asking(), on: backend) }
            task.cancel()
            return await task.value
        }
        // It said what it had to say, if it had begun.
        #expect(end.failure?.code == .cancelled)
        #expect(end.pieces == [.delta("Late.")] || end.pieces == [])
    }

    @Test(arguments: [#""name": "NAME", "argumentsText": "{}""#, #""name": "x", "id": "NAME""#, #""name": "NAME", "argumentsText": "?""#])
    func aCallWithoutEndStopsTheStep(_ call: String) async throws {
        let name = String(repeating: "x", count: 1_100_000)
        let script = "[{\"toolCalls\": [{\(call)}]}]".replacingOccurrences(of: "NAME", with: name)
        let played = try await play(asking(tools: [Self.gate], .allowed), script)
        #expect(played.failure == Failure(.generationFailed, "The model's answer became longer than 1 MiB and was stopped."))
    }

    @Test func aStepThatNobodyHearsStops() async throws {
        let text = String(repeating: "x", count: 10_000)
        let heard = try await StandIn.with("[{\"text\": \"\(text)\", \"chunks\": 10000, \"pieceDelayMs\": 1000}]") {
            let backend = FoundationModelsBackend(environment: [:])
            let heard = Guarded(0)
            _ = try? await backend.play(asking()) { _ in
                heard.withValue { $0 += 1 }
                throw CancellationError()
            }
            return heard.withValue { $0 }
        }
        #expect(heard == 1)
    }

    // MARK: Beside steps

    @Test func tokensAreCountedWithToolsAndSchema() async throws {
        let counts = try await StandIn.with("[]") {
            let backend = FoundationModelsBackend(environment: [:])
            return [
                try await backend.countTokens(asking()), try await backend.countTokens(asking(schema: Self.mood)),
                try await backend.countTokens(asking(tools: [Self.gate], .allowed)),
            ]
        }
        #expect(counts[0] > 0 && counts[1] > counts[0] && counts[2] > counts[0])
    }

    @Test func whatCannotBeCountedFails() async throws {
        try await StandIn.with(#"{"counts": false}"#) {
            let backend = FoundationModelsBackend(environment: [:])
            await #expect(throws: Failure.self) { try await backend.countTokens(asking()) }
        }
    }

    @Test func availabilityIsWhatTheSystemSays() async throws {
        let settings = #"{"contextSize": 4096, "variant": "AFM 3 Core", "languages": ["sv", "de", "pt-BR"]}"#
        let available = try await StandIn.with(settings) {
            await FoundationModelsBackend(environment: [:]).availability()
        }
        #expect(
            available
                == Availability(
                    isAvailable: true, contextSize: 4096, variant: "AFM 3 Core", supportedLanguages: ["de", "pt", "sv"]))
        for (name, reason) in [
            ("deviceNotEligible", UnavailableReason.deviceNotEligible),
            ("appleIntelligenceNotEnabled", .appleIntelligenceNotEnabled), ("modelNotReady", .modelNotReady),
        ] {
            let availability = try await StandIn.with("{\"availability\": \"\(name)\", \"contextSize\": 0}") {
                await FoundationModelsBackend(environment: [:]).availability()
            }
            #expect(!availability.isAvailable)
            #expect(availability.reason == reason)
            #expect(availability.contextSize == 0)
        }
    }

    @Test func preparingHarmsNobody() async throws {
        for path in StepPath.allCases {
            let backend = FoundationModelsBackend(environment: [StepPath.variable: path.rawValue])
            await backend.prewarm(instructions: "Guard.")
            await backend.prewarm(instructions: nil)
        }
    }
}
#endif
