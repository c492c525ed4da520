@testable import WorkerProtocol

/// Random numbers that are the same in every run (SplitMix64).
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func text() -> String {
        let alphabet: [String] = ["a", "Z", "0", " ", "\"", "\\", "\n", "\u{0}", "é", "e\u{301}", "開", "🏰", "\u{2028}", "\u{212a}"]
        return (0..<Int.random(in: 0...40, using: &self)).map { _ in alphabet.randomElement(using: &self) ?? "" }.joined()
    }

    /// Any value with at most so many levels below it.
    mutating func value(depth: Int = 4) -> Value {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 8), using: &self) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &self))
        case 2, 3: return integer()
        case 4: return Value(Double(bitPattern: next()))
        case 5: return Value(Double.random(in: -10...10, using: &self))
        case 6, 7: return .text(text())
        case 8:
            return .array((0..<Int.random(in: 0...20, using: &self)).map { _ in value(depth: depth - 1) })
        default:
            var object = ValueObject()
            for _ in 0..<Int.random(in: 0...20, using: &self) {
                object[text()] = value(depth: depth - 1)
            }
            return .object(object)
        }
    }

    /// An integer of any length.
    private mutating func integer() -> Value {
        let bits = next() >> UInt64.random(in: 0..<64, using: &self)
        return Bool.random(using: &self) ? Value(bits) : .integer(Int64(truncatingIfNeeded: bits))
    }

    /// The bytes with something about them changed.
    mutating func mutated(_ bytes: [UInt8], with other: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let at = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<7, using: &self) {
            case 0 where at < bytes.count: bytes[at] = UInt8(truncatingIfNeeded: next())
            case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 2: bytes.insert(UInt8(truncatingIfNeeded: next()), at: at)
            case 3: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 0...8, using: &self)))
            case 4: bytes.removeLast(bytes.count - at)
            case 5: bytes.insert(contentsOf: other.prefix(Int.random(in: 0...other.count, using: &self)), at: at)
            // The heads of what is long.
            default: bytes.insert([0xc4, 0xc9, 0xd9, 0xdb, 0xdc, 0xdd, 0xdf, 0xcf].randomElement(using: &self) ?? 0, at: at)
            }
        }
        return bytes
    }
}
