import Testing

@testable import WorkerProtocol

@Suite struct FrameTests {
    @Test func pingIsEighteenBytes() throws {
        let frame = try ToWorker.ping(n: 1).encodeFrame()
        #expect(hex(frame) == "0000000e82a474797065a470696e67a16e01")
    }

    @Test func framesAreCutByTheirLengthsHoweverTheyArrive() throws {
        var random = Seeded(1)
        let messages = try Vector.golden().map { try Message($0.direction, frameBody: $0.body) }
        for _ in 0..<50 {
            let bodies = try (0..<20).map { _ in try messages.randomElement(using: &random)?.body() ?? [] }
            let stream = bodies.flatMap { length($0.count) + $0 }
            var reader = FrameReader()
            var read: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...300, using: &random))
                rest = rest.dropFirst(piece.count)
                reader.feed(piece)
                while let body = try reader.next() {
                    read.append(body)
                }
            }
            #expect(read == bodies)
            #expect(reader.isBetweenFrames)
        }
    }

    @Test func aLengthOverTheLimitIsRefusedBeforeItsBytesCome() throws {
        var reader = FrameReader()
        reader.feed(length(FrameLimits.bytes))
        #expect(try reader.next() == nil)
        #expect(!reader.isBetweenFrames)

        reader = FrameReader()
        reader.feed(length(FrameLimits.bytes + 1))
        for _ in 0..<2 {
            #expect(throws: DecodeError.tooLarge(length: FrameLimits.bytes + 1)) { try reader.next() }
        }
    }

    @Test func aMessageNestsAtMost128Levels() throws {
        func partial(_ levels: Int) -> FromWorker {
            let value = (1..<levels).reduce(Value.array([])) { value, _ in .array([value]) }
            return .partial(id: 1, value: value)
        }
        let deepest = try partial(127).encodeFrame()
        #expect(try FromWorker(frameBody: Array(deepest.dropFirst(4))) == partial(127))
        #expect(throws: EncodeError.self) { try partial(128).encodeFrame() }
    }

    @Test func aMessageHoldsAtMostSoManyValues() throws {
        // The map, its keys and two values, and the array.
        let around = 7
        func partial(_ count: Int) -> FromWorker {
            .partial(id: 1, value: .array(Array(repeating: .null, count: count)))
        }
        let largest = try partial(FrameLimits.values - around).encodeFrame()
        let read = try FromWorker(frameBody: Array(largest.dropFirst(4)))
        let isSame = read == partial(FrameLimits.values - around)
        #expect(isSame)
        #expect(throws: EncodeError.self) { try partial(FrameLimits.values - around + 1).encodeFrame() }
    }

    @Test func aMessageThatIsTooLongIsNotWritten() {
        let text = String(repeating: "x", count: FrameLimits.bytes)
        #expect(throws: EncodeError.self) { try FromWorker.delta(id: 1, text: text).encodeFrame() }
    }

    @Test func whatIsWrongWithAFrameIsSaid() {
        let cases: [(Value, String)] = [
            (["type": "ping"], "is no message: the member 'n' is missing"),
            (["type": "ping", "n": -1], "is no message: at byte 14, an integer of 64 bits, not below 0 was expected"),
            ([], "is not a map"),
        ]
        for (value, reason) in cases {
            #expect(throws: DecodeError.malformed(reason)) { try ToWorker(frameBody: packed(value)) }
        }
    }

    private func length(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: count).bigEndian) { Array($0) }
    }
}
