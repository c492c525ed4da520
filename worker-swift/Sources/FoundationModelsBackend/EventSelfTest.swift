// Finding out whether events can be read on the system at hand.
//
// Events that are made with the public interface are read back. If one that a step cannot do without does not come back as
// what it was, steps are played without reading events. The others cost usage, or a call that the model takes back.

import FoundationModels
import WorkerProtocol

@available(macOS 27.0, *)
struct EventSelfTest {
    /// What did not come back as what it was, and no step can do without: names of cases. None if events can be read.
    let failures: [String]
    /// What did not come back as what it was besides.
    let losses: [String]
    /// How an event looks to a mirror, for a report.
    let layout: String

    private typealias Channel = LanguageModelExecutorGenerationChannel

    var isPassed: Bool { failures.isEmpty }

    init() {
        var failures: [String] = []
        var losses: [String] = []
        for sample in Self.samples() where EventDecoder.decode(sample.event) != sample.expected {
            if sample.isVital { failures.append(sample.name) } else { losses.append(sample.name) }
        }
        if EventDecoder.responseEntry(Self.marked) != "end" { failures.append("the end of a step") }
        self.failures = failures
        self.losses = losses
        layout = Self.describe(Channel.Event.response(action: .appendText("text", tokenCount: 1)))
    }

    private static var marked: Channel.Event {
        .response(entryID: "end", action: .updateMetadata([:]))
    }

    private struct Sample {
        let name: String
        let event: Channel.Event
        let expected: ModelEvent
        let isVital: Bool

        init(_ name: String, _ event: Channel.Event, _ expected: ModelEvent, isVital: Bool = false) {
            self.name = name
            self.event = event
            self.expected = expected
            self.isVital = isVital
        }
    }

    private static func samples() -> [Sample] {
        let place = TextPlace(entry: "entry", segment: "segment")
        let input = Channel.Usage.Input(totalTokenCount: 184, cachedTokenCount: 183)
        let output = Channel.Usage.Output(totalTokenCount: 17, reasoningTokenCount: 3)
        let usage = ModelEvent.usage(TokenUsage(input: 184, cached: 183, output: 17))
        return [
            Sample(
                "a text that grows",
                .response(entryID: "entry", action: .appendText("text", segmentID: "segment", tokenCount: 1)),
                .text("text", place), isVital: true),
            Sample(
                "a text without a place", .response(action: .appendText("text", tokenCount: 1)),
                .text("text", TextPlace()), isVital: true),
            Sample(
                "a text that is replaced",
                .response(entryID: "entry", action: .replaceTextSegment("other", segmentID: "segment", tokenCount: 1)),
                .replacement("other", place), isVital: true),
            Sample(
                "arguments of a call",
                .toolCalls(action: .toolCall(
                    id: "id", name: "name", action: .appendArguments("{\"a\":", tokenCount: 1))),
                .arguments("{\"a\":", call: "id", tool: "name"), isVital: true),
            Sample(
                "a call without arguments",
                .toolCalls(action: .toolCall(id: "id", name: "name", action: .updateMetadata([:]))),
                .call("id", tool: "name"), isVital: true),
            Sample("a call that is taken back", .toolCalls(action: .removeToolCall(id: "id")), .callRemoved("id")),
            Sample("usage of an answer", .response(action: .updateUsage(input: input, output: output)), usage),
            Sample("usage of calls", .toolCalls(action: .updateUsage(input: input, output: output)), usage),
            Sample("usage of reasoning", .reasoning(action: .updateUsage(input: input, output: output)), usage),
            Sample("reasoning", .reasoning(action: .appendText("hm", tokenCount: 1)), .aside),
            Sample("metadata of an answer", .response(action: .updateMetadata(["text": "none"])), .aside),
            Sample("metadata of calls", .toolCalls(action: .updateMetadata(["text": "none"])), .aside),
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
