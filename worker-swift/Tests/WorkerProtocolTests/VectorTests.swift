import Testing

@testable import WorkerProtocol

/// The golden vectors, in both directions.
@Suite struct VectorTests {
    @Test(arguments: try Vector.golden())
    func isReadAndWritten(_ vector: Vector) throws {
        let read = try Message(vector.direction, frameBody: vector.body)
        #expect(hex(try read.body()) == vector.hex)
        // What it says in JSON reads as the same message, and nothing of it got lost.
        let json = try #require(vector.message)
        #expect(try Message(vector.direction, frameBody: packed(json)) == read)
        var reader = PackReader(vector.body)
        #expect(try reader.value() == json)
    }

    @Test(arguments: try Vector.read("also-read"))
    func isReadAlthoughItIsWrittenInAnotherWay(_ vector: Vector) throws {
        let read = try Message(vector.direction, frameBody: vector.body)
        let same = try Message(vector.direction, frameBody: packed(try #require(vector.message)))
        #expect(read.withoutNames == same.withoutNames)
    }

    @Test(arguments: try Vector.read("refused"))
    func isRefused(_ vector: Vector) {
        #expect(throws: DecodeError.self) { try Message(vector.direction, frameBody: vector.body) }
    }

    @Test func thereIsOneForEveryKindOfMessage() throws {
        let types = try Vector.golden().compactMap { $0.message?["type"]?.text }
        let kinds = [
            "generate", "cancel", "countTokens", "prewarm", "availability", "ping", "shutdown", "ready", "delta", "reset",
            "partial", "finished", "failed", "tokens", "pong", "log",
        ]
        #expect(Set(types) == Set(kinds))
    }
}

extension Message {
    /// What nobody knows has the name `unknown` in the vectors, whatever it was.
    fileprivate var withoutNames: Message {
        switch self {
        case .toWorker(.unknown): return .toWorker(.unknown(type: ""))
        case .fromWorker(.unknown): return .fromWorker(.unknown(type: ""))
        case .toWorker(.generate(var request)):
            request.transcript = request.transcript.map(\.withoutName)
            return .toWorker(.generate(request))
        default: return self
        }
    }
}

extension Entry {
    fileprivate var withoutName: Entry {
        switch self {
        case .unknown: .unknown(type: "")
        case .prompt(let segments): .prompt(segments.map { if case .unknown = $0 { .unknown(type: "") } else { $0 } })
        default: self
        }
    }
}
