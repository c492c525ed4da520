import Foundation
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// Schemas as they come from the supervisor.
@Suite struct SchemaTests {
    /// Every schema in the vectors that all implementations are checked with.
    static func golden() throws -> [Value] {
        let checkout = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let file = checkout.appending(path: "ipc-protocol/vectors/to-worker.json")
        let vectors = try Value(json: String(contentsOf: file, encoding: .utf8)).array ?? []
        return vectors.compactMap { $0["message"] }.flatMap { message in
            (message["tools"]?.array ?? []).compactMap { $0["parameters"] } + [message["schema"]].compactMap { $0 }
        }
    }

    @Test func thereAreGoldenSchemas() throws {
        #expect(try Self.golden().count >= 4)
    }

    @Test(arguments: try golden())
    func aGoldenSchemaIsDecoded(_ schema: Value) throws {
        _ = try SchemaStore().schema(schema, of: "the answer")
    }

    @Test(arguments: [
        ##"{"$ref":"#/$defs/Node","$defs":{"Node":{"title":"Node","type":"object","properties":{"next":{"$ref":"#/$defs/Node"}},"required":[],"additionalProperties":false,"x-order":["next"]}}}"##,
        ##"{"title":"Choice","anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]}"##,
        ##"{"title":"T","type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":20},"f":{"type":"number","minimum":0.5},"l":{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":3},"self":{"$ref":"#"}},"required":["n"],"additionalProperties":false,"x-order":["n","f","l","self"]}"##,
    ])
    func theDialectIsDecoded(_ schema: String) throws {
        _ = try SchemaStore().schema(try Value(json: schema), of: "the answer")
    }

    @Test(arguments: [
        (##"{"type":"object","properties":{},"required":[],"additionalProperties":false,"x-order":[]}"##, "a member is missing at 'title'"),
        (##"{"title":"T","type":"object","properties":{},"required":[],"additionalProperties":false}"##, "a member is missing at 'x-order'"),
        (##"{"type":["string","null"]}"##, "a value of another type is needed at 'type'"),
        (##"{"allOf":[]}"##, "it is not supported at 'allOf'"),
        (##"{"type":"array","items":{"anyOf":[]}}"##, "a member is missing at 'items.title'"),
        (##"{}"##, "a member is missing at 'type'"),
    ])
    func anotherSchemaIsRefusedWithAReason(_ schema: String, _ reason: String) throws {
        let value = try Value(json: schema)
        #expect {
            try SchemaStore().schema(value, of: "tool 'open_gate'")
        } throws: { error in
            let failure = error as? Failure
            return failure?.code == .invalidSchema
                && failure?.message.hasPrefix("The schema of tool 'open_gate' cannot be used: ") == true
                && (failure?.message.contains(reason) == true || reason.isEmpty)
        }
    }

    /// To Swift's `String` they are the same.
    @Test func schemasWhoseTextsOnlyLookTheSameAreTwo() throws {
        let store = SchemaStore()
        let written = try ["\u{e9}", "e\u{301}"].map { name in
            try JSONEncoder().encode(store.schema(["type": "string", "enum": .array([.text(name)])], of: "the answer"))
        }
        #expect(written[0] != written[1])
    }

    @Test func manyDifferentSchemasDoNotPileUp() throws {
        let store = SchemaStore()
        for count in 0..<1000 {
            _ = try store.schema(["type": "array", "items": ["type": "null"], "minItems": .integer(Int64(count))], of: "x")
        }
    }
}
