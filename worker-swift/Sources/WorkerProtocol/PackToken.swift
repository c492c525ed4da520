/// The next thing in MessagePack: a value without inner ones, or the head of an array or a map.
enum PackToken: Equatable {
    case null
    case bool(Bool)
    case unsigned(UInt64)
    /// Below zero.
    case negative(Int64)
    case number(Double)
    /// Where its bytes are; whether they are UTF-8 is not known yet.
    case text(Range<Int>)
    case array(count: Int)
    case map(count: Int)
    /// Binary data or an extension, which this protocol does not use.
    case foreign

    /// How many values follow that belong to this one.
    var innerValues: Int {
        switch self {
        case .array(let count): count
        case .map(let count): 2 * count
        default: 0
        }
    }
}

/// Cuts MessagePack into tokens. Nothing is allocated, and no length is believed before the bytes are there.
struct PackLexer {
    let bytes: [UInt8]
    private(set) var position: Int

    init(_ bytes: [UInt8], at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func next() throws -> PackToken {
        let marker = try bigEndian(1)
        switch marker {
        case 0x00...0x7f: return .unsigned(marker)
        case 0x80...0x8f: return .map(count: Int(marker & 0x0f))
        case 0x90...0x9f: return .array(count: Int(marker & 0x0f))
        case 0xa0...0xbf: return .text(try take(Int(marker & 0x1f)))
        case 0xc0: return .null
        case 0xc2: return .bool(false)
        case 0xc3: return .bool(true)
        case 0xc4: return try foreign(length(1))
        case 0xc5: return try foreign(length(2))
        case 0xc6: return try foreign(length(4))
        case 0xc7: return try foreign(length(1) + 1)
        case 0xc8: return try foreign(length(2) + 1)
        case 0xc9: return try foreign(length(4) + 1)
        case 0xca: return .number(Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bigEndian(4)))))
        case 0xcb: return .number(Double(bitPattern: try bigEndian(8)))
        case 0xcc: return .unsigned(try bigEndian(1))
        case 0xcd: return .unsigned(try bigEndian(2))
        case 0xce: return .unsigned(try bigEndian(4))
        case 0xcf: return .unsigned(try bigEndian(8))
        case 0xd0: return signed(Int64(Int8(truncatingIfNeeded: try bigEndian(1))))
        case 0xd1: return signed(Int64(Int16(truncatingIfNeeded: try bigEndian(2))))
        case 0xd2: return signed(Int64(Int32(truncatingIfNeeded: try bigEndian(4))))
        case 0xd3: return signed(Int64(bitPattern: try bigEndian(8)))
        case 0xd4...0xd8: return try foreign(1 + 1 << Int(marker - 0xd4))
        case 0xd9: return .text(try take(length(1)))
        case 0xda: return .text(try take(length(2)))
        case 0xdb: return .text(try take(length(4)))
        case 0xdc: return .array(count: try length(2))
        case 0xdd: return .array(count: try length(4))
        case 0xde: return .map(count: try length(2))
        case 0xdf: return .map(count: try length(4))
        case 0xe0...0xff: return .negative(Int64(Int8(truncatingIfNeeded: marker)))
        default: throw DecodeError.malformed("holds a byte that MessagePack does not use")
        }
    }

    private func signed(_ integer: Int64) -> PackToken {
        UInt64(exactly: integer).map(PackToken.unsigned) ?? .negative(integer)
    }

    private mutating func foreign(_ count: Int) throws -> PackToken {
        _ = try take(count)
        return .foreign
    }

    /// A length of `size` bytes: at most 32 bits, and those fit.
    private mutating func length(_ size: Int) throws -> Int {
        Int(truncatingIfNeeded: try bigEndian(size))
    }

    private mutating func bigEndian(_ size: Int) throws -> UInt64 {
        try take(size).reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }

    private mutating func take(_ count: Int) throws -> Range<Int> {
        guard count <= bytes.count - position else { throw DecodeError.malformed("ends within its message") }
        defer { position += count }
        return position..<position + count
    }
}
