/// Writes MessagePack, each value in its shortest form.
struct PackWriter {
    private(set) var bytes: [UInt8]

    /// A writer that begins with these bytes.
    init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
        self.bytes.reserveCapacity(256)
    }

    mutating func null() {
        bytes.append(0xc0)
    }

    mutating func bool(_ bool: Bool) {
        bytes.append(bool ? 0xc3 : 0xc2)
    }

    mutating func integer(_ integer: UInt64) {
        switch integer {
        case ...0x7f: bigEndian(UInt8(truncatingIfNeeded: integer))
        case ...0xff: marked(0xcc, UInt8(truncatingIfNeeded: integer))
        case ...0xffff: marked(0xcd, UInt16(truncatingIfNeeded: integer))
        case ...0xffff_ffff: marked(0xce, UInt32(truncatingIfNeeded: integer))
        default: marked(0xcf, integer)
        }
    }

    mutating func integer(_ integer: Int64) {
        switch integer {
        case 0...: self.integer(UInt64(integer))
        case (-32)...: bigEndian(Int8(truncatingIfNeeded: integer))
        case Int64(Int8.min)...: marked(0xd0, Int8(truncatingIfNeeded: integer))
        case Int64(Int16.min)...: marked(0xd1, Int16(truncatingIfNeeded: integer))
        case Int64(Int32.min)...: marked(0xd2, Int32(truncatingIfNeeded: integer))
        default: marked(0xd3, integer)
        }
    }

    mutating func number(_ number: Double) {
        marked(0xcb, number.bitPattern)
    }

    mutating func text(_ text: String) {
        let count = text.utf8.count
        switch count {
        case ...31: bytes.append(0xa0 | UInt8(truncatingIfNeeded: count))
        case ...0xff: marked(0xd9, UInt8(truncatingIfNeeded: count))
        case ...0xffff: marked(0xda, UInt16(truncatingIfNeeded: count))
        default: marked(0xdb, UInt32(clamping: count))
        }
        bytes.append(contentsOf: text.utf8)
    }

    mutating func arrayHead(_ count: Int) {
        head(count, short: 0x90, 0xdc, 0xdd)
    }

    mutating func mapHead(_ count: Int) {
        head(count, short: 0x80, 0xde, 0xdf)
    }

    mutating func array<Element>(_ elements: [Element], _ write: (inout PackWriter, Element) -> Void) {
        arrayHead(elements.count)
        for element in elements {
            write(&self, element)
        }
    }

    mutating func object(_ object: ValueObject) {
        mapHead(object.count)
        for (key, value) in object {
            text(key)
            self.value(value)
        }
    }

    mutating func value(_ value: Value) {
        switch value {
        case .null: null()
        case .bool(let bool): self.bool(bool)
        case .integer(let integer): self.integer(integer)
        case .largeInteger(let integer): self.integer(integer)
        case .number(let number): self.number(number)
        case .text(let text): self.text(text)
        case .array(let elements): array(elements) { $0.value($1) }
        case .object(let object): self.object(object)
        }
    }

    private mutating func head(_ count: Int, short: UInt8, _ middle: UInt8, _ long: UInt8) {
        switch count {
        case ...15: bytes.append(short | UInt8(truncatingIfNeeded: count))
        case ...0xffff: marked(middle, UInt16(truncatingIfNeeded: count))
        default: marked(long, UInt32(clamping: count))
        }
    }

    private mutating func marked<T: FixedWidthInteger>(_ marker: UInt8, _ integer: T) {
        bytes.append(marker)
        bigEndian(integer)
    }

    private mutating func bigEndian<T: FixedWidthInteger>(_ integer: T) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
