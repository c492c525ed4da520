// One step of the stand-in's model, played into a channel.

import Foundation

struct Performance {
    typealias Channel = LanguageModelExecutorGenerationChannel

    let request: LanguageModelExecutorGenerationRequest
    let channel: Channel
    let settings: Settings

    func play() async throws {
        try check()
        let own = try request.transcript.ownScript
        let position = settings.positions?.next(of: own?.text ?? "") ?? request.transcript.inferences
        guard let script = own?.script ?? settings.script else {
            return try await play(MadeUpAnswer.step(for: request), position: position)
        }
        try await play(script.step(at: position), position: position)
    }

    /// Fails as Apple's executor was seen to fail.
    private func check() throws {
        guard settings.availability == .available else {
            throw SystemLanguageModel.Error.assetsUnavailable(.init(debugDescription: "The model is not available."))
        }
        let mode = request.generationOptions.toolCallingMode
        if mode == .required, request.enabledToolDefinitions.isEmpty {
            throw ScriptedFailure.opaque("Tool Choice requires tools")
        }
        guard request.transcript.hasAnOutputForEveryCall else {
            throw ScriptedFailure.opaque("Unable to tokenize prompt")
        }
        if settings.contextSize > 0, TokenEstimate.tokens(of: request.transcript) > settings.contextSize {
            throw ScriptedFailure.opaque(
                "Provided too many tokens.",
                underlying: [("com.apple.GenerativeFunctionsFoundation.GenerativeError", 4_050_000)])
        }
    }

    private func play(_ step: ScriptStep, position: Int) async throws {
        try await pause(step.delay, step)
        var pieces = PieceCount(step: step)
        if let reasoning = step.reasoning {
            await channel.send(.reasoning(action: .appendText(reasoning, tokenCount: 1)))
            await channel.send(.reasoning(action: .updateSignature(Data([1, 2, 3]), tokenCount: 0)))
        }
        switch step.action {
        case .text(let text):
            try await say(text, chunks: step.chunks, step, &pieces)
        case .template(let template):
            try await say(request.transcript.fillIn(template), chunks: step.chunks, step, &pieces)
        case .json(let content):
            try await say(JSONWriter.compactText(of: content), chunks: step.chunks, step, &pieces, tokens: 8)
        case .replacements(let texts):
            for (index, text) in texts.enumerated() {
                try await pause(step.pieceDelay, step)
                let action: Channel.Response.Action = index == 0
                    ? .appendText(text, segmentID: "0", tokenCount: 1)
                    : .replaceTextSegment(text, segmentID: "0", tokenCount: 1)
                await channel.send(.response(action: action))
                pieces.said(tokens: 1)
            }
        case .toolCalls(let calls):
            try await call(calls, step, position: position, &pieces)
        case .failure(let failure):
            throw failure.error
        }
        await tellUsage(step, output: pieces.tokens)
    }

    private func say(
        _ text: String, chunks: Int, _ step: ScriptStep, _ pieces: inout PieceCount, tokens: Int? = nil
    ) async throws {
        for piece in text.cut(into: chunks) {
            try await pause(step.pieceDelay, step)
            let count = max(piece.count / 4, 1)
            await channel.send(.response(action: .appendText(String(piece), segmentID: "0", tokenCount: count)))
            pieces.said(tokens: tokens == nil ? count : 0)
        }
        pieces.tokens += tokens ?? 0
    }

    private func call(
        _ calls: [ScriptStep.Call], _ step: ScriptStep, position: Int, _ pieces: inout PieceCount
    ) async throws {
        if let preamble = step.preamble { try await say(preamble, chunks: 1, step, &pieces) }
        let ids = calls.indices.map { calls[$0].id ?? "call_\(position)_\($0)" }
        let fragments = calls.map { $0.arguments.cut(into: step.fragments) }
        for round in 0..<(fragments.map(\.count).max() ?? 0) {
            for (index, call) in calls.enumerated() where round < fragments[index].count {
                try await pause(step.pieceDelay, step)
                await channel.send(.toolCalls(action: .toolCall(
                    id: ids[index],
                    name: call.name,
                    action: .appendArguments(String(fragments[index][round]), tokenCount: 1))))
                pieces.said(tokens: 0)
            }
        }
        for id in step.removed { await channel.send(.toolCalls(action: .removeToolCall(id: id))) }
        pieces.tokens += 4 * calls.count
    }

    private func tellUsage(_ step: ScriptStep, output: Int) async {
        let input: Channel.Usage.Input
        let total: Channel.Usage.Output
        switch step.usage {
        case .none: return
        case .counted:
            input = .init(totalTokenCount: 0, cachedTokenCount: 0)
            total = .init(totalTokenCount: output, reasoningTokenCount: 0)
        case .told(let told, let cached, let output):
            input = .init(totalTokenCount: told, cachedTokenCount: cached)
            total = .init(totalTokenCount: output, reasoningTokenCount: 0)
        }
        if case .toolCalls = step.action {
            await channel.send(.toolCalls(action: .updateUsage(input: input, output: total)))
        } else {
            await channel.send(.response(action: .updateUsage(input: input, output: total)))
        }
    }

    /// A cancelled step fails with an error of no known type, as Apple's executor was seen to do.
    private func pause(_ milliseconds: Int, _ step: ScriptStep) async throws {
        if step.isUncancellable {
            guard milliseconds > 0 else { return }
            await withCheckedContinuation { done in
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { done.resume() }
            }
            return
        }
        if milliseconds > 0 { try? await Task.sleep(for: .milliseconds(milliseconds)) }
        if Task.isCancelled { throw ScriptedFailure.opaque("The operation couldn’t be completed.") }
    }
}

/// Counts what was said, and dies when the step is to.
private struct PieceCount {
    let step: ScriptStep
    var tokens = 0
    private var count = 0

    init(step: ScriptStep) {
        self.step = step
        dieIfDue()
    }

    mutating func said(tokens: Int) {
        self.tokens += tokens
        count += 1
        dieIfDue()
    }

    private func dieIfDue() {
        guard count == step.crashAfter else { return }
        if let mark = step.mark {
            let file = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            guard file >= 0 else { return }
            close(file)
        }
        FileHandle.standardError.write(Data("The script says to crash.\n".utf8))
        abort()
    }
}

extension String {
    /// Pieces of equal length but for the last; one when there are not more characters than pieces.
    fileprivate func cut(into chunks: Int) -> [Substring] {
        let length = count
        guard chunks > 1, length > chunks else { return [self[...]] }
        let size = length.dividedUp(by: chunks)
        var pieces: [Substring] = []
        var rest = self[...]
        while !rest.isEmpty {
            pieces.append(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        return pieces
    }
}
