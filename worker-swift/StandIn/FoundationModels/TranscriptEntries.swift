// What the entries of a transcript hold.

import Foundation

@available(macOS 26.0, *)
extension Transcript {
    public struct Instructions: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var segments: [Segment]
        public var toolDefinitions: [ToolDefinition]

        public init(id: String = UUID().uuidString, segments: [Segment], toolDefinitions: [ToolDefinition]) {
            self.id = id
            self.segments = segments
            self.toolDefinitions = toolDefinitions
        }

        public var description: String { segments.text }
    }

    public struct ToolDefinition: Sendable, Equatable {
        public var name: String
        public var description: String
        var form: GenerationSchema

        @available(macOS 27.0, *)
        public var parameters: GenerationSchema {
            get { form }
            set { form = newValue }
        }

        public init(name: String, description: String, parameters: GenerationSchema) {
            self.name = name
            self.description = description
            form = parameters
        }

        public init(tool: some Tool) {
            self.init(name: tool.name, description: tool.description, parameters: tool.parameters)
        }
    }

    public struct Prompt: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var segments: [Segment]
        public var options: GenerationOptions
        public var responseFormat: ResponseFormat?
        @available(macOS 27.0, *)
        public var contextOptions: ContextOptions {
            get { context }
            set { context = newValue }
        }
        @available(macOS 27.0, *)
        public var metadata: [String: GeneratedContent] { facts }
        private var context = ContextOptions()
        private var facts: [String: GeneratedContent] = [:]

        public init(
            id: String = UUID().uuidString,
            segments: [Segment],
            options: GenerationOptions = GenerationOptions(),
            responseFormat: ResponseFormat? = nil
        ) {
            self.id = id
            self.segments = segments
            self.options = options
            self.responseFormat = responseFormat
        }

        @available(macOS 27.0, *)
        public init(
            id: String = UUID().uuidString,
            metadata: [String: any ConvertibleToGeneratedContent] = [:],
            segments: [Segment],
            options: GenerationOptions = GenerationOptions(),
            responseFormat: ResponseFormat? = nil,
            contextOptions: ContextOptions = ContextOptions()
        ) {
            self.init(id: id, segments: segments, options: options, responseFormat: responseFormat)
            context = contextOptions
            facts = metadata.mapValues(\.generatedContent)
        }

        public var description: String { segments.text }
    }

    public struct ResponseFormat: Sendable, Equatable {
        let schema: GenerationSchema

        public var name: String { schema.name }

        public init(schema: GenerationSchema) {
            self.schema = schema
        }

        @available(macOS 27.0, *)
        public var kind: Kind { .schema(schema) }

        @available(macOS 27.0, *)
        public enum Kind: Sendable, Equatable {
            case schema(GenerationSchema)
        }
    }

    public struct ToolCalls: Sendable, Identifiable, Equatable, RandomAccessCollection, CustomStringConvertible {
        public var id: String
        private var calls: [ToolCall]

        public init<S>(id: String = UUID().uuidString, _ calls: S) where S: Sequence, S.Element == ToolCall {
            self.id = id
            self.calls = Array(calls)
        }

        public var startIndex: Int { calls.startIndex }
        public var endIndex: Int { calls.endIndex }
        public subscript(position: Int) -> ToolCall { calls[position] }
        public var description: String { calls.map(\.description).joined(separator: ", ") }
    }

    public struct ToolCall: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var toolName: String
        public var arguments: GeneratedContent

        public init(id: String, toolName: String, arguments: GeneratedContent) {
            self.id = id
            self.toolName = toolName
            self.arguments = arguments
        }

        public var description: String { "\(toolName)(\(arguments.jsonString))" }
    }

    public struct ToolOutput: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var toolName: String
        public var segments: [Segment]

        public init(id: String, toolName: String, segments: [Segment]) {
            self.id = id
            self.toolName = toolName
            self.segments = segments
        }

        public var description: String { segments.text }
    }

    public struct Response: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var assetIDs: [String]
        public var segments: [Segment]

        public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
            self.id = id
            self.assetIDs = assetIDs
            self.segments = segments
        }

        @available(macOS 27.0, *)
        public init(
            id: String = UUID().uuidString,
            metadata: [String: any ConvertibleToGeneratedContent] = [:],
            segments: [Segment]
        ) {
            self.init(id: id, assetIDs: [], segments: segments)
        }

        public var description: String { segments.text }
    }

    @available(macOS 27.0, *)
    public struct Reasoning: Sendable, Identifiable, Equatable, CustomStringConvertible {
        public var id: String
        public var segments: [Segment]
        public var signature: Data?

        public init(
            id: String = UUID().uuidString,
            metadata: [String: any ConvertibleToGeneratedContent] = [:],
            segments: [Segment],
            signature: Data? = nil
        ) {
            self.id = id
            self.segments = segments
            self.signature = signature
        }

        public var description: String { segments.text }
    }
}

extension [Transcript.Segment] {
    /// The texts as they are, values as JSON.
    var text: String {
        map(\.description).joined()
    }
}
