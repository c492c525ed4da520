/// A frame that cannot be read. Its description completes "the frame …".
public enum DecodeError: Error, Equatable, CustomStringConvertible {
    /// Longer than ``FrameLimits/bytes``. What follows cannot be told apart, so the connection is done.
    case tooLarge(length: Int)
    /// Whole, but not a message.
    case malformed(String)

    public var description: String {
        switch self {
        case .tooLarge(let length): "of \(length) bytes is over the limit of \(FrameLimits.bytes)"
        case .malformed(let reason): reason
        }
    }
}

/// A message that nobody would read. Its description completes "the message …".
public enum EncodeError: Error, Equatable, CustomStringConvertible {
    /// Its frame would be longer than ``FrameLimits/bytes``.
    case tooLarge(length: Int)
    /// It nests too deep, or holds too many values.
    case unreadable(String)

    public var description: String {
        switch self {
        case .tooLarge(let length): "of \(length) bytes is over the limit of \(FrameLimits.bytes)"
        case .unreadable(let reason): reason
        }
    }
}

/// Writes a message with its length, ready to be sent.
///
/// - Throws: ``EncodeError`` where the other side would not read it.
func encodeFrame(_ write: (inout PackWriter) -> Void) throws -> [UInt8] {
    let header = [UInt8](repeating: 0, count: headerBytes)
    var writer = PackWriter(header)
    write(&writer)
    var frame = writer.bytes
    let count = frame.count - headerBytes
    guard count <= FrameLimits.bytes, let length = UInt32(exactly: count) else {
        throw EncodeError.tooLarge(length: count)
    }
    do {
        try FrameLimits.check(frame, from: headerBytes)
    } catch let error as DecodeError {
        throw EncodeError.unreadable(error.description)
    }
    withUnsafeBytes(of: length.bigEndian) { frame.replaceSubrange(0..<headerBytes, with: $0) }
    return frame
}

/// Reads the content of a frame as the map that every message is.
func decodeFrame<Message>(_ body: [UInt8], _ read: (PackMap) throws -> Message) throws -> Message {
    try FrameLimits.check(body)
    var reader = PackReader(body)
    return try read(reader.map())
}

private let headerBytes = 4

/// Cuts a stream of bytes into the contents of frames.
///
/// It holds what it was fed and has not given back, and reserves nothing for what a length announces.
public struct FrameReader: Sendable {
    private var buffer: [UInt8] = []
    /// Where the next frame begins.
    private var start = 0

    /// What is kept of the memory that a long frame took.
    private static let keptCapacity = 256 << 10

    /// A reader at the beginning of a stream.
    public init() {}

    /// Takes the next bytes of the stream.
    public mutating func feed(_ bytes: some Collection<UInt8>) {
        // Moving what is left costs no more than what was read since the last move.
        if start > 0, start >= buffer.count - start {
            if buffer.capacity > Self.keptCapacity {
                buffer = Array(buffer[start...])
            } else {
                buffer.removeFirst(start)
            }
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The content of the next frame, or `nil` until more bytes are fed.
    ///
    /// - Throws: ``DecodeError/tooLarge(length:)`` as soon as the length is there, and again at every further call.
    public mutating func next() throws -> [UInt8]? {
        guard buffer.count - start >= headerBytes else { return nil }
        let body = start + headerBytes
        let length = buffer[start..<body].reduce(0) { $0 << 8 | Int($1) }
        guard length <= FrameLimits.bytes else { throw DecodeError.tooLarge(length: length) }
        guard buffer.count - body >= length else { return nil }
        start = body + length
        return Array(buffer[body..<start])
    }

    /// Whether the stream may end here, rather than within a frame.
    public var isBetweenFrames: Bool { start == buffer.count }
}
