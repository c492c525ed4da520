// A conversation as the framework's transcript.
//
// What the framework insists on: an output has the id of its call, every call has its output, and the outputs follow
// their calls in the order of the calls. What the model cannot take is left out, and noted.

import Foundation
import FoundationModels
import WorkerProtocol

struct TranscriptWriter {
    let senses: ModelSenses
    /// What was left out: a sentence for each kind. A long conversation may hold thousands of one.
    private(set) var omissions: [String] = []
    private var noted: Set<String> = []

    init(senses: ModelSenses) {
        self.senses = senses
    }

    /// - Throws: ``Failure`` with the code `invalid_request`.
    mutating func transcript(
        of step: Generate,
        tools: [Transcript.ToolDefinition],
        schema: GenerationSchema?,
        options: FoundationModels.GenerationOptions
    ) throws -> Transcript {
        var entries: [Transcript.Entry] = []
        if step.instructions != nil || !tools.isEmpty {
            let segments = step.instructions.map { [Transcript.Segment.text(.init(content: $0))] } ?? []
            entries.append(.instructions(.init(segments: segments, toolDefinitions: tools)))
        }
        entries += try conversation(step.transcript)
        // The framework goes on from a prompt or from outputs.
        switch entries.last {
        case .prompt, .toolOutput: break
        default: entries.append(.prompt(.init(segments: [.text(.init(content: ""))])))
        }
        ask(&entries, schema, options)
        return Transcript(entries: entries)
    }

    /// Puts what is asked for into the prompt in force, as a session would.
    private func ask(
        _ entries: inout [Transcript.Entry],
        _ schema: GenerationSchema?,
        _ options: FoundationModels.GenerationOptions
    ) {
        for index in entries.indices.reversed() {
            guard case .prompt(var prompt) = entries[index] else { continue }
            prompt.options = options
            prompt.responseFormat = schema.map { Transcript.ResponseFormat(schema: $0) }
            if #available(macOS 27.0, *), schema != nil {
                prompt.contextOptions = ContextOptions(includeSchemaInPrompt: true)
            }
            entries[index] = .prompt(prompt)
            return
        }
    }

    private mutating func conversation(_ conversation: [Entry]) throws -> [Transcript.Entry] {
        var entries: [Transcript.Entry] = []
        var open = OpenCalls()
        let inForce = conversation.promptInForce
        for (index, entry) in conversation.enumerated() {
            if case .toolOutput(let id, let name, let segments) = entry {
                let output = Transcript.ToolOutput(id: id, toolName: name, segments: try self.segments(segments))
                entries += try open.close(with: output)
                continue
            }
            if case .opaque(let saved) = entry {
                // It may stand between calls and outputs, which nothing may part.
                if open.isEmpty { entries += opaque(saved) } else { omit("an entry between calls and their outputs") }
                continue
            }
            try open.expectNone()
            switch entry {
            case .prompt(let segments):
                let segments = try self.segments(segments, areAsked: index == inForce)
                if segments.isBlank, case .toolOutput? = entries.last { continue }
                entries.append(.prompt(.init(segments: segments)))
            case .toolCalls(let calls):
                entries.append(.toolCalls(.init(zip(open.begin(calls), calls).map { id, call in
                    .init(id: id, toolName: call.name, arguments: GeneratedContent(call.arguments))
                })))
            case .response(let segments):
                entries.append(.response(.init(assetIDs: [], segments: try self.segments(segments))))
            case .unknown(let type): omit("an entry of type '\(type)'")
            case .toolOutput, .opaque: break
            }
        }
        try open.expectNone()
        return entries
    }

    /// - Parameter areAsked: Whether they are what the model is asked now. Then an image must be there.
    private mutating func segments(_ segments: [Segment], areAsked: Bool = false) throws -> [Transcript.Segment] {
        var mapped: [Transcript.Segment] = []
        for segment in segments {
            switch segment {
            case .text(let text): mapped.append(.text(.init(content: text)))
            case .structure(let source, let content):
                mapped.append(.structure(.init(source: source, content: GeneratedContent(content))))
            case .attachment(let saved): mapped += try attachment(saved, isAsked: areAsked)
            case .unknown(let type): omit("a segment of type '\(type)'")
            }
        }
        return mapped
    }

    /// An entry that was saved in the framework's own form.
    private mutating func opaque(_ saved: ValueObject) -> [Transcript.Entry] {
        if #available(macOS 27.0, *), senses.contains(.reasoning), case .reasoning? = Self.read(saved) {
            return Self.read(saved).map { [$0] } ?? []
        }
        omit("an entry that this model cannot use")
        return []
    }

    private mutating func attachment(_ saved: ValueObject, isAsked: Bool) throws -> [Transcript.Segment] {
        if #available(macOS 27.0, *), senses.contains(.images) {
            if let image = ImageFile(saved) { return try self.image(image, isAsked: isAsked) }
            let prompt: ValueObject = ["role": "user", "id": "attachment", "contents": .array([.object(saved)])]
            if case .prompt(let prompt)? = Self.read(prompt), case .attachment? = prompt.segments.first {
                return prompt.segments
            }
        }
        omit("an attachment that this model cannot use")
        return []
    }

    /// A conversation outlives the files that were shown in it.
    @available(macOS 27.0, *)
    private mutating func image(_ image: ImageFile, isAsked: Bool) throws -> [Transcript.Segment] {
        do {
            return [try image.segment()]
        } catch {
            if isAsked { throw error }
            omit("an image that was shown before and can no longer be read")
            return []
        }
    }

    /// The framework's own reading of an entry; `nil` where it cannot.
    private static func read(_ entry: ValueObject) -> Transcript.Entry? {
        let saved: Value = [
            "type": "FoundationModels.Transcript", "version": "1.1",
            "transcript": ["entries": .array([.object(entry)])],
        ]
        let transcript = try? JSONDecoder().decode(Transcript.self, from: Data(saved.jsonText.utf8))
        return transcript?.first
    }

    private mutating func omit(_ what: String) {
        guard noted.insert(what).inserted else { return }
        omissions.append("Left out of a conversation: \(what).")
    }
}

extension [Entry] {
    /// Where the last prompt is that does not only go on from outputs.
    fileprivate var promptInForce: Int? {
        indices.last { index in
            guard case .prompt(let segments) = self[index] else { return false }
            guard index > 0, case .toolOutput = self[index - 1] else { return true }
            return !segments.isBlank
        }
    }
}

extension [Segment] {
    fileprivate var isBlank: Bool {
        allSatisfy { segment in
            if case .text(let text) = segment { text.isEmpty } else { false }
        }
    }
}

extension [Transcript.Segment] {
    fileprivate var isBlank: Bool {
        allSatisfy { segment in
            if case .text(let text) = segment { text.content.isEmpty } else { false }
        }
    }
}

/// The calls of a round whose outputs are still to come.
private struct OpenCalls {
    /// The calls' ids for the framework, in the order of the calls. Equal ones would be one to it, so each is another, also
    /// where two differ only in how a letter is spelled.
    private var calls: [String] = []
    private var waiting: [ExactText: String] = [:]
    private var outputs: [String: Transcript.ToolOutput] = [:]

    var isEmpty: Bool { calls.isEmpty }

    /// Returns the ids of the calls for the framework.
    mutating func begin(_ calls: [ToolCall]) -> [String] {
        var ids = CallIDs()
        self.calls = calls.map { ids.unused($0.id) }
        waiting = Dictionary(zip(calls.map { ExactText($0.id) }, self.calls)) { first, _ in first }
        return self.calls
    }

    /// Takes an output; returns all of the round, in the order of their calls, when it was the last.
    mutating func close(with output: Transcript.ToolOutput) throws -> [Transcript.Entry] {
        guard let id = waiting.removeValue(forKey: ExactText(output.id)) else {
            throw Failure(.invalidRequest, "The output '\(output.id)' belongs to no call that waits for one.")
        }
        var output = output
        output.id = id
        outputs[id] = output
        guard outputs.count == calls.count else { return [] }
        defer { self = OpenCalls() }
        return calls.compactMap { outputs[$0].map(Transcript.Entry.toolOutput) }
    }

    func expectNone() throws {
        guard isEmpty else {
            throw Failure(.invalidRequest, "A tool call in the conversation has no output.")
        }
    }
}
