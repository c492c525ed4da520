// The transcript as JSON.
//
// The forms of attachments and of a reasoning's signature are not known; those here are made up.

import Foundation

@available(macOS 26.0, *)
extension Transcript: Codable {
    private enum Envelope: String, CodingKey {
        case type, version, transcript
    }

    private enum Body: String, CodingKey {
        case entries
    }

    private static let typeName = "FoundationModels.Transcript"

    public init(from decoder: any Decoder) throws {
        let envelope = try decoder.container(keyedBy: Envelope.self)
        guard try envelope.decode(String.self, forKey: .type) == Self.typeName else {
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: envelope, debugDescription: "It is not a transcript.")
        }
        let body = try envelope.nestedContainer(keyedBy: Body.self, forKey: .transcript)
        entries = try body.decode([Entry].self, forKey: .entries)
    }

    public func encode(to encoder: any Encoder) throws {
        var envelope = encoder.container(keyedBy: Envelope.self)
        try envelope.encode(Self.typeName, forKey: .type)
        try envelope.encode("1.1", forKey: .version)
        var body = envelope.nestedContainer(keyedBy: Body.self, forKey: .transcript)
        try body.encode(entries, forKey: .entries)
    }
}

@available(macOS 26.0, *)
extension Transcript.Entry: Codable {
    private enum Keys: String, CodingKey {
        case role, id, contents, tools, toolCalls, toolCallID, toolName, assets, signature
    }

    public init(from decoder: any Decoder) throws {
        let keyed = try decoder.container(keyedBy: Keys.self)
        let id = try keyed.decode(String.self, forKey: .id)
        func segments() throws -> [Transcript.Segment] {
            try keyed.decode([Transcript.Segment].self, forKey: .contents)
        }
        switch try keyed.decode(String.self, forKey: .role) {
        case "instructions":
            let tools = try keyed.decodeIfPresent([CodedTool].self, forKey: .tools) ?? []
            self = .instructions(.init(id: id, segments: try segments(), toolDefinitions: tools.map(\.definition)))
        case "user":
            self = .prompt(.init(id: id, segments: try segments()))
        case "response" where keyed.contains(.toolCalls):
            let calls = try keyed.decode([CodedCall].self, forKey: .toolCalls)
            self = .toolCalls(.init(id: id, try calls.map { try $0.call() }))
        case "response":
            let assets = try keyed.decodeIfPresent([String].self, forKey: .assets) ?? []
            self = .response(.init(id: id, assetIDs: assets, segments: try segments()))
        case "tool":
            let name = try keyed.decode(String.self, forKey: .toolName)
            let call = try keyed.decode(String.self, forKey: .toolCallID)
            self = .toolOutput(.init(id: call, toolName: name, segments: try segments()))
        case "reasoning":
            let signature = try keyed.decodeIfPresent(Data.self, forKey: .signature)
            self = .reasoning(.init(id: id, segments: try segments(), signature: signature))
        case let role:
            throw DecodingError.dataCorruptedError(
                forKey: .role, in: keyed, debugDescription: "There is no role '\(role)'.")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var keyed = encoder.container(keyedBy: Keys.self)
        try keyed.encode(id, forKey: .id)
        switch self {
        case .instructions(let entry):
            try keyed.encode("instructions", forKey: .role)
            try keyed.encode(entry.segments, forKey: .contents)
            if !entry.toolDefinitions.isEmpty {
                try keyed.encode(entry.toolDefinitions.map(CodedTool.init), forKey: .tools)
            }
        case .prompt(let entry):
            try keyed.encode("user", forKey: .role)
            try keyed.encode(entry.segments, forKey: .contents)
        case .toolCalls(let entry):
            try keyed.encode("response", forKey: .role)
            try keyed.encode(entry.map(CodedCall.init), forKey: .toolCalls)
        case .toolOutput(let entry):
            try keyed.encode("tool", forKey: .role)
            try keyed.encode(entry.id, forKey: .toolCallID)
            try keyed.encode(entry.toolName, forKey: .toolName)
            try keyed.encode(entry.segments, forKey: .contents)
        case .response(let entry):
            try keyed.encode("response", forKey: .role)
            try keyed.encode(entry.assetIDs, forKey: .assets)
            try keyed.encode(entry.segments, forKey: .contents)
        case .reasoning(let entry):
            try keyed.encode("reasoning", forKey: .role)
            try keyed.encode(entry.segments, forKey: .contents)
            try keyed.encodeIfPresent(entry.signature, forKey: .signature)
        }
    }
}

private struct CodedCall: Codable {
    let id: String
    let name: String
    let arguments: String

    init(_ call: Transcript.ToolCall) {
        id = call.id
        name = call.toolName
        arguments = call.arguments.jsonString
    }

    func call() throws -> Transcript.ToolCall {
        Transcript.ToolCall(id: id, toolName: name, arguments: try GeneratedContent(json: arguments))
    }
}

private struct CodedTool: Codable {
    struct Function: Codable {
        let name: String
        let description: String
        let parameters: GenerationSchema
    }

    let type: String
    let function: Function

    init(_ tool: Transcript.ToolDefinition) {
        type = "function"
        function = Function(name: tool.name, description: tool.description, parameters: tool.form)
    }

    var definition: Transcript.ToolDefinition {
        Transcript.ToolDefinition(
            name: function.name, description: function.description, parameters: function.parameters)
    }
}

@available(macOS 26.0, *)
extension Transcript.Segment: Codable {
    private enum Keys: String, CodingKey {
        case type, id, text, structure, url, label
    }

    private struct Structure: Codable {
        let source: String
        let content: CodedContent
    }

    public init(from decoder: any Decoder) throws {
        let keyed = try decoder.container(keyedBy: Keys.self)
        let id = try keyed.decode(String.self, forKey: .id)
        switch try keyed.decode(String.self, forKey: .type) {
        case "text":
            self = .text(.init(id: id, content: try keyed.decode(String.self, forKey: .text)))
        case "structure":
            let structure = try keyed.decode(Structure.self, forKey: .structure)
            self = .structure(.init(id: id, schemaName: structure.source, content: structure.content.content))
        case "image":
            let image = Transcript.ImageAttachment(imageURL: try keyed.decode(URL.self, forKey: .url))
            let label = try keyed.decodeIfPresent(String.self, forKey: .label)
            self = .attachment(.init(id: id, content: .image(image), label: label))
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: keyed, debugDescription: "There is no segment '\(type)'.")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var keyed = encoder.container(keyedBy: Keys.self)
        try keyed.encode(id, forKey: .id)
        switch self {
        case .text(let segment):
            try keyed.encode("text", forKey: .type)
            try keyed.encode(segment.content, forKey: .text)
        case .structure(let segment):
            try keyed.encode("structure", forKey: .type)
            let content = CodedContent(content: segment.content)
            try keyed.encode(Structure(source: segment.schemaName, content: content), forKey: .structure)
        case .attachment(let segment):
            guard case .image(let image) = segment.content else { return }
            try keyed.encode("image", forKey: .type)
            try keyed.encodeIfPresent(image.url, forKey: .url)
            try keyed.encodeIfPresent(segment.label, forKey: .label)
        }
    }
}

/// Content as plain JSON. The order of members is lost on the way.
private struct CodedContent: Codable {
    let content: GeneratedContent

    init(content: GeneratedContent) {
        self.content = content
    }

    init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        let kind: GeneratedContent.Kind
        if single.decodeNil() {
            kind = .null
        } else if let value = try? single.decode(Bool.self) {
            kind = .bool(value)
        } else if let value = try? single.decode(Double.self) {
            kind = .number(value)
        } else if let value = try? single.decode(String.self) {
            kind = .string(value)
        } else if let value = try? single.decode([CodedContent].self) {
            kind = .array(value.map(\.content))
        } else {
            let members = try single.decode([String: CodedContent].self).mapValues(\.content)
            kind = .structure(properties: members, orderedKeys: members.keys.sorted())
        }
        content = GeneratedContent(kind: kind)
    }

    func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        switch content.kind {
        case .null: try single.encodeNil()
        case .bool(let value): try single.encode(value)
        case .number(let value): try single.encode(value)
        case .string(let value): try single.encode(value)
        case .array(let elements): try single.encode(elements.map(CodedContent.init))
        case .structure(let members, _): try single.encode(members.mapValues(CodedContent.init))
        }
    }
}
