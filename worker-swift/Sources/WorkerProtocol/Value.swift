/// A value as a message carries it: what JSON can say, with the order of members kept.
public enum Value: Sendable, Equatable {
    case null
    case bool(Bool)
    /// An integer that fits 64 bits with a sign.
    case integer(Int64)
    /// An integer above `Int64.max`. Make integers with ``Value/init(_:)-(UInt64)`` so that equal ones are equal.
    case largeInteger(UInt64)
    /// A finite number with a fraction, or beyond the integers.
    case number(Double)
    case text(String)
    case array([Value])
    case object(ValueObject)

    /// The integer in its one form.
    public init(_ integer: UInt64) {
        self = Int64(exactly: integer).map(Value.integer) ?? .largeInteger(integer)
    }

    /// The number, or `null` where it is none that a message can carry: not a number, or infinite.
    public init(_ number: Double) {
        self = number.isFinite ? .number(number) : .null
    }

    /// The text, if this is one.
    public var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The object, if this is one.
    public var object: ValueObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [Value]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The member of an object; `nil` where there is none, and for what is no object.
    public subscript(key: String) -> Value? {
        object?[key]
    }

    /// Texts are equal if their bytes are: `String` takes different spellings of a character for the same.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.largeInteger(let left), .largeInteger(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral text: String) { self = .text(text) }
    public init(integerLiteral integer: Int64) { self = .integer(integer) }
    public init(floatLiteral number: Double) { self.init(number) }
    public init(booleanLiteral bool: Bool) { self = .bool(bool) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, Value)...) {
        var object = ValueObject()
        for (key, value) in members {
            object[key] = value
        }
        self = .object(object)
    }
}
