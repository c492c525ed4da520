// A step's request in the framework's words: transcript, tools, schema, options.

import Foundation
import FoundationModels
import WorkerProtocol

/// A request that the framework can be asked.
struct FrameworkRequest: Sendable {
    let transcript: Transcript
    let tools: [Transcript.ToolDefinition]
    let schema: GenerationSchema?
    let options: FoundationModels.GenerationOptions
    /// What was left out of the transcript because it cannot be used: a sentence for each kind.
    let omissions: [String]
}

/// What a model takes beside text.
struct ModelSenses: OptionSet {
    let rawValue: Int
    static let reasoning = ModelSenses(rawValue: 1)
    static let images = ModelSenses(rawValue: 2)
}

extension FrameworkRequest {
    /// - Throws: ``Failure`` with `invalid_schema` or `invalid_request`.
    init(_ step: Generate, senses: ModelSenses, schemas: SchemaStore) throws {
        guard step.toolMode != .required || !step.tools.isEmpty else {
            throw Failure(.invalidRequest, "The step requires a tool call and has no tools.")
        }
        let tools = try step.tools.map { tool in
            Transcript.ToolDefinition(
                name: tool.name,
                description: tool.description,
                parameters: try schemas.schema(tool.parameters, of: "tool '\(tool.name)'"))
        }
        let schema = try step.schema.map { try schemas.schema($0, of: "the answer") }
        var options = FoundationModels.GenerationOptions(step.options)
        if #available(macOS 27.0, *) {
            options = options.calling(step.toolMode, ofTools: tools.count)
        }
        var writer = TranscriptWriter(senses: senses)
        let transcript = try writer.transcript(of: step, tools: tools, schema: schema, options: options)
        self.init(
            transcript: transcript, tools: tools, schema: schema, options: options, omissions: writer.omissions)
    }
}
