import Testing

@testable import WorkerProtocol

/// Whatever comes in is a message or an error.
@Suite struct MutationTests {
    @Test(arguments: 0..<10)
    func mutatedFramesAreReadOrRefused(_ seed: UInt64) throws {
        var random = Seeded(seed)
        let bodies = try (Vector.golden() + Vector.read("also-read") + Vector.read("refused")).map(\.body)
        var readable = 0
        for _ in 0..<10_000 {
            let (one, other) = (bodies.randomElement(using: &random) ?? [], bodies.randomElement(using: &random) ?? [])
            let body = random.mutated(one, with: other)
            for direction in Direction.allCases {
                guard let message = try? Message(direction, frameBody: body) else { continue }
                readable += 1
                // What can be read can be written, and then says the same.
                if try Message(direction, frameBody: message.body()) != message {
                    Issue.record("\(hex(body))")
                }
            }
        }
        #expect(readable > 100)
    }

    @Test func mutatedStreamsEndInAnErrorOrNot() throws {
        var random = Seeded(99)
        let bodies = try Vector.golden().map(\.body)
        for _ in 0..<2_000 {
            let frames = (0..<3).flatMap { _ -> [UInt8] in
                let body = bodies.randomElement(using: &random) ?? []
                return withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body
            }
            var reader = FrameReader()
            reader.feed(random.mutated(frames, with: []))
            while let body = try? reader.next() {
                _ = try? ToWorker(frameBody: body)
            }
        }
    }

    @Test func mutatedJSONIsReadOrRefused() throws {
        var random = Seeded(7)
        for _ in 0..<2_000 {
            let text = random.value(depth: 1).jsonText
            let bytes = random.mutated(Array(text.utf8.prefix(2_000)), with: Array(#"[{"a":1e9,"b":"\ud800\"#.utf8))
            guard let value = try? Value(json: String(decoding: bytes, as: UTF8.self)) else { continue }
            _ = try Value(json: value.jsonText)
        }
    }
}
