import Foundation
import FoundationModels
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// Conversations as the framework's transcripts.
@Suite struct TranscriptWriterTests {
    private let calls = Entry.toolCalls([
        ToolCall(id: "1", name: "open_gate", arguments: ["gate": "north", "count": 2]), ToolCall(id: "2", name: "wave"),
    ])

    private func output(_ id: String, _ text: String) -> Entry {
        .toolOutput(callID: id, toolName: "t\(id)", segments: [.text(text)])
    }

    private func request(_ step: Generate, _ senses: ModelSenses = []) throws -> FrameworkRequest {
        try FrameworkRequest(step, senses: senses, schemas: SchemaStore())
    }

    /// The transcript as the framework itself writes it, without what is made up for each.
    private func written(_ transcript: Transcript) throws -> [Value] {
        let json = String(decoding: try JSONEncoder().encode(transcript), as: UTF8.self)
        let entries = try Value(json: json)["transcript"]?["entries"]?.array ?? []
        return entries.map { entry in
            var short: ValueObject = ["role": entry["role"] ?? nil]
            let texts = (entry["contents"]?.array ?? []).map { $0["text"] ?? $0["structure"]?["content"] ?? $0["url"] ?? nil }
            if entry["contents"] != nil { short["says"] = .array(texts) }
            short["calls"] = entry["toolCalls"].map { .array(($0.array ?? []).map { $0["arguments"] ?? nil }) }
            short["call"] = entry["toolCallID"]
            return .object(short)
        }
    }

    @Test func everyKindOfEntryHasItsPlace() throws {
        let step = Generate(
            id: 1, instructions: "Guard.",
            transcript: [
                .prompt([.text("Who?")]), .response([.text("I.")]), .prompt([.text("Open."), .text(" Now.")]), calls,
                output("1", "jammed"),
                .toolOutput(callID: "2", toolName: "wave", segments: [.structure(source: "S", content: ["done": true])]),
            ])
        let expected: [Value] = [
            ["role": "instructions", "says": ["Guard."]], ["role": "user", "says": ["Who?"]],
            ["role": "response", "says": ["I."]], ["role": "user", "says": ["Open.", " Now."]],
            ["role": "response", "calls": [#"{"gate": "north", "count": 2}"#, "{}"]],
            ["role": "tool", "says": ["jammed"], "call": "1"], ["role": "tool", "says": [["done": true]], "call": "2"],
        ]
        let request = try request(step)
        #expect(try written(request.transcript) == expected)
        #expect(request.omissions.isEmpty)
        // And the framework reads what it wrote.
        let read = try JSONDecoder().decode(Transcript.self, from: try JSONEncoder().encode(request.transcript))
        #expect(try written(read) == expected)
    }

    @Test func outputsStandInTheOrderOfTheirCalls() throws {
        let step = Generate(id: 1, transcript: [.prompt([.text("Open.")]), calls, output("2", "b"), output("1", "a")])
        let outputs = try written(try request(step).transcript).compactMap { $0["call"] }
        #expect(outputs == ["1", "2"])
    }

    @Test func callsComeBackAsTheyWent() throws {
        let transcript = try request(Generate(id: 1, transcript: [calls, output("1", "a"), output("2", "b")])).transcript
        guard case .toolCalls(let theirs)? = transcript.first else {
            Issue.record("There are no calls.")
            return
        }
        let back = theirs.map { ToolCall(id: $0.id, name: $0.toolName, arguments: Value($0.arguments).object ?? [:]) }
        #expect(.toolCalls(back) == calls)
    }

    @Test func anEmptyPromptBehindOutputsOnlyGoesOn() throws {
        let step = Generate(
            id: 1,
            transcript: [.prompt([.text("Open.")]), calls, output("1", "a"), output("2", "b"), .prompt([.text("")])])
        #expect(try written(try request(step).transcript).last?["call"] == "2")
    }

    @Test(arguments: [[Entry](), [.response([.text("Hello.")])]])
    func aConversationThatAsksNothingIsAskedNothing(_ conversation: [Entry]) throws {
        let transcript = try request(Generate(id: 1, transcript: conversation)).transcript
        #expect(try written(transcript).last == ["role": "user", "says": [""]])
    }

    @available(macOS 27.0, *)
    @Test func whatIsAskedForIsInThePromptInForceAndInNoOther() throws {
        let step = Generate(
            id: 1,
            transcript: [
                .prompt([.text("Who?")]), .response([.text("I.")]), .prompt([.text("Open.")]), calls, output("1", "a"),
                output("2", "b"),
            ],
            schema: ["type": "string"], options: .init(temperature: 0.5))
        let prompts = try request(step).transcript.compactMap { entry -> Transcript.Prompt? in
            if case .prompt(let prompt) = entry { prompt } else { nil }
        }
        #expect(prompts.map { $0.responseFormat != nil } == [false, true])
        #expect(prompts.map(\.options.temperature) == [nil, 0.5])
        #expect(prompts.map(\.contextOptions.includeSchemaInPrompt) == [nil, true])
    }

    @Test func toolsAreInTheInstructionsEvenIfThereAreNone() throws {
        let parameters = try SchemaTests.golden().first
        let tool = ToolDefinition(name: "wave", description: "Waves.", parameters: try #require(parameters))
        let request = try request(Generate(id: 1, tools: [tool], toolMode: .allowed))
        guard case .instructions(let instructions)? = request.transcript.first else {
            Issue.record("There are no instructions.")
            return
        }
        #expect(instructions.segments.isEmpty)
        #expect(instructions.toolDefinitions.map(\.name) == ["wave"])
        #expect(request.tools == instructions.toolDefinitions)
    }

    @Test func whatTheModelCannotUseIsLeftOutAndNoted() throws {
        let reasoning: ValueObject = ["role": "reasoning", "id": "r", "contents": [["type": "text", "id": "0", "text": "Hm."]]]
        // In a form of the framework's own.
        let image: ValueObject = ["type": "image", "id": "i", "url": "file:///gate.png", "label": "gate"]
        let conversation: [Entry] = [
            .opaque(reasoning), .prompt([.text("See."), .attachment(image), .unknown(type: "smell")]), .unknown(type: "dance"),
            .opaque(["role": "nonsense"]),
        ]
        let step = Generate(id: 1, transcript: conversation)

        let blind = try request(step)
        #expect(try written(blind.transcript) == [["role": "user", "says": ["See."]]])
        // Of two entries it says the same, once.
        #expect(blind.omissions.count == 4)

        #if OAM_STANDIN
            let seeing = try request(step, [.reasoning, .images])
            #expect(
                try written(seeing.transcript) == [
                    ["role": "reasoning", "says": ["Hm."]], ["role": "user", "says": ["See.", "file:///gate.png"]],
                ])
            #expect(seeing.omissions.count == 3)
        #endif
    }

    @Test func aCallWithoutAnOutputIsRefused() {
        let broken: [[Entry]] = [
            [calls], [calls, output("1", "a")], [calls, output("1", "a"), .prompt([.text("And?")])],
            [output("1", "a")], [calls, output("1", "a"), output("1", "a")], [calls, output("3", "c")],
        ]
        for conversation in broken {
            #expect {
                try request(Generate(id: 1, transcript: conversation))
            } throws: { error in
                (error as? Failure)?.code == .invalidRequest
            }
        }
    }

    @Test func callsAreToldApartByTheBytesOfTheirIDs() throws {
        let ids = ["\u{e9}", "e\u{301}"]
        let calls = Entry.toolCalls(ids.map { ToolCall(id: $0, name: "wave") })
        let outputs = [ids[1], ids[0]].enumerated().map { number, id in
            Entry.toolOutput(callID: id, toolName: "wave", segments: [.text("\(number)")])
        }
        let transcript = try request(Generate(id: 1, transcript: [calls] + outputs)).transcript
        var made: [String] = []
        if case .toolCalls(let calls)? = transcript.first { made = calls.map(\.id) }
        // To the framework the two ids are one, so the second call has another.
        #expect(made.count == 2 && made[0] == ids[0] && made[1] != ids[1])
        let answers = try written(transcript).suffix(2)
        #expect(answers.map { $0["call"]?.text } == made)
        #expect(answers.map { $0["says"] } == [["1"], ["0"]])
    }

    @Test func aToolCannotBeRequiredOfNone() {
        #expect(throws: Failure(.invalidRequest, "The step requires a tool call and has no tools.")) {
            try request(Generate(id: 1, toolMode: .required))
        }
    }
}
