// What the events of a channel tell: text that grows or is replaced, tool calls whose arguments grow, usage.

import Foundation

@available(macOS 27.0, *)
extension LanguageModelExecutorGenerationChannel {
    public struct Response: Sendable {
        public var entryID: String?
        public var action: Action

        public struct Action: Sendable {
            let kind: Kind

            enum Kind: Sendable {
                case appendText(TextFragment)
                case replaceTextSegment(TextSegmentReplacement)
                case updateMetadata(Metadata)
                case updateUsage(Usage)
            }

            public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Action {
                Action(kind: .appendText(TextFragment(content: text, segmentID: segmentID, tokenCount: tokenCount)))
            }

            public static func replaceTextSegment(
                _ text: String, segmentID: String? = nil, tokenCount: Int
            ) -> Action {
                Action(kind: .replaceTextSegment(
                    TextSegmentReplacement(content: text, segmentID: segmentID, tokenCount: tokenCount)))
            }

            public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Action {
                Action(kind: .updateMetadata(Metadata(values: values.mapValues(\.generatedContent))))
            }

            public static func updateUsage(
                input: Usage.Input, output: Usage.Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]
            ) -> Action {
                Action(kind: .updateUsage(Usage(input: input, output: output, metadata: metadata)))
            }
        }
    }

    public struct Reasoning: Sendable {
        public var entryID: String?
        public var action: Action

        public struct Action: Sendable {
            let kind: Kind

            enum Kind: Sendable {
                case appendText(TextFragment)
                case updateSignature(ReasoningSignature)
                case updateUsage(Usage)
            }

            public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Action {
                Action(kind: .appendText(TextFragment(content: text, segmentID: segmentID, tokenCount: tokenCount)))
            }

            public static func updateSignature(_ signature: Data, tokenCount: Int) -> Action {
                Action(kind: .updateSignature(ReasoningSignature(signature: signature, tokenCount: tokenCount)))
            }

            public static func updateUsage(
                input: Usage.Input, output: Usage.Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]
            ) -> Action {
                Action(kind: .updateUsage(Usage(input: input, output: output, metadata: metadata)))
            }
        }
    }

    public struct ToolCalls: Sendable {
        public var entryID: String?
        public var action: Action

        public struct Action: Sendable {
            let kind: Kind

            enum Kind: Sendable {
                case toolCall(ToolCall)
                case removeToolCall(id: String)
                case updateMetadata(Metadata)
                case updateUsage(Usage)
            }

            public static func toolCall(id: String, name: String, action: ToolCall.Action) -> Action {
                Action(kind: .toolCall(ToolCall(id: id, name: name, action: action)))
            }

            public static func removeToolCall(id: String) -> Action {
                Action(kind: .removeToolCall(id: id))
            }

            public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Action {
                Action(kind: .updateMetadata(Metadata(values: values.mapValues(\.generatedContent))))
            }

            public static func updateUsage(
                input: Usage.Input, output: Usage.Output, metadata: [String: any ConvertibleToGeneratedContent] = [:]
            ) -> Action {
                Action(kind: .updateUsage(Usage(input: input, output: output, metadata: metadata)))
            }
        }

        public struct ToolCall: Sendable {
            public var id: String
            public var name: String
            public var action: Action

            public struct Action: Sendable {
                let kind: Kind

                enum Kind: Sendable {
                    case appendArguments(ArgumentsFragment)
                    case updateMetadata(Metadata)
                }

                public static func appendArguments(_ content: String, tokenCount: Int) -> Action {
                    Action(kind: .appendArguments(ArgumentsFragment(content: content, tokenCount: tokenCount)))
                }

                public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Action {
                    Action(kind: .updateMetadata(Metadata(values: values.mapValues(\.generatedContent))))
                }
            }

            public struct ArgumentsFragment: Sendable {
                public var content: String
                public var tokenCount: Int
            }
        }
    }
}
