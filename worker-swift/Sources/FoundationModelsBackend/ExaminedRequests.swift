// What an examination asks the model.

import Foundation
import WorkerProtocol

enum ExaminedRequests {
    static let schema: Value = [
        "title": "Mood", "type": "object",
        "properties": ["reason": ["type": "string"], "mood": ["type": "string", "enum": ["calm", "angry"]]],
        "required": ["reason", "mood"], "additionalProperties": false, "x-order": ["reason", "mood"],
    ]

    static let tool = ToolDefinition(
        name: "open_gate", description: "Opens a named gate. Returns whether it opened.",
        parameters: [
            "title": "open_gate", "type": "object",
            "properties": ["gate": ["type": "string", "description": "Gate name"]],
            "required": ["gate"], "additionalProperties": false, "x-order": ["gate"],
        ])

    static func asking(_ prompt: String) -> Generate {
        Generate(
            id: 0, instructions: "You guard a castle gate. Reply in one sentence.",
            transcript: [.prompt([.text(prompt)])], options: .init(maxResponseTokens: 400), stream: true)
    }

    static var structured: Generate {
        var step = asking("Somebody knocks at night. How do you feel?")
        step.schema = schema
        return step
    }

    static func showing(_ image: URL, _ prompt: String) -> Generate {
        var step = asking(prompt)
        let segment: ValueObject = ["type": "image", "id": "i", "url": .text(image.absoluteString)]
        step.transcript = [.prompt([.attachment(segment), .text(prompt)])]
        return step
    }

    static func calling(_ prompt: String, _ mode: ToolMode) -> Generate {
        var step = asking(prompt)
        step.tools = [tool]
        step.toolMode = mode
        return step
    }
}
