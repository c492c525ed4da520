// A session: the loop that asks a model, calls its tools, and asks again until it answers.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public final class LanguageModelSession: @unchecked Sendable {
    private struct State {
        var transcript: Transcript
        var isResponding = false
        var usage = Usage(
            input: .init(totalTokenCount: 0, cachedTokenCount: 0),
            output: .init(totalTokenCount: 0, reasoningTokenCount: 0),
            metadata: [:])
    }

    private let model: any LanguageModel
    private let tools: [any Tool]
    private let lock = NSLock()
    private var state: State

    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript
    ) {
        self.init(any: model, tools: tools, transcript: transcript)
    }

    @available(macOS 27.0, *)
    public convenience init(model: some LanguageModel, tools: [any Tool] = [], transcript: Transcript) {
        self.init(any: model, tools: tools, transcript: transcript)
    }

    private init(any model: any LanguageModel, tools: [any Tool], transcript: Transcript) {
        self.model = model
        self.tools = tools
        state = State(transcript: transcript)
    }

    public var transcript: Transcript { lock.withLock { state.transcript } }
    public var isResponding: Bool { lock.withLock { state.isResponding } }

    @available(macOS 27.0, *)
    public var usage: Usage { lock.withLock { state.usage } }

    public func prewarm(promptPrefix: Prompt? = nil) {}

    public struct Response<Content> where Content: Generable {
        public let content: Content
        public let rawContent: GeneratedContent
        public let transcriptEntries: ArraySlice<Transcript.Entry>
        @available(macOS 27.0, *)
        public var usage: Usage { cost }
        let cost: Usage
    }

    @available(macOS 27.0, *)
    public struct Usage: Sendable {
        public var input: Input
        public var output: Output
        public var metadata: [String: GeneratedContent]
        public var totalTokenCount: Int { input.totalTokenCount + output.totalTokenCount }

        public struct Input: Sendable {
            public var totalTokenCount: Int
            public var cachedTokenCount: Int
        }

        public struct Output: Sendable {
            public var totalTokenCount: Int
            public var reasoningTokenCount: Int
        }
    }

    @discardableResult
    public func respond(
        to prompt: Prompt, options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<String> {
        let turn = try await turn(prompt, schema: nil, options: options)
        return Response(
            content: turn.text, rawContent: turn.text.generatedContent,
            transcriptEntries: turn.entries, cost: turn.usage)
    }

    @discardableResult
    public func respond(
        to prompt: Prompt,
        schema: GenerationSchema,
        includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<GeneratedContent> {
        let turn = try await turn(prompt, schema: schema, options: options)
        do {
            let content = try GeneratedContent(json: turn.text)
            guard content.isComplete else { throw ScriptError("The text ends too early.") }
            return Response(
                content: content, rawContent: content, transcriptEntries: turn.entries, cost: turn.usage)
        } catch {
            throw GeneratedContent.ParsingError(
                rawContent: turn.text, underlyingError: error, debugDescription: "The answer is malformed.")
        }
    }
}

@available(macOS 26.0, *)
extension LanguageModelSession {
    private struct Turn {
        var text = ""
        var entries: ArraySlice<Transcript.Entry> = []
        var usage: Usage
    }

    /// A turn that fails leaves the transcript as it was.
    private func turn(
        _ prompt: Prompt, schema: GenerationSchema?, options: GenerationOptions
    ) async throws -> Turn {
        let before = try lock.withLock {
            guard !state.isResponding else { throw Error.concurrentRequests }
            state.isResponding = true
            return state.transcript
        }
        do {
            let turn = try await loop(prompt, schema: schema, options: options, from: before)
            lock.withLock { state.isResponding = false }
            return turn
        } catch {
            lock.withLock {
                state.isResponding = false
                state.transcript = before
            }
            throw error
        }
    }

    private func loop(
        _ prompt: Prompt, schema: GenerationSchema?, options: GenerationOptions, from before: Transcript
    ) async throws -> Turn {
        append(.prompt(.init(
            segments: [.text(.init(content: prompt.text))],
            options: options,
            responseFormat: schema.map(Transcript.ResponseFormat.init(schema:)))))
        while true {
            let step = try await step(of: model, schema: schema, options: options)
            if step.calls.isEmpty {
                append(.response(.init(assetIDs: [], segments: [.text(.init(id: "0", content: step.text))])))
                let entries = transcript[before.endIndex...]
                return Turn(text: step.text, entries: ArraySlice(entries), usage: usage)
            }
            let outputs = try await outputs(of: step.calls)
            append(.toolCalls(.init(step.calls)))
            outputs.forEach { append(.toolOutput($0)) }
        }
    }

    private func append(_ entry: Transcript.Entry) {
        lock.withLock { state.transcript.entries.append(entry) }
    }

    private struct Step: Sendable {
        var text = ""
        var calls: [Transcript.ToolCall] = []
    }

    private func step<Model: LanguageModel>(
        of model: Model, schema: GenerationSchema?, options: GenerationOptions
    ) async throws -> Step {
        let executor = try Model.Executor(configuration: model.executorConfiguration)
        let request = LanguageModelExecutorGenerationRequest(
            id: UUID(),
            transcript: transcript,
            enabledTools: tools.map { Transcript.ToolDefinition(tool: $0) },
            schema: schema,
            generationOptions: options,
            contextOptions: ContextOptions(),
            metadata: [:])
        let channel = LanguageModelExecutorGenerationChannel()
        let end = UUID().uuidString
        async let step = collect(channel, until: end)
        let result: Result<Void, any Swift.Error>
        do {
            result = .success(try await executor.respond(to: request, model: model, streamingInto: channel))
        } catch {
            result = .failure(error)
        }
        await channel.send(.response(entryID: end, action: .updateMetadata([:])))
        let collected = try await step
        try result.get()
        return collected
    }

    private func collect(_ channel: LanguageModelExecutorGenerationChannel, until end: String) async throws -> Step {
        var step = Step()
        var arguments: [(id: String, name: String, text: String)] = []
        for try await event in channel {
            switch event.content {
            case .response(let response):
                if response.entryID == end {
                    step.calls = try arguments.map {
                        .init(id: $0.id, toolName: $0.name, arguments: try GeneratedContent(json: $0.text))
                    }
                    return step
                }
                switch response.action.kind {
                case .appendText(let fragment): step.text += fragment.content
                case .replaceTextSegment(let replacement): step.text = replacement.content
                case .updateMetadata: break
                case .updateUsage(let usage): add(usage)
                }
            case .reasoning: break
            case .toolCalls(let calls):
                switch calls.action.kind {
                case .toolCall(let call):
                    guard case .appendArguments(let fragment) = call.action.kind else { continue }
                    if let index = arguments.firstIndex(where: { $0.id == call.id }) {
                        arguments[index].text += fragment.content
                    } else {
                        arguments.append((call.id, call.name, fragment.content))
                    }
                case .removeToolCall(let id): arguments.removeAll { $0.id == id }
                case .updateMetadata: break
                case .updateUsage(let usage): add(usage)
                }
            }
        }
        return step
    }

    private func add(_ usage: LanguageModelExecutorGenerationChannel.Usage) {
        lock.withLock {
            state.usage.input.totalTokenCount += usage.input.totalTokenCount
            state.usage.input.cachedTokenCount += usage.input.cachedTokenCount
            state.usage.output.totalTokenCount += usage.output.totalTokenCount
            state.usage.output.reasoningTokenCount += usage.output.reasoningTokenCount
        }
    }

    private func outputs(of calls: [Transcript.ToolCall]) async throws -> [Transcript.ToolOutput] {
        try await withThrowingTaskGroup(of: (Int, Transcript.ToolOutput).self) { group in
            for (index, call) in calls.enumerated() {
                guard let tool = tools.first(where: { $0.name == call.toolName }) else {
                    throw ScriptedFailure.opaque("There is no tool '\(call.toolName)'.")
                }
                group.addTask {
                    do {
                        let text = try await tool.call(with: call.arguments)
                        let segment = Transcript.Segment.text(.init(content: text))
                        return (index, .init(id: call.id, toolName: call.toolName, segments: [segment]))
                    } catch {
                        throw ToolCallError(tool: tool, underlyingError: error)
                    }
                }
            }
            var outputs: [(Int, Transcript.ToolOutput)] = []
            for try await output in group { outputs.append(output) }
            return outputs.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
