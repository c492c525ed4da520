// What a session calls when its model asks for it.

/// See Apple's documentation of the same name.
@available(macOS 26.0, *)
public protocol Tool<Arguments, Output>: Sendable {
    associatedtype Output: PromptRepresentable
    associatedtype Arguments: ConvertibleFromGeneratedContent
    var name: String { get }
    var description: String { get }
    var parameters: GenerationSchema { get }
    var includesSchemaInInstructions: Bool { get }
    func call(arguments: Self.Arguments) async throws -> Self.Output
}

@available(macOS 26.0, *)
extension Tool {
    public var includesSchemaInInstructions: Bool { true }
}

@available(macOS 26.0, *)
extension Tool {
    /// Calls with arguments as a model made them.
    func call(with content: GeneratedContent) async throws -> String {
        try await call(arguments: Arguments(content)).promptRepresentation.text
    }
}
