// A conversation as the framework keeps it: entries, each made of segments.

import Foundation

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct Transcript: Sendable, Equatable, RandomAccessCollection {
    public typealias Index = Int
    public typealias Element = Entry

    var entries: [Entry]

    public init(entries: some Sequence<Entry> = []) {
        self.entries = Array(entries)
    }

    public var startIndex: Int { entries.startIndex }
    public var endIndex: Int { entries.endIndex }

    public subscript(index: Int) -> Entry {
        get { entries[index] }
        set { entries[index] = newValue }
    }

    public enum Entry: Sendable, Identifiable, Equatable, CustomStringConvertible {
        case instructions(Instructions)
        case prompt(Prompt)
        case toolCalls(ToolCalls)
        case toolOutput(ToolOutput)
        case response(Response)
        @available(macOS 27.0, *)
        case reasoning(Reasoning)

        public var id: String {
            switch self {
            case .instructions(let entry): entry.id
            case .prompt(let entry): entry.id
            case .toolCalls(let entry): entry.id
            case .toolOutput(let entry): entry.id
            case .response(let entry): entry.id
            case .reasoning(let entry): entry.id
            }
        }

        public var description: String { "Entry(\(id))" }
    }

    public enum Segment: Sendable, Identifiable, Equatable, CustomStringConvertible {
        case text(TextSegment)
        case structure(StructuredSegment)
        @available(macOS 27.0, *)
        case attachment(AttachmentSegment)

        public var id: String {
            switch self {
            case .text(let segment): segment.id
            case .structure(let segment): segment.id
            case .attachment(let segment): segment.id
            }
        }

        public var description: String {
            switch self {
            case .text(let segment): segment.content
            case .structure(let segment): segment.content.jsonString
            case .attachment: ""
            }
        }
    }

    public struct TextSegment: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var content: String

        public init(id: String = UUID().uuidString, content: String) {
            self.id = id
            self.content = content
        }

        public var description: String { content }
    }

    public struct StructuredSegment: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var schemaName: String
        public var content: GeneratedContent

        @available(macOS 27.0, *)
        public init(id: String = UUID().uuidString, schemaName: String, content: GeneratedContent) {
            self.id = id
            self.schemaName = schemaName
            self.content = content
        }

        @available(macOS, introduced: 26.0, deprecated: 27.0)
        public init(id: String = UUID().uuidString, source: String, content: GeneratedContent) {
            self.id = id
            self.schemaName = source
            self.content = content
        }

        public var description: String { content.jsonString }
    }

    @available(macOS 27.0, *)
    public struct AttachmentSegment: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var content: Attachment
        public var label: String?

        public init(id: String = UUID().uuidString, content: Attachment, label: String? = nil) {
            self.id = id
            self.content = content
            self.label = label
        }

        public var description: String { label ?? id }
    }

    @available(macOS 27.0, *)
    public enum Attachment: Sendable, Equatable {
        case image(ImageAttachment)
    }

    /// Apple's is made of images of several kinds; here, only of where one is.
    @available(macOS 27.0, *)
    public struct ImageAttachment: Sendable, Equatable {
        private let file: URL

        public var url: URL? { file }

        public init(imageURL: URL) {
            file = imageURL
        }
    }
}
