/// The limits that hold for both directions (docs/IPC.md, section 2).
public enum FrameLimits {
    /// The longest frame, without its length.
    public static let bytes = 64 << 20
    /// How deep maps and arrays may nest, the message itself included.
    public static let depth = 128
    /// How many values a frame may hold, with keys and containers.
    public static let values = 1 << 20

    /// Checks that the bytes from `start` on are exactly one map within the limits, and that the keys of all maps are texts.
    /// Whoever reads them then may trust their lengths.
    ///
    /// One pass without recursion, in memory bounded by the depth.
    static func check(_ bytes: [UInt8], from start: Int = 0) throws {
        var lexer = PackLexer(bytes, at: start)
        /// The outermost first.
        var open: [Container] = []
        func enter(_ container: Container) throws {
            guard open.count < depth else { throw DecodeError.malformed("nests too deep") }
            open.append(container)
        }
        for _ in 0..<values {
            let token = try lexer.next()
            if let last = open.indices.last {
                if open[last].isAtKey, !token.isText { throw DecodeError.keyIsNoText }
                open[last].left -= 1
            } else if case .map = token {
                // The message.
            } else {
                throw DecodeError.malformed("is not a map")
            }
            switch token {
            case .array(let count): try enter(Container(isMap: false, left: count))
            case .map(let count): try enter(Container(isMap: true, left: 2 * count))
            default: break
            }
            while open.last?.left == 0 {
                open.removeLast()
            }
            if open.isEmpty {
                guard lexer.isAtEnd else { throw DecodeError.malformed("goes on behind its message") }
                return
            }
        }
        throw DecodeError.malformed("holds too many values")
    }

    /// A map or an array whose values are being read.
    private struct Container {
        let isMap: Bool
        /// Values to come; of a map, keys as well.
        var left: Int

        var isAtKey: Bool { isMap && left.isMultiple(of: 2) }
    }
}

extension DecodeError {
    static let keyIsNoText = malformed("has a key that is not text")
}

extension PackToken {
    fileprivate var isText: Bool {
        if case .text = self { true } else { false }
    }
}
