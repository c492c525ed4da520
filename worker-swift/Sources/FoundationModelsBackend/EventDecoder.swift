// Reading the events of Apple's channel.
//
// An executor streams a step into a channel whose events are opaque: the public interface can make them but not read them.
// What they hold is public, though: text fragments, tool calls, usage. So this looks for values of those public types
// inside of an event, by reflection, whatever the members around them are called and however many levels there are.
// Whether that works on the system at hand is found out before the first step: see `EventSelfTest`.

import FoundationModels
import WorkerProtocol

@available(macOS 27.0, *)
enum EventDecoder {
    typealias Channel = LanguageModelExecutorGenerationChannel

    /// Levels around a payload. Seen: two.
    private static let deepest = 6

    private enum Part {
        case response(Channel.Response)
        case reasoning(Channel.Reasoning)
        case toolCalls(Channel.ToolCalls)
    }

    /// What an event tells; `nil` when it cannot be read.
    static func decode(_ event: Channel.Event) -> ModelEvent? {
        let part: Part? = search(event) { value in
            switch value {
            case let response as Channel.Response: .response(response)
            case let reasoning as Channel.Reasoning: .reasoning(reasoning)
            case let calls as Channel.ToolCalls: .toolCalls(calls)
            default: nil
            }
        }
        switch part {
        case .response(let response): return decode(response)
        case .reasoning(let reasoning): return usage(in: reasoning.action) ?? .aside
        case .toolCalls(let calls): return decode(calls.action)
        case nil: return nil
        }
    }

    /// The entry that an event of an answer belongs to.
    static func responseEntry(_ event: Channel.Event) -> String? {
        let response: Channel.Response? = search(event) { $0 as? Channel.Response }
        return response?.entryID
    }

    private static func decode(_ response: Channel.Response) -> ModelEvent? {
        search(response.action) { value in
            switch value {
            case let fragment as Channel.TextFragment:
                .text(fragment.content, TextPlace(entry: response.entryID, segment: fragment.segmentID))
            case let replacement as Channel.TextSegmentReplacement:
                .replacement(
                    replacement.content, TextPlace(entry: response.entryID, segment: replacement.segmentID))
            case let usage as Channel.Usage: .usage(TokenUsage(usage))
            default: nil
            }
        } ?? .aside
    }

    private static func decode(_ action: Channel.ToolCalls.Action) -> ModelEvent? {
        let event: ModelEvent? = search(action) { value in
            switch value {
            case let call as Channel.ToolCalls.ToolCall: decode(call)
            case let usage as Channel.Usage: .usage(TokenUsage(usage))
            case is Channel.Metadata: .aside
            default: nil
            }
        }
        if let event { return event }
        // The only text of an action with nothing else in it is the id of a call that is taken back.
        let id: String? = search(action) { $0 as? String }
        return id.map(ModelEvent.callRemoved) ?? .aside
    }

    private static func decode(_ call: Channel.ToolCalls.ToolCall) -> ModelEvent {
        let fragment: Channel.ToolCalls.ToolCall.ArgumentsFragment? = search(call.action) {
            $0 as? Channel.ToolCalls.ToolCall.ArgumentsFragment
        }
        guard let fragment else { return .call(call.id, tool: call.name) }
        return .arguments(fragment.content, call: call.id, tool: call.name)
    }

    private static func usage(in action: Channel.Reasoning.Action) -> ModelEvent? {
        search(action) { ($0 as? Channel.Usage).map { .usage(TokenUsage($0)) } }
    }

    /// The first value, going down from `value`, in which something is found.
    private static func search<Found>(_ value: Any, depth: Int = 0, _ find: (Any) -> Found?) -> Found? {
        if let found = find(value) { return found }
        guard depth < deepest else { return nil }
        for child in Mirror(reflecting: value).children {
            if let found = search(child.value, depth: depth + 1, find) { return found }
        }
        return nil
    }
}

@available(macOS 27.0, *)
extension TokenUsage {
    init(_ usage: LanguageModelExecutorGenerationChannel.Usage) {
        self.init(
            input: usage.input.totalTokenCount,
            cached: usage.input.cachedTokenCount,
            output: usage.output.totalTokenCount)
    }
}

extension TokenUsage {
    /// Counts that are below 0 are taken for 0.
    init(input: Int, cached: Int, output: Int) {
        self.init(
            inputTokens: UInt64(clamping: input),
            cachedInputTokens: UInt64(clamping: cached),
            outputTokens: UInt64(clamping: output))
    }
}
