// What can be put before a model as text.

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol PromptRepresentable {
    var promptRepresentation: Prompt { get }
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol InstructionsRepresentable {
    var instructionsRepresentation: Instructions { get }
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct Prompt: Sendable, PromptRepresentable {
    let text: String

    init(text: String) {
        self.text = text
    }

    public init(_ content: some PromptRepresentable) {
        self = content.promptRepresentation
    }

    public var promptRepresentation: Prompt { self }
}

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public struct Instructions: Sendable, InstructionsRepresentable {
    let text: String

    init(text: String) {
        self.text = text
    }

    public init(_ content: some InstructionsRepresentable) {
        self = content.instructionsRepresentation
    }

    public var instructionsRepresentation: Instructions { self }
}
