/// One entry of a conversation.
public enum Entry: Sendable, Equatable {
    /// What was asked.
    case prompt([Segment])
    /// The tool calls of one step, in the order in which the model made them.
    case toolCalls([ToolCall])
    /// What a call returned.
    case toolOutput(callID: String, toolName: String, segments: [Segment])
    /// What was answered.
    case response([Segment])
    /// An entry in FoundationModels' transcript form, as it was saved.
    case opaque(ValueObject)
    /// A kind this side does not know; to be left out.
    case unknown(type: String)

    init(_ map: PackMap) throws {
        func segments() throws -> [Segment] { try map.required("segments") { try $0.array { try Segment($0.map()) } } }
        let type = try map.type()
        self =
            switch type {
            case "prompt": .prompt(try segments())
            case "toolCalls": .toolCalls(try map.required("calls") { try $0.array { try ToolCall($0.map()) } })
            case "toolOutput":
                .toolOutput(
                    callID: try map.required("callId") { try $0.text() },
                    toolName: try map.required("toolName") { try $0.text() },
                    segments: try segments())
            case "response": .response(try segments())
            case "opaque": .opaque(try map.required("entry") { try $0.object() })
            default: .unknown(type: type)
            }
    }

    var members: [(String, PackMember)] {
        switch self {
        case .prompt(let segments): [("type", .text("prompt")), ("segments", .maps(segments.map(\.members)))]
        case .toolCalls(let calls): [("type", .text("toolCalls")), ("calls", .maps(calls.map(\.members)))]
        case .toolOutput(let callID, let toolName, let segments):
            [
                ("type", .text("toolOutput")), ("callId", .text(callID)), ("toolName", .text(toolName)),
                ("segments", .maps(segments.map(\.members))),
            ]
        case .response(let segments): [("type", .text("response")), ("segments", .maps(segments.map(\.members)))]
        case .opaque(let entry): [("type", .text("opaque")), ("entry", .object(entry))]
        case .unknown(let type): [("type", .text(type))]
        }
    }
}

/// A part of an entry.
public enum Segment: Sendable, Equatable {
    /// Plain text.
    case text(String)
    /// A value, and the name of its schema.
    case structure(source: String, content: Value)
    /// A segment in FoundationModels' transcript form.
    case attachment(ValueObject)
    /// A kind this side does not know; to be left out.
    case unknown(type: String)

    init(_ map: PackMap) throws {
        let type = try map.type()
        self =
            switch type {
            case "text": .text(try map.required("text") { try $0.text() })
            case "structure":
                .structure(
                    source: try map.required("source") { try $0.text() },
                    content: try map.required("content") { try $0.value() })
            case "attachment": .attachment(try map.required("segment") { try $0.object() })
            default: .unknown(type: type)
            }
    }

    var members: [(String, PackMember)] {
        switch self {
        case .text(let text): [("type", .text("text")), ("text", .text(text))]
        case .structure(let source, let content):
            [("type", .text("structure")), ("source", .text(source)), ("content", .value(content))]
        case .attachment(let segment): [("type", .text("attachment")), ("segment", .object(segment))]
        case .unknown(let type): [("type", .text(type))]
        }
    }
}

/// A tool call.
public struct ToolCall: Sendable, Equatable {
    /// Different for each call of a conversation.
    public var id: String
    /// The tool's name.
    public var name: String
    /// The arguments.
    public var arguments: ValueObject

    public init(id: String, name: String, arguments: ValueObject = ValueObject()) {
        self.id = id
        self.name = name
        self.arguments = arguments
    }

    init(_ map: PackMap) throws {
        id = try map.required("id") { try $0.text() }
        name = try map.required("name") { try $0.text() }
        arguments = try map.defaulted("arguments", ValueObject()) { try $0.object() }
    }

    var members: [(String, PackMember)] {
        [("id", .text(id)), ("name", .text(name)), ("arguments", .object(arguments))]
    }
}
