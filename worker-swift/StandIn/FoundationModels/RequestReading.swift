// What a script, or an answer that is made up, looks at in a request.

extension Transcript {
    private static let scriptLine = "oam-script:"

    /// How many inferences the conversation is made of.
    var inferences: Int {
        reduce(0) { count, entry in
            switch entry {
            case .response, .toolCalls: count + 1
            default: count
            }
        }
    }

    var hasAnOutputForEveryCall: Bool {
        var open: Set<String> = []
        for entry in self {
            switch entry {
            case .toolCalls(let calls): open.formUnion(calls.map(\.id))
            case .toolOutput(let output): if open.remove(output.id) == nil { return false }
            default: break
            }
        }
        return open.isEmpty
    }

    /// The script that the instructions hold, and its text.
    var ownScript: (text: String, script: Script)? {
        get throws {
            guard case .instructions(let instructions)? = first else { return nil }
            let lines = instructions.segments.text.split(separator: "\n")
            guard let line = lines.first(where: { $0.hasPrefix(Self.scriptLine) }) else { return nil }
            let text = String(line.dropFirst(Self.scriptLine.count))
            return try Script(GeneratedContent(json: text)).map { (text, $0) }
        }
    }

    /// The last prompt that says or shows something: one that does not goes on with the turn.
    private var prompt: [Segment] {
        for case .prompt(let prompt) in reversed() where prompt.segments.areNotBlank { return prompt.segments }
        return []
    }

    var lastPrompt: String { prompt.text }

    /// The names of the files of the images that it shows.
    private var shown: [String] {
        prompt.compactMap { segment in
            guard case .attachment(let attachment) = segment, case .image(let image) = attachment.content else { return nil }
            return image.url?.lastPathComponent
        }
    }

    /// The outputs of the turn in progress.
    var outputs: [ToolOutput] {
        var outputs: [ToolOutput] = []
        for entry in reversed() {
            switch entry {
            case .toolOutput(let output): outputs.append(output)
            case .prompt(let prompt) where prompt.segments.areNotBlank: return outputs.reversed()
            default: break
            }
        }
        return outputs.reversed()
    }

    func fillIn(_ template: String) -> String {
        let texts = outputs.map(\.segments.text)
        return template
            .replacing("{prompt}", with: lastPrompt)
            .replacing("{images}", with: shown.joined(separator: ", "))
            .replacing("{toolOutputs}", with: texts.joined(separator: "\n"))
            .replacing("{toolOutput}", with: texts.last ?? "")
    }
}

extension [Transcript.Segment] {
    fileprivate var areNotBlank: Bool {
        contains { if case .attachment = $0 { true } else { !$0.description.isEmpty } }
    }
}

/// An answer without a script: made from the request, and the same for the same request.
enum MadeUpAnswer {
    static func step(for request: LanguageModelExecutorGenerationRequest) -> ScriptStep {
        if request.generationOptions.toolCallingMode == .required, let tool = request.enabledToolDefinitions.first {
            let arguments = LeastValue(schema: tool.form).content.jsonString
            return counted(.toolCalls([.init(id: nil, name: tool.name, arguments: arguments)]), request, output: 4)
        }
        if let schema = request.schema {
            return counted(.json(LeastValue(schema: schema).content), request, output: 8)
        }
        let prompt = request.transcript.lastPrompt
        var text = prompt.isEmpty ? "You say nothing." : "You say: \(prompt)"
        for output in request.transcript.outputs { text += " And \(output.toolName) tells me: \(output.segments.text)" }
        return counted(.text(text), request, output: text.utf8.count.dividedUp(by: 4))
    }

    private static func counted(
        _ action: ScriptStep.Action, _ request: LanguageModelExecutorGenerationRequest, output: Int
    ) -> ScriptStep {
        var step = ScriptStep(action)
        step.usage = .told(input: TokenEstimate.tokens(of: request.transcript), cached: 0, output: output)
        return step
    }
}

/// The least value that fits a schema: no optional members, the first choice, the shortest array, the lowest number.
struct LeastValue {
    let schema: GenerationSchema
    private static let deepest = 32

    init(schema: GenerationSchema) {
        self.schema = schema
    }

    var content: GeneratedContent { value(schema.root, depth: 0) }

    private func value(_ node: SchemaNode, depth: Int) -> GeneratedContent {
        guard depth < Self.deepest else { return GeneratedContent(kind: .null) }
        switch node.form {
        case .object(let object):
            let keys = object.order.filter(object.required.contains)
            let members = keys.compactMap { key in
                object.properties[key].map { (key, value($0, depth: depth + 1)) }
            }
            let properties = Dictionary(members) { first, _ in first }
            return GeneratedContent(kind: .structure(properties: properties, orderedKeys: members.map(\.0)))
        case .array(let items, let minimum, _):
            let count = min(minimum ?? 0, 100)
            return GeneratedContent(kind: .array((0..<count).map { _ in value(items, depth: depth + 1) }))
        case .string(let choices, _): return GeneratedContent(kind: .string(choices?.first ?? "text"))
        case .integer(let minimum, let maximum), .number(let minimum, let maximum):
            return GeneratedContent(kind: .number(minimum ?? maximum ?? 0))
        case .boolean: return GeneratedContent(kind: .bool(false))
        case .null: return GeneratedContent(kind: .null)
        case .constant(let constant): return constant.content
        case .reference(let reference):
            let name = reference.hasPrefix("#/$defs/") ? String(reference.dropFirst(8)) : ""
            let target = reference == "#" ? schema.root : schema.definitions[name]
            return target.map { value($0, depth: depth + 1) } ?? GeneratedContent(kind: .null)
        case .anyOf(_, let choices):
            return choices.first.map { value($0, depth: depth + 1) } ?? GeneratedContent(kind: .null)
        }
    }
}
