import Foundation
import Testing

@testable import WorkerProtocol

/// A message in either direction, for what holds for both.
enum Message: Equatable {
    case toWorker(ToWorker)
    case fromWorker(FromWorker)

    init(_ direction: Direction, frameBody: [UInt8]) throws {
        switch direction {
        case .toWorker: self = .toWorker(try ToWorker(frameBody: frameBody))
        case .fromWorker: self = .fromWorker(try FromWorker(frameBody: frameBody))
        }
    }

    /// The content of its frame.
    func body() throws -> [UInt8] {
        switch self {
        case .toWorker(let message): Array(try message.encodeFrame().dropFirst(4))
        case .fromWorker(let message): Array(try message.encodeFrame().dropFirst(4))
        }
    }
}

enum Direction: String, CaseIterable {
    case toWorker, fromWorker
}

/// One of the frames in ipc-protocol/vectors that every implementation is checked with.
struct Vector: CustomTestStringConvertible {
    let name: String
    let direction: Direction
    /// The message in JSON; nothing for what is refused.
    let message: Value?
    let hex: String

    var testDescription: String { name }

    var body: [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count, by: 2).compactMap { start in
            UInt8(String(decoding: digits[start..<start + 2], as: UTF8.self), radix: 16)
        }
    }

    /// The vectors of a file; the direction is that of the file where they don't say.
    static func read(_ file: String, _ direction: Direction = .toWorker) throws -> [Vector] {
        let checkout = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let text = try String(contentsOf: checkout.appending(path: "ipc-protocol/vectors/\(file).json"), encoding: .utf8)
        return try #require(try Value(json: text).array).map { vector in
            Vector(
                name: try #require(vector["name"]?.text),
                direction: vector["direction"]?.text.flatMap(Direction.init) ?? direction,
                message: vector["message"],
                hex: try #require(vector["hex"]?.text))
        }
    }

    /// What can be read, with the way in which it is written.
    static func golden() throws -> [Vector] {
        try read("to-worker", .toWorker) + read("from-worker", .fromWorker)
    }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The bytes of a value by itself.
func packed(_ value: Value) -> [UInt8] {
    var writer = PackWriter()
    writer.value(value)
    return writer.bytes
}
