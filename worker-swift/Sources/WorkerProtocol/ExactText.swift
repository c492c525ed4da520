/// A text as a key of a dictionary, by its bytes.
///
/// `String` compares by what is seen, so "é" equals "e" with an accent put on it, and the Kelvin sign equals "K". To the
/// other side of a connection these are different.
public struct ExactText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension String {
    /// Whether both consist of the same bytes.
    public func hasSameBytes(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}

extension RawRepresentable where RawValue == String, Self: CaseIterable {
    /// The case that is written with exactly these bytes.
    init?(exactly text: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else { return nil }
        self = match
    }
}
