/// Reads what a message expects from MessagePack that ``FrameLimits`` has checked.
struct PackReader {
    private var lexer: PackLexer

    init(_ bytes: [UInt8], at position: Int = 0) {
        lexer = PackLexer(bytes, at: position)
    }

    mutating func bool() throws -> Bool {
        guard case .bool(let bool) = try lexer.next() else { throw unexpected("a boolean") }
        return bool
    }

    /// An integer in any of its forms that fits the type.
    mutating func integer<T: FixedWidthInteger>(_: T.Type = T.self) throws -> T {
        let fitting: T? =
            switch try lexer.next() {
            case .unsigned(let integer): T(exactly: integer)
            case .negative(let integer): T(exactly: integer)
            default: nil
            }
        guard let fitting else { throw unexpected("an integer of \(T.bitWidth) bits, \(T.isSigned ? "or" : "not") below 0") }
        return fitting
    }

    /// A float or an integer; `nil` where it is no finite number.
    mutating func number() throws -> Double? {
        switch try lexer.next() {
        case .unsigned(let integer): Double(integer)
        case .negative(let integer): Double(integer)
        case .number(let number): number.isFinite ? number : nil
        default: throw unexpected("a number")
        }
    }

    mutating func text() throws -> String {
        guard case .text(let range) = try lexer.next() else { throw unexpected("a text") }
        return try string(range)
    }

    mutating func array<Element>(_ element: (inout PackReader) throws -> Element) throws -> [Element] {
        guard case .array(let count) = try lexer.next() else { throw unexpected("an array") }
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count {
            elements.append(try element(&self))
        }
        return elements
    }

    /// A map with known members.
    mutating func map() throws -> PackMap {
        guard case .map(let count) = try lexer.next() else { throw unexpected("a map") }
        var map = PackMap(bytes: lexer.bytes, count: count)
        for _ in 0..<count {
            guard case .text(let key) = try lexer.next() else { throw DecodeError.keyIsNoText }
            map.add(key: key, valueAt: lexer.position)
            try skip()
        }
        return map
    }

    /// Any value. Recursion ends with the nesting, which is checked.
    mutating func value() throws -> Value {
        switch try lexer.next() {
        case .null: return .null
        case .bool(let bool): return .bool(bool)
        case .unsigned(let integer): return Value(integer)
        case .negative(let integer): return .integer(integer)
        case .number(let number): return Value(number)
        case .text(let range): return .text(try string(range))
        case .array(let count):
            var elements: [Value] = []
            elements.reserveCapacity(count)
            for _ in 0..<count {
                elements.append(try value())
            }
            return .array(elements)
        case .map(let count): return .object(try members(count))
        case .foreign: throw unexpected("a value of JSON")
        }
    }

    /// Any object.
    mutating func object() throws -> ValueObject {
        guard case .map(let count) = try lexer.next() else { throw unexpected("an object") }
        return try members(count)
    }

    /// Whether the next value is null, which is then read.
    mutating func skipNull() throws -> Bool {
        var ahead = lexer
        guard case .null = try ahead.next() else { return false }
        lexer = ahead
        return true
    }

    private mutating func members(_ count: Int) throws -> ValueObject {
        var members = ValueObject()
        for _ in 0..<count {
            guard case .text(let key) = try lexer.next() else { throw DecodeError.keyIsNoText }
            members[try string(key)] = try value()
        }
        return members
    }

    /// Steps over a value, whatever it is made of.
    private mutating func skip() throws {
        var left = 1
        while left > 0 {
            left += try lexer.next().innerValues - 1
        }
    }

    private func string(_ range: Range<Int>) throws -> String {
        guard let text = String(validating: lexer.bytes[range], as: UTF8.self) else {
            throw DecodeError.malformed("holds a text that is not UTF-8")
        }
        return text
    }

    private func unexpected(_ expected: String) -> DecodeError {
        .malformed("is no message: at byte \(lexer.position), \(expected) was expected")
    }
}
