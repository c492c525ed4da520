extension Value {
    /// This value as compact JSON text, as the supervisor writes it: integral numbers are plain digits, and the line
    /// separators U+2028 and U+2029 are escaped.
    public var jsonText: String {
        var text: [UInt8] = []
        appendJSON(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func appendJSON(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let bool): text += (bool ? "true" : "false").utf8
        case .integer(let integer): text += String(integer).utf8
        case .largeInteger(let integer): text += String(integer).utf8
        case .number(let number): text += Self.digits(of: number).utf8
        case .text(let string): Self.append(string, to: &text)
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.appendJSON(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, (key, value)) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.append(key, to: &text)
                text.append(UInt8(ascii: ":"))
                value.appendJSON(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private static func digits(of number: Double) -> String {
        guard number.isFinite else { return "null" }
        let plainDigitsBelow = 9.2e18
        if number.magnitude < plainDigitsBelow, let integer = Int64(exactly: number) { return String(integer) }
        return number.description
    }

    private static func append(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\"".utf8
            case "\\": text += "\\\\".utf8
            case "\n": text += "\\n".utf8
            case "\r": text += "\\r".utf8
            case "\t": text += "\\t".utf8
            case "\u{8}": text += "\\b".utf8
            case "\u{c}": text += "\\f".utf8
            case "\u{0}"..."\u{1f}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u".utf8
                text += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                text += digits.utf8
            default: text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
