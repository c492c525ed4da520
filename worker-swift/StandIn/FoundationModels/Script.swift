// A script: what the model of the stand-in says, step by step.

import Foundation

struct ScriptError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

struct Script: Sendable {
    let steps: [ScriptStep]
    let fallback: ScriptStep

    /// Nil if the content tells no steps.
    init?(_ content: GeneratedContent) throws {
        guard let steps = content.elements ?? content["steps"]?.elements ?? (content["fallback"] == nil ? nil : [])
        else { return nil }
        self.steps = try steps.map(ScriptStep.init)
        fallback = try content["fallback"].map(ScriptStep.init) ?? ScriptStep(.text("(script exhausted)"))
    }

    func step(at position: Int) -> ScriptStep {
        position < steps.count ? steps[position] : fallback
    }
}

/// A step of a script. Beside the members of docs/PROTOCOL.md ("Scripted model"):
///
/// | action | |
/// | --- | --- |
/// | `template`: text | in it, `{images}` stands for the names of the image files of the prompt |
/// | `replacements`: texts | says the first, then takes it back for the next, and so on |
/// | `error`: code | the framework's typed error for that code; with `retryAfterSeconds` for `rate_limited` |
/// | `legacyError`: case name | a `LanguageModelSession.GenerationError` |
/// | `nsError`: `{domain, code, underlying?: [‥]}` | an error of no known type |
///
/// | with any action | |
/// | --- | --- |
/// | `delayMs`, `pieceDelayMs` | waits before the step, and before each piece |
/// | `uncancellable`: true | does not hear of cancellation |
/// | `crashAfter`: n, `once`?: path | the process dies when it has said n pieces; `once` only if it can create that file |
/// | `usage`: `{input, cached, output}` or false | what the step says that it cost |
/// | `reasoning`: text | thinks aloud before |
///
/// | with `toolCalls` | |
/// | --- | --- |
/// | `preamble`: text | says something before it calls |
/// | `fragments`: n | arguments come in so many pieces; those of several calls alternate |
/// | `removed`: ids | takes calls back |
/// | of a call, `argumentsText` | arguments as the model wrote them, JSON or not |
struct ScriptStep: Sendable {
    enum Action: Sendable {
        case text(String)
        case template(String)
        case json(GeneratedContent)
        case replacements([String])
        case toolCalls([Call])
        case failure(ScriptedFailure)
    }

    struct Call: Sendable {
        let id: String?
        let name: String
        let arguments: String
    }

    enum ReportedUsage: Sendable {
        case counted
        case told(input: Int, cached: Int, output: Int)
        case none
    }

    let action: Action
    var chunks = 3
    var delay = 0
    var pieceDelay = 0
    var isUncancellable = false
    var crashAfter: Int?
    var mark: String?
    var usage = ReportedUsage.counted
    var reasoning: String?
    var preamble: String?
    var fragments = 1
    var removed: [String] = []

    init(_ action: Action) {
        self.action = action
    }

    init(_ content: GeneratedContent) throws {
        action = try Self.action(content)
        chunks = max(content["chunks"]?.integer ?? 3, 1)
        delay = content["delayMs"]?.integer ?? 0
        pieceDelay = content["pieceDelayMs"]?.integer ?? 0
        isUncancellable = content["uncancellable"]?.bool ?? false
        crashAfter = content["crashAfter"]?.integer
        mark = content["once"]?.text
        reasoning = content["reasoning"]?.text
        preamble = content["preamble"]?.text
        fragments = max(content["fragments"]?.integer ?? 1, 1)
        removed = content["removed"]?.elements?.compactMap(\.text) ?? []
        if content["usage"]?.bool == false {
            usage = .none
        } else if let told = content["usage"] {
            usage = .told(
                input: told["input"]?.integer ?? 0,
                cached: told["cached"]?.integer ?? 0,
                output: told["output"]?.integer ?? 0)
        }
    }

    private static func action(_ content: GeneratedContent) throws -> Action {
        if let text = content["text"]?.text { return .text(text) }
        if let calls = content["toolCalls"]?.elements { return .toolCalls(try calls.map(call)) }
        if case .structure(let members, _) = content.kind, let value = members["json"] { return .json(value) }
        if let template = content["template"]?.text { return .template(template) }
        if let texts = content["replacements"]?.elements { return .replacements(texts.compactMap(\.text)) }
        if let failure = try ScriptedFailure(content) { return .failure(failure) }
        throw ScriptError("A step tells nothing to do: \(content.jsonString)")
    }

    private static func call(_ content: GeneratedContent) throws -> Call {
        guard let name = content["name"]?.text else { throw ScriptError("A call has no name: \(content.jsonString)") }
        let arguments = content["argumentsText"]?.text ?? content["arguments"]?.jsonString ?? "{}"
        return Call(id: content["id"]?.text, name: name, arguments: arguments)
    }
}
