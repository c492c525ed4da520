// Values that a model generates, or that are put before it.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct GenerationID: Sendable, Hashable {
    private let id = UUID()

    public init() {}
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol ConvertibleFromGeneratedContent {
    init(_ content: GeneratedContent) throws
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol ConvertibleToGeneratedContent: InstructionsRepresentable, PromptRepresentable {
    var generatedContent: GeneratedContent { get }
}

@available(macOS 26.0, *)
extension ConvertibleToGeneratedContent {
    public var promptRepresentation: Prompt { Prompt(text: generatedContent.jsonString) }
    public var instructionsRepresentation: Instructions { Instructions(text: generatedContent.jsonString) }
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol Generable: ConvertibleFromGeneratedContent, ConvertibleToGeneratedContent {
    associatedtype PartiallyGenerated: ConvertibleFromGeneratedContent = Self
    static var generationSchema: GenerationSchema { get }
}

/// See Apple's documentation of the same name. Like Apple's it counts in doubles, and takes its id into account when
/// it is compared.
@available(macOS 26.0, *)
public struct GeneratedContent: Sendable, Equatable, Generable, CustomDebugStringConvertible {
    public var id: GenerationID?
    public let kind: Kind
    public let isComplete: Bool

    public enum Kind: Equatable, Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([GeneratedContent])
        case structure(properties: [String: GeneratedContent], orderedKeys: [String])
    }

    public init(kind: Kind, id: GenerationID? = nil) {
        self.init(kind: kind, id: id, isComplete: true)
    }

    init(kind: Kind, id: GenerationID?, isComplete: Bool) {
        self.kind = kind
        self.id = id
        self.isComplete = isComplete
    }

    /// Reads JSON that may end anywhere.
    public init(json: String) throws {
        var reader = JSONReader(json)
        self = try reader.readAll()
        id = GenerationID()
    }

    public init(_ content: GeneratedContent) throws {
        self = content
    }

    public init(_ value: some ConvertibleToGeneratedContent) {
        self = value.generatedContent
    }

    public init<S>(
        properties: S,
        id: GenerationID? = nil,
        uniquingKeysWith combine: (GeneratedContent, GeneratedContent) throws -> some ConvertibleToGeneratedContent
    ) rethrows where S: Sequence, S.Element == (String, any ConvertibleToGeneratedContent) {
        var members: [String: GeneratedContent] = [:]
        var keys: [String] = []
        for (key, value) in properties {
            if let earlier = members[key] {
                members[key] = try combine(earlier, value.generatedContent).generatedContent
            } else {
                members[key] = value.generatedContent
                keys.append(key)
            }
        }
        self.init(kind: .structure(properties: members, orderedKeys: keys), id: id)
    }

    public var generatedContent: GeneratedContent { self }
    public var jsonString: String { JSONWriter.text(of: self) }
    public var debugDescription: String { jsonString }
    public static var generationSchema: GenerationSchema { GenerationSchema.anything }

    @available(macOS 27.0, *)
    public struct ParsingError: LocalizedError, Sendable, CustomDebugStringConvertible {
        public var rawContent: String
        public var underlyingError: (any Error)?
        public var debugDescription: String

        public init(rawContent: String, underlyingError: (any Error)? = nil, debugDescription: String) {
            self.rawContent = rawContent
            self.underlyingError = underlyingError
            self.debugDescription = debugDescription
        }
    }
}

@available(macOS 26.0, *)
extension String: Generable {
    public init(_ content: GeneratedContent) throws {
        guard case .string(let text) = content.kind else {
            throw DecodingError.typeMismatch(
                String.self, DecodingError.Context(codingPath: [], debugDescription: "The value is not a string."))
        }
        self = text
    }

    public var generatedContent: GeneratedContent { GeneratedContent(kind: .string(self)) }
    public static var generationSchema: GenerationSchema { GenerationSchema.anything }
    public var promptRepresentation: Prompt { Prompt(text: self) }
    public var instructionsRepresentation: Instructions { Instructions(text: self) }
}
