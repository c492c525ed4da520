// The value that the beginning of a JSON text stands for.
//
// A model's structured answer arrives piece by piece. Of a text that ends early, open strings, arrays and objects count as
// closed there; what could still become something else (half a key, `tr`, the digits of a number, half an escape) is left
// out. So every reading is a part of the next one.

import WorkerProtocol

extension Value {
    /// The value that a text stands for so far; `nil` while it stands for nothing yet, when it is no beginning of JSON, and
    /// when it nests deeper than 100 levels.
    init?(jsonPrefix text: String) {
        var reader = PrefixReader(text)
        switch try? reader.value(depth: 0) {
        case .whole(let value)? where reader.isAtEnd(): self = value
        case .open(let value?)?: self = value
        default: return nil
        }
    }
}

private struct PrefixReader {
    private static let deepest = 100

    private struct Malformed: Error {}

    enum Read {
        case whole(Value)
        /// The text ended in it.
        case open(Value?)
    }

    private let bytes: [UInt8]
    private var at = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func isAtEnd() -> Bool {
        skipSpace()
        return peek == nil
    }

    mutating func value(depth: Int) throws -> Read {
        skipSpace()
        switch peek {
        case nil: return .open(nil)
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""):
            let (text, isWhole) = try string()
            return isWhole ? .whole(.text(text)) : .open(.text(text))
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws -> Read {
        guard depth <= Self.deepest else { throw Malformed() }
        at += 1
        var object = ValueObject()
        skipSpace()
        if take(UInt8(ascii: "}")) { return .whole(.object(object)) }
        while true {
            skipSpace()
            guard let next = peek else { return .open(.object(object)) }
            guard next == UInt8(ascii: "\"") else { throw Malformed() }
            let (key, isWhole) = try string()
            skipSpace()
            guard isWhole, peek != nil else { return .open(.object(object)) }
            guard take(UInt8(ascii: ":")) else { throw Malformed() }
            switch try value(depth: depth) {
            case .whole(let member): object[key] = member
            case .open(let member):
                object[key] = member
                return .open(.object(object))
            }
            skipSpace()
            if take(UInt8(ascii: "}")) { return .whole(.object(object)) }
            guard take(UInt8(ascii: ",")) || peek == nil else { throw Malformed() }
        }
    }

    private mutating func array(depth: Int) throws -> Read {
        guard depth <= Self.deepest else { throw Malformed() }
        at += 1
        var elements: [Value] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .whole(.array(elements)) }
        while true {
            switch try value(depth: depth) {
            case .whole(let element): elements.append(element)
            case .open(let element):
                if let element { elements.append(element) }
                return .open(.array(elements))
            }
            skipSpace()
            if take(UInt8(ascii: "]")) { return .whole(.array(elements)) }
            guard take(UInt8(ascii: ",")) || peek == nil else { throw Malformed() }
        }
    }

    private mutating func word(_ word: String, _ value: Value) throws -> Read {
        let rest = bytes[at...].prefix(word.utf8.count)
        guard word.utf8.starts(with: rest) else { throw Malformed() }
        at += rest.count
        return rest.count == word.utf8.count ? .whole(value) : .open(nil)
    }

    private mutating func number() throws -> Read {
        let start = at
        while let byte = peek, Self.isOfNumber(byte) { at += 1 }
        guard at > start else { throw Malformed() }
        // It may go on.
        guard peek != nil else { return .open(nil) }
        return .whole(try Value(json: String(decoding: bytes[start..<at], as: UTF8.self)))
    }

    private mutating func string() throws -> (text: String, isWhole: Bool) {
        at += 1
        var text: [UInt8] = []
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return (String(decoding: text, as: UTF8.self), true)
            case UInt8(ascii: "\\"):
                guard let scalar = try escape() else { return (String(decoding: text, as: UTF8.self), false) }
                text.append(contentsOf: String(scalar).utf8)
            case 0..<0x20: throw Malformed()
            default:
                text.append(byte)
                at += 1
            }
        }
        return (String(decoding: text, as: UTF8.self), false)
    }

    /// Nil when the text ends in it.
    private mutating func escape() throws -> Unicode.Scalar? {
        at += 1
        guard let byte = peek else { return nil }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw Malformed()
        }
        guard let first = try codeUnit() else { return nil }
        guard UTF16.isLeadSurrogate(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw Malformed() }
            return scalar
        }
        for expected in [UInt8(ascii: "\\"), UInt8(ascii: "u")] {
            guard peek != nil else { return nil }
            guard take(expected) else { throw Malformed() }
        }
        guard let second = try codeUnit() else { return nil }
        guard UTF16.isTrailSurrogate(second) else { throw Malformed() }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private mutating func codeUnit() throws -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek else { return nil }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw Malformed() }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        at += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }
}
