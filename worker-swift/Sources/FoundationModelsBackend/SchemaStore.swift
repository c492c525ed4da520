// Schemas as the framework takes them.
//
// They arrive in the dialect that the framework's own type decodes, so nothing is converted here. The same tools and
// schemas come with step after step; those that were decoded are kept.

import Foundation
import FoundationModels
import WorkerProtocol

final class SchemaStore: Sendable {
    /// More than the tools of one step usually are.
    private static let kept = 256

    /// By their JSON in bytes: texts that only look the same are two schemas.
    private let decoded = Guarded<[[UInt8]: GenerationSchema]>([:])

    /// The schema that a value says.
    ///
    /// - Parameter owner: whose it is, for the message: "tool 'open_gate'".
    /// - Throws: ``Failure`` with the code `invalid_schema`.
    func schema(_ value: Value, of owner: String) throws -> GenerationSchema {
        let json = Array(value.jsonText.utf8)
        if let known = decoded.withValue({ $0[json] }) { return known }
        let schema: GenerationSchema
        do {
            schema = try JSONDecoder().decode(GenerationSchema.self, from: Data(json))
        } catch {
            throw Failure(.invalidSchema, "The schema of \(owner) cannot be used: \(Self.reason(error)).")
        }
        decoded.withValue { known in
            if known.count >= Self.kept { known.removeAll() }
            known[json] = schema
        }
        return schema
    }

    private static func reason(_ error: any Error) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + (key.map { [$0] } ?? [])).map { $0.intValue.map(String.init) ?? $0.stringValue }
            return path.isEmpty ? "at its root" : "at '\(path.joined(separator: "."))'"
        }
        switch error {
        case DecodingError.keyNotFound(let key, let context): return "a member is missing \(place(context, key))"
        case DecodingError.typeMismatch(_, let context): return "a value of another type is needed \(place(context))"
        case DecodingError.valueNotFound(_, let context): return "a value is missing \(place(context))"
        case DecodingError.dataCorrupted(let context): return "it is not supported \(place(context))"
        default: return "it is not understood"
        }
    }
}
