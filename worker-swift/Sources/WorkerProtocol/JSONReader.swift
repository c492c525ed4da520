/// A text that is not JSON.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    public let reason: String
    /// Where, in bytes from 0.
    public let offset: Int

    public var description: String { "\(reason) at byte \(offset)" }
}

extension Value {
    /// Reads JSON text. Of equal keys the last one counts, at the place of the first; numbers beyond a double are null.
    ///
    /// - Throws: ``JSONError``, also where it nests deeper than ``FrameLimits/depth``.
    public init(json text: String) throws {
        var reader = JSONReader(Array(text.utf8))
        self = try reader.document()
    }
}

/// Reads JSON, whatever its bytes are. Recursion ends with the nesting that is allowed.
private struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws -> Value {
        let value = try value()
        skipSpace()
        guard position == bytes.count else { throw error("something follows the value") }
        return value
    }

    private mutating func value() throws -> Value {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try nested { .object(try $0.members()) }
        case UInt8(ascii: "["): return try nested { .array(try $0.elements()) }
        case UInt8(ascii: "\""): return .text(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(_ read: (inout JSONReader) throws -> Value) throws -> Value {
        guard depth < FrameLimits.depth else { throw error("nests too deep") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try read(&self)
    }

    private mutating func members() throws -> ValueObject {
        var members = ValueObject()
        skipSpace()
        if skip("}") { return members }
        repeat {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw error("a key was expected") }
            let key = try string()
            skipSpace()
            guard skip(":") else { throw error("a colon was expected") }
            members[key] = try value()
            skipSpace()
        } while skip(",")
        guard skip("}") else { throw error("the object does not end") }
        return members
    }

    private mutating func elements() throws -> [Value] {
        var elements: [Value] = []
        skipSpace()
        if skip("]") { return elements }
        repeat {
            elements.append(try value())
            skipSpace()
        } while skip(",")
        guard skip("]") else { throw error("the array does not end") }
        return elements
    }

    private mutating func word(_ word: String, _ value: Value) throws -> Value {
        guard bytes[position...].starts(with: word.utf8) else { throw error("a value was expected") }
        position += word.utf8.count
        return value
    }

    private mutating func number() throws -> Value {
        let start = position
        _ = skip("-")
        let integral = position
        let digits = skipDigits()
        guard digits > 0 else { throw error("a value was expected") }
        guard digits == 1 || bytes[integral] != UInt8(ascii: "0") else { throw error("a number begins with 0") }
        var isInteger = true
        if skip(".") {
            isInteger = false
            guard skipDigits() > 0 else { throw error("a digit was expected") }
        }
        if skip("e") || skip("E") {
            isInteger = false
            _ = skip("+") || skip("-")
            guard skipDigits() > 0 else { throw error("a digit was expected") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger {
            if let integer = Int64(text) { return .integer(integer) }
            if let integer = UInt64(text) { return Value(integer) }
        }
        guard let number = Double(text) else { throw error("a number that is none") }
        return Value(number)
    }

    private mutating func string() throws -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else { throw error("a text is not UTF-8") }
                return text
            case UInt8(ascii: "\\"): text += UTF8.encode(try escaped()) ?? UTF8.encodedReplacementCharacter
            case ..<0x20: throw error("a control character in a text")
            default: text.append(byte)
            }
        }
        throw error("the text does not end")
    }

    private mutating func escaped() throws -> Unicode.Scalar {
        guard let byte = peek else { throw error("the text does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "u"): return try codePoint()
        default: throw error("an escape that JSON does not have")
        }
    }

    private mutating func codePoint() throws -> Unicode.Scalar {
        let unit = try hexDigits()
        if UTF16.isLeadSurrogate(unit), skip("\\"), skip("u") {
            let trail = try hexDigits()
            if UTF16.isTrailSurrogate(trail) {
                let codePoint = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(trail) - 0xdc00)
                if let scalar = Unicode.Scalar(codePoint) { return scalar }
            }
        }
        guard let scalar = Unicode.Scalar(unit) else { throw error("half of a character") }
        return scalar
    }

    private mutating func hexDigits() throws -> UInt16 {
        let end = position + 4
        guard end <= bytes.count,
            bytes[position..<end].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: bytes[position..<end], as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits were expected") }
        position = end
        return unit
    }

    private var peek: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            position += 1
        }
        return position - start
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            position += 1
        }
    }

    private func error(_ reason: String) -> JSONError {
        JSONError(reason: reason, offset: position)
    }
}
