// JSON as the framework reads and writes it: members in order, and a text that may end anywhere.

import Foundation

/// Reads JSON into content.
struct JSONReader {
    private static let deepest = 200

    private let bytes: [UInt8]
    private var at = 0
    private var isComplete = true

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func readAll() throws -> GeneratedContent {
        guard let content = try value(depth: 0) else {
            throw Malformed(description: "The text holds no value.")
        }
        skipSpace()
        guard at == bytes.count else {
            throw Malformed(description: "Something follows the value.")
        }
        return GeneratedContent(kind: content.kind, id: nil, isComplete: isComplete)
    }

    /// Nil when the text ends before there is a value.
    private mutating func value(depth: Int) throws -> GeneratedContent? {
        guard depth < Self.deepest else {
            throw Malformed(description: "The value nests too deeply.")
        }
        skipSpace()
        guard let first = peek else {
            isComplete = false
            return nil
        }
        switch first {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return GeneratedContent(kind: .string(try string().text))
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws -> GeneratedContent {
        var members: [String: GeneratedContent] = [:]
        var keys: [String] = []
        at += 1
        skipSpace()
        if take(UInt8(ascii: "}")) {
            return GeneratedContent(kind: .structure(properties: [:], orderedKeys: []))
        }
        while peek != nil {
            guard peek == UInt8(ascii: "\"") else {
                throw Malformed(description: "A member has no name.")
            }
            let (key, isWhole) = try string()
            skipSpace()
            guard isWhole, peek != nil else { break }
            guard take(UInt8(ascii: ":")) else {
                throw Malformed(description: "A member has no value.")
            }
            guard let content = try value(depth: depth + 1) else { break }
            if members.updateValue(content, forKey: key) == nil { keys.append(key) }
            skipSpace()
            if take(UInt8(ascii: "}")) {
                return GeneratedContent(kind: .structure(properties: members, orderedKeys: keys))
            }
            guard peek != nil else { break }
            guard take(UInt8(ascii: ",")) else {
                throw Malformed(description: "Members are not separated.")
            }
            skipSpace()
        }
        isComplete = false
        return GeneratedContent(kind: .structure(properties: members, orderedKeys: keys))
    }

    private mutating func array(depth: Int) throws -> GeneratedContent {
        var elements: [GeneratedContent] = []
        at += 1
        skipSpace()
        if take(UInt8(ascii: "]")) { return GeneratedContent(kind: .array([])) }
        while let content = try value(depth: depth + 1) {
            elements.append(content)
            skipSpace()
            if take(UInt8(ascii: "]")) { return GeneratedContent(kind: .array(elements)) }
            guard peek != nil else { break }
            guard take(UInt8(ascii: ",")) else {
                throw Malformed(description: "Elements are not separated.")
            }
        }
        isComplete = false
        return GeneratedContent(kind: .array(elements))
    }

    private mutating func string() throws -> (text: String, isWhole: Bool) {
        at += 1
        let start = at
        while let byte = peek, byte != UInt8(ascii: "\"") {
            at += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        let isWhole = at < bytes.count
        let end = min(at, bytes.count)
        at = min(at + 1, bytes.count)
        if !isWhole { isComplete = false }
        let raw = bytes[start..<end]
        guard raw.contains(UInt8(ascii: "\\")) else { return (String(decoding: raw, as: UTF8.self), isWhole) }
        // What is left of an escape at the end of the text is no text yet.
        for cut in 0...min(12, raw.count) {
            let quoted = Data([UInt8(ascii: "\"")] + raw.dropLast(cut) + [UInt8(ascii: "\"")])
            if let text = try? JSONDecoder().decode(String.self, from: quoted) { return (text, isWhole) }
            if isWhole { break }
        }
        throw Malformed(description: "A string is malformed.")
    }

    private mutating func word(_ word: String, _ kind: GeneratedContent.Kind) throws -> GeneratedContent? {
        let rest = bytes[at...].prefix(word.utf8.count)
        guard word.utf8.starts(with: rest) else {
            throw Malformed(description: "There is no such word.")
        }
        at += rest.count
        guard rest.count == word.utf8.count else {
            isComplete = false
            return nil
        }
        return GeneratedContent(kind: kind)
    }

    private mutating func number() throws -> GeneratedContent? {
        let digits = bytes[at...].prefix { "+-.eE0123456789".utf8.contains($0) }
        at += digits.count
        guard let number = Double(String(decoding: digits, as: UTF8.self)) else {
            if !digits.isEmpty, at == bytes.count {
                isComplete = false
                return nil
            }
            throw Malformed(description: "A value is malformed.")
        }
        return GeneratedContent(kind: .number(number))
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

/// Writes content as JSON.
struct JSONWriter {
    private let gap: String

    static func text(of content: GeneratedContent) -> String {
        JSONWriter(gap: " ").text(of: content)
    }

    static func compactText(of content: GeneratedContent) -> String {
        JSONWriter(gap: "").text(of: content)
    }

    private func text(of content: GeneratedContent) -> String {
        var text = ""
        write(content, to: &text)
        return text
    }

    private func write(_ content: GeneratedContent, to text: inout String) {
        switch content.kind {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let value): text += Self.number(value)
        case .string(let value): text += Self.quoted(value)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ",\(gap)" }
                write(element, to: &text)
            }
            text += "]"
        case .structure(let members, let keys):
            text += "{"
            for (index, key) in keys.enumerated() {
                if index > 0 { text += ",\(gap)" }
                text += Self.quoted(key) + ":\(gap)"
                if let member = members[key] { write(member, to: &text) }
            }
            text += "}"
        }
    }

    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return Int64(exactly: value).map(String.init) ?? String(value)
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
