// The form of a structured answer, or of a tool's arguments.
//
// Decodes what Apple's was seen to decode, and refuses what that was seen to refuse: an object without title, required,
// additionalProperties or x-order; a choice without a title; arrays of types; allOf. What Apple drops in silence
// (lengths, formats, multiples) is dropped here.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct GenerationSchema: Sendable, Equatable, Codable, CustomDebugStringConvertible {
    let root: SchemaNode
    let definitions: [String: SchemaNode]

    static let anything = GenerationSchema(
        root: SchemaNode(form: .string(choices: nil, pattern: nil), description: nil), definitions: [:])

    private enum Keys: String, CodingKey {
        case definitions = "$defs"
    }

    init(root: SchemaNode, definitions: [String: SchemaNode]) {
        self.root = root
        self.definitions = definitions
    }

    public init(from decoder: any Decoder) throws {
        root = try SchemaNode(from: decoder)
        let keyed = try decoder.container(keyedBy: Keys.self)
        definitions = try keyed.decodeIfPresent([String: SchemaNode].self, forKey: .definitions) ?? [:]
    }

    public func encode(to encoder: any Encoder) throws {
        try root.encode(to: encoder)
        if !definitions.isEmpty {
            var keyed = encoder.container(keyedBy: Keys.self)
            try keyed.encode(definitions, forKey: .definitions)
        }
    }

    @available(macOS 27.0, *)
    public var name: String {
        switch root.form {
        case .object(let object): object.title
        case .anyOf(let title, _): title
        default: ""
        }
    }

    public var debugDescription: String {
        let data = try? JSONEncoder().encode(self)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "GenerationSchema"
    }
}

/// A node of a schema.
struct SchemaNode: Sendable, Equatable, Codable {
    let form: Form
    let description: String?

    struct Object: Sendable, Equatable {
        let title: String
        let properties: [String: SchemaNode]
        let required: [String]
        let additionalProperties: Bool
        let order: [String]
    }

    indirect enum Form: Sendable, Equatable {
        case object(Object)
        case array(items: SchemaNode, minimum: Int?, maximum: Int?)
        case string(choices: [String]?, pattern: String?)
        case integer(minimum: Double?, maximum: Double?)
        case number(minimum: Double?, maximum: Double?)
        case boolean
        case null
        case constant(SchemaConstant)
        case reference(String)
        case anyOf(title: String, [SchemaNode])
    }

    private enum Keys: String, CodingKey {
        case type, title, description, properties, required, additionalProperties, items, minItems, maxItems
        case minimum, maximum, pattern, anyOf, allOf
        case order = "x-order"
        case choices = "enum"
        case constant = "const"
        case reference = "$ref"
    }

    init(form: Form, description: String?) {
        self.form = form
        self.description = description
    }

    init(from decoder: any Decoder) throws {
        let keyed = try decoder.container(keyedBy: Keys.self)
        description = try keyed.decodeIfPresent(String.self, forKey: .description)
        if keyed.contains(.allOf) {
            throw DecodingError.dataCorruptedError(forKey: .allOf, in: keyed, debugDescription: "allOf is not supported.")
        }
        if let reference = try keyed.decodeIfPresent(String.self, forKey: .reference) {
            form = .reference(reference)
        } else if let choices = try keyed.decodeIfPresent([SchemaNode].self, forKey: .anyOf) {
            form = .anyOf(title: try keyed.decode(String.self, forKey: .title), choices)
        } else if keyed.contains(.constant) {
            form = .constant(try keyed.decode(SchemaConstant.self, forKey: .constant))
        } else {
            form = try Self.form(keyed)
        }
    }

    private static func form(_ keyed: KeyedDecodingContainer<Keys>) throws -> Form {
        switch try keyed.decode(String.self, forKey: .type) {
        case "object":
            .object(Object(
                title: try keyed.decode(String.self, forKey: .title),
                properties: try keyed.decode([String: SchemaNode].self, forKey: .properties),
                required: try keyed.decode([String].self, forKey: .required),
                additionalProperties: try keyed.decode(Bool.self, forKey: .additionalProperties),
                order: try keyed.decode([String].self, forKey: .order)))
        case "array":
            .array(
                items: try keyed.decode(SchemaNode.self, forKey: .items),
                minimum: try keyed.decodeIfPresent(Int.self, forKey: .minItems),
                maximum: try keyed.decodeIfPresent(Int.self, forKey: .maxItems))
        case "string":
            .string(
                choices: try keyed.decodeIfPresent([String].self, forKey: .choices),
                pattern: try keyed.decodeIfPresent(String.self, forKey: .pattern))
        case "integer":
            .integer(
                minimum: try keyed.decodeIfPresent(Double.self, forKey: .minimum),
                maximum: try keyed.decodeIfPresent(Double.self, forKey: .maximum))
        case "number":
            .number(
                minimum: try keyed.decodeIfPresent(Double.self, forKey: .minimum),
                maximum: try keyed.decodeIfPresent(Double.self, forKey: .maximum))
        case "boolean": .boolean
        case "null": .null
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: keyed, debugDescription: "There is no type '\(type)'.")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var keyed = encoder.container(keyedBy: Keys.self)
        try keyed.encodeIfPresent(description, forKey: .description)
        switch form {
        case .object(let object):
            try keyed.encode("object", forKey: .type)
            try keyed.encode(object.title, forKey: .title)
            try keyed.encode(object.properties, forKey: .properties)
            try keyed.encode(object.required, forKey: .required)
            try keyed.encode(object.additionalProperties, forKey: .additionalProperties)
            try keyed.encode(object.order, forKey: .order)
        case .array(let items, let minimum, let maximum):
            try keyed.encode("array", forKey: .type)
            try keyed.encode(items, forKey: .items)
            try keyed.encodeIfPresent(minimum, forKey: .minItems)
            try keyed.encodeIfPresent(maximum, forKey: .maxItems)
        case .string(let choices, let pattern):
            try keyed.encode("string", forKey: .type)
            try keyed.encodeIfPresent(choices, forKey: .choices)
            try keyed.encodeIfPresent(pattern, forKey: .pattern)
        case .integer(let minimum, let maximum):
            try keyed.encode("integer", forKey: .type)
            try keyed.encodeIfPresent(minimum, forKey: .minimum)
            try keyed.encodeIfPresent(maximum, forKey: .maximum)
        case .number(let minimum, let maximum):
            try keyed.encode("number", forKey: .type)
            try keyed.encodeIfPresent(minimum, forKey: .minimum)
            try keyed.encodeIfPresent(maximum, forKey: .maximum)
        case .boolean: try keyed.encode("boolean", forKey: .type)
        case .null: try keyed.encode("null", forKey: .type)
        case .constant(let constant): try keyed.encode(constant, forKey: .constant)
        case .reference(let reference): try keyed.encode(reference, forKey: .reference)
        case .anyOf(let title, let choices):
            try keyed.encode(title, forKey: .title)
            try keyed.encode(choices, forKey: .anyOf)
        }
    }
}

/// The only value that a node allows.
enum SchemaConstant: Sendable, Equatable, Codable {
    case string(String)
    case bool(Bool)
    case number(Double)
    case null

    init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
        } else if let value = try? single.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? single.decode(Double.self) {
            self = .number(value)
        } else {
            self = .string(try single.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .string(let value): try single.encode(value)
        case .bool(let value): try single.encode(value)
        case .number(let value): try single.encode(value)
        case .null: try single.encodeNil()
        }
    }

    var content: GeneratedContent {
        switch self {
        case .string(let value): GeneratedContent(kind: .string(value))
        case .bool(let value): GeneratedContent(kind: .bool(value))
        case .number(let value): GeneratedContent(kind: .number(value))
        case .null: GeneratedContent(kind: .null)
        }
    }
}
