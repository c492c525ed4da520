// A structured answer while it grows.

import WorkerProtocol

/// The text of a structured answer so far, and the values it stood for.
///
/// Each reading starts from the beginning of the text. So that a long text in tiny pieces does not cost the square of its
/// length, a piece that adds less than a 32nd to a text over 4 KiB is taken without a reading.
struct GrowingValue {
    private static let alwaysReadBelow = 4096
    private static let leastGrowth = 32

    private var readAt = 0
    private var last: Value?

    /// The value that the text stands for now, if it is another than before.
    mutating func read(_ text: String) -> Value? {
        let length = text.utf8.count
        if length > Self.alwaysReadBelow, length - readAt < length / Self.leastGrowth, length >= readAt { return nil }
        return readNow(text)
    }

    /// The same for the last pieces, if they were taken without a reading.
    mutating func finish(_ text: String) -> Value? {
        readNow(text)
    }

    private mutating func readNow(_ text: String) -> Value? {
        readAt = text.utf8.count
        guard let value = Value(jsonPrefix: text), value != last else { return nil }
        last = value
        return value
    }
}
