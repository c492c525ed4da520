// Finding out whether events can be read on the system at hand.
//
// Events that are made with the public interface are read back. If one of them does not come back as what it was, steps
// are played without reading events.

import FoundationModels
import WorkerProtocol

@available(macOS 27.0, *)
struct EventSelfTest {
    /// What did not come back as what it was: names of cases. None if events can be read.
    let failures: [String]
    /// How an event looks to a mirror, for a report.
    let layout: String

    private typealias Channel = LanguageModelExecutorGenerationChannel

    var isPassed: Bool { failures.isEmpty }

    init() {
        failures = Self.cases().filter { EventDecoder.decode($0.event) != $0.expected }.map(\.name)
            + (EventDecoder.responseEntry(Self.marked) == "end" ? [] : ["the end of a step"])
        layout = Self.describe(Channel.Event.response(action: .appendText("text", tokenCount: 1)))
    }

    private static var marked: Channel.Event {
        .response(entryID: "end", action: .updateMetadata([:]))
    }

    private static func cases() -> [(name: String, event: Channel.Event, expected: ModelEvent)] {
        let place = TextPlace(entry: "entry", segment: "segment")
        let input = Channel.Usage.Input(totalTokenCount: 184, cachedTokenCount: 183)
        let output = Channel.Usage.Output(totalTokenCount: 17, reasoningTokenCount: 3)
        let usage = ModelEvent.usage(TokenUsage(input: 184, cached: 183, output: 17))
        return [
            (
                "a text that grows",
                .response(entryID: "entry", action: .appendText("text", segmentID: "segment", tokenCount: 1)),
                .text("text", place)
            ),
            (
                "a text without a place",
                .response(action: .appendText("text", tokenCount: 1)),
                .text("text", TextPlace())
            ),
            (
                "a text that is replaced",
                .response(entryID: "entry", action: .replaceTextSegment("other", segmentID: "segment", tokenCount: 1)),
                .replacement("other", place)
            ),
            (
                "arguments of a call",
                .toolCalls(action: .toolCall(
                    id: "id", name: "name", action: .appendArguments("{\"a\":", tokenCount: 1))),
                .arguments("{\"a\":", call: "id", tool: "name")
            ),
            (
                "a call without arguments",
                .toolCalls(action: .toolCall(id: "id", name: "name", action: .updateMetadata([:]))),
                .call("id", tool: "name")
            ),
            ("a call that is taken back", .toolCalls(action: .removeToolCall(id: "id")), .callRemoved("id")),
            ("usage of an answer", .response(action: .updateUsage(input: input, output: output)), usage),
            ("usage of calls", .toolCalls(action: .updateUsage(input: input, output: output)), usage),
            ("usage of reasoning", .reasoning(action: .updateUsage(input: input, output: output)), usage),
            ("reasoning", .reasoning(action: .appendText("hm", tokenCount: 1)), .aside),
            ("metadata of an answer", .response(action: .updateMetadata(["text": "none"])), .aside),
            ("metadata of calls", .toolCalls(action: .updateMetadata(["text": "none"])), .aside),
        ]
    }

    private static func describe(_ value: Any, depth: Int = 0) -> String {
        let type = String(reflecting: Swift.type(of: value))
        guard depth < 6 else { return type }
        let children = Mirror(reflecting: value).children.map { child in
            "\(child.label ?? "_"): \(describe(child.value, depth: depth + 1))"
        }
        return children.isEmpty ? type : "\(type)(\(children.joined(separator: ", ")))"
    }
}
