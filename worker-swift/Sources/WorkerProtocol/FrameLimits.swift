/// The limits that hold for both directions (docs/IPC.md, section 2).
public enum FrameLimits {
    /// The longest frame, without its length.
    public static let bytes = 64 << 20
    /// How deep maps and arrays may nest, the message itself included.
    public static let depth = 128
    /// How many values a frame may hold, with keys and containers.
    public static let values = 1 << 20

    /// Checks that the bytes from `start` on are exactly one map within the limits. Whoever reads them then may trust their lengths.
    ///
    /// One pass without recursion, in memory bounded by the depth.
    static func check(_ bytes: [UInt8], from start: Int = 0) throws {
        var lexer = PackLexer(bytes, at: start)
        /// How many values the open containers still wait for, the outermost first.
        var open: [Int] = []
        for _ in 0..<values {
            let token = try lexer.next()
            if let last = open.indices.last {
                open[last] -= 1
            } else if case .map = token {
                // The message.
            } else {
                throw DecodeError.malformed("is not a map")
            }
            switch token {
            case .array, .map:
                guard open.count < depth else { throw DecodeError.malformed("nests too deep") }
                open.append(token.innerValues)
            default: break
            }
            while open.last == 0 {
                open.removeLast()
            }
            if open.isEmpty {
                guard lexer.isAtEnd else { throw DecodeError.malformed("goes on behind its message") }
                return
            }
        }
        throw DecodeError.malformed("holds too many values")
    }
}
