// Values of messages as the framework's generated content, and back.

import FoundationModels
import WorkerProtocol

extension GeneratedContent {
    /// The framework counts in doubles: of integers beyond 2^53 the last digits are lost.
    init(_ value: Value) {
        switch value {
        case .null: self.init(kind: .null)
        case .bool(let value): self.init(kind: .bool(value))
        case .integer(let value): self.init(kind: .number(Double(value)))
        case .largeInteger(let value): self.init(kind: .number(Double(value)))
        case .number(let value): self.init(kind: .number(value))
        case .text(let value): self.init(kind: .string(value))
        case .array(let elements): self.init(kind: .array(elements.map { GeneratedContent($0) }))
        case .object(let object): self.init(object)
        }
    }

    init(_ object: ValueObject) {
        let members = object.map { ($0.0, GeneratedContent($0.1)) }
        // The framework takes different spellings of a character for the same.
        let properties = Dictionary(members) { _, last in last }
        var seen: Set<String> = []
        let keys = object.keys.filter { seen.insert($0).inserted }
        self.init(kind: .structure(properties: properties, orderedKeys: keys))
    }
}

extension Value {
    init(_ content: GeneratedContent) {
        switch content.kind {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let value):
            if let integer = Int64(exactly: value) { self = .integer(integer) } else { self.init(value) }
        case .string(let value): self = .text(value)
        case .array(let elements): self = .array(elements.map { Value($0) })
        case .structure(let properties, let keys):
            var object = ValueObject()
            for key in keys { object[key] = properties[key].map { Value($0) } }
            self = .object(object)
        @unknown default: self = .null
        }
    }
}

extension ValueObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, Value)...) {
        self.init()
        for (key, value) in members { self[key] = value }
    }
}
