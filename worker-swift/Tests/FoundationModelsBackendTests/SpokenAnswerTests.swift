import Testing
import WorkerCore
import WorkerProtocol

@testable import FoundationModelsBackend

/// An answer that is put together from what a model says.
@Suite struct SpokenAnswerTests {
    private let here = TextPlace(entry: "e", segment: "0")
    private let there = TextPlace(entry: "e", segment: "1")
    private let anywhere = TextPlace()

    private func changes(_ events: [ModelEvent]) -> (changes: [TextChange], answer: SpokenAnswer) {
        var answer = SpokenAnswer()
        return (events.compactMap { answer.hear($0) }, answer)
    }

    @Test func textGrowsByItsPieces() {
        let (changes, answer) = changes([.text("The ", here), .text("", here), .text("gate.", anywhere)])
        #expect(changes == [.delta("The "), .delta("gate.")])
        #expect(answer.text == "The gate.")
    }

    @Test func aTextThatIsReplacedByALongerOneHasGrown() {
        let (changes, answer) = changes([.text("The", here), .replacement("The gate.", here)])
        #expect(changes == [.delta("The"), .delta(" gate.")])
        #expect(answer.text == "The gate.")
    }

    @Test func aTextThatIsTakenBackIsToldAsAWhole() {
        let (changes, _) = changes([
            .text("The gate.", here), .replacement("The", here), .replacement("The", here), .text(" wall.", here),
        ])
        #expect(changes == [.delta("The gate."), .reset("The"), .delta(" wall.")])
    }

    @Test func aReplacementOfNothingIsABeginning() {
        #expect(changes([.replacement("The gate.", anywhere)]).changes == [.delta("The gate.")])
    }

    @Test func severalTextsMakeOneAnswer() {
        let (changes, answer) = changes([.text("One.", here), .text(" Two.", there), .text(" And a half.", here)])
        #expect(changes == [.delta("One."), .delta(" Two."), .reset("One. And a half. Two.")])
        #expect(answer.text == "One. And a half. Two.")
    }

    @Test func argumentsOfSeveralCallsMayAlternate() {
        let answer = changes([
            .arguments("{\"a\"", call: "1", tool: "x"), .arguments("{}", call: "2", tool: "y"),
            .arguments(":1}", call: "1", tool: "x"), .call("3", tool: "z"),
        ]).answer
        #expect(answer.calls.map(\.id) == ["1", "2", "3"])
        #expect(answer.calls.map(\.arguments) == ["{\"a\":1}", "{}", ""])
    }

    @Test func aCallThatIsTakenBackWasNeverMade() {
        let answer = changes([.call("1", tool: "x"), .call("2", tool: "y"), .callRemoved("1"), .callRemoved("9")]).answer
        #expect(answer.calls.map(\.id) == ["2"])
    }

    @Test func aCallThatWasTakenBackMayBeMadeAfterAll() {
        let answer = changes([
            .arguments("{}", call: "1", tool: "x"), .call("2", tool: "y"), .callRemoved("1"), .call("1", tool: "z"),
        ]).answer
        #expect(answer.calls.map(\.tool) == ["y", "z"])
        #expect(answer.calls.map(\.arguments) == ["", ""])
    }

    @Test func itsLengthIsThatOfTextsAndCalls() {
        let answer = changes([
            .text("é", here), .replacement("ab c", here), .arguments("{}", call: "id", tool: "tool"),
            .arguments(" ", call: "id", tool: "tool"), .call("2", tool: ""),
        ]).answer
        #expect(answer.length == 4 + 2 + 4 + 3 + 1)
    }

    @Test func usageIsWhatWasToldLast() {
        let answer = changes([
            .usage(TokenUsage(input: 9, cached: 0, output: 1)), .aside, .usage(TokenUsage(input: 9, cached: 3, output: 4)),
        ]).answer
        #expect(answer.usage == TokenUsage(inputTokens: 9, cachedInputTokens: 3, outputTokens: 4))
        #expect(TokenUsage(input: -1, cached: -2, output: 3) == TokenUsage(outputTokens: 3))
    }

    @Test func idsOfCallsAreUsedOnce() throws {
        var ids = CallIDs(taken: [.toolCalls([ToolCall(id: "a", name: "x")])])
        #expect(ids.unused("b") == "b")
        let made = [ids.unused("a"), ids.unused("b"), ids.unused(""), ids.unused("")]
        #expect(Set(made + ["a", "b"]).count == 6)
    }

    @Test func callsMakeAnOutcomeWhateverWasSaid() throws {
        let answer = changes([
            .text("Let me check.", here), .arguments(" {\"b\": 1, \"a\": 12345678901234567}", call: "1", tool: "x"),
            .call("2", tool: "y"),
        ]).answer
        let result = try StepResult(answer, of: Generate(id: 1))
        let arguments: ValueObject = ["b": 1, "a": 12_345_678_901_234_567]
        let calls = [ToolCall(id: "1", name: "x", arguments: arguments), ToolCall(id: "2", name: "y")]
        #expect(result.outcome == .toolCalls(calls))
    }

    @Test(arguments: ["{\"a\":", "[]", "gate"])
    func argumentsThatAreNoObjectFailTheStep(_ arguments: String) {
        let answer = changes([.arguments(arguments, call: "1", tool: "x")]).answer
        #expect(throws: Failure(.generationFailed, "The model called 'x' with arguments that are no JSON object.")) {
            try StepResult(answer, of: Generate(id: 1))
        }
    }

    @Test func aStructuredAnswerIsAValueIfItIsJSON() throws {
        let step = Generate(id: 1, schema: ["type": "string"])
        let structured = changes([.text(" {\"z\":1,\"a\":[]}\n", here)]).answer
        #expect(try StepResult(structured, of: step).outcome == .structured(["z": 1, "a": []]))
        let cut = changes([.text("{\"z\":", here)]).answer
        #expect(try StepResult(cut, of: step).outcome == .text("{\"z\":"))
        #expect(try StepResult(structured, of: Generate(id: 1)).outcome == .text(" {\"z\":1,\"a\":[]}\n"))
    }
}
