import Foundation
import Testing
import WorkerProtocol

/// The program as a process of its own.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ProgramTests {
    @Test func itAnswersOnDescriptorZeroAndEndsWithItsConnection() throws {
        let (own, other) = try sockets()
        let worker = try start([], input: other)
        guard case .ready(let ready) = try hear(own) else { throw Silence() }
        #expect(ready.version == protocolVersion)
        #expect(ready.worker.pid == UInt32(worker.processIdentifier))
        try own.write(contentsOf: ToWorker.ping(n: 3).encodeFrame())
        #expect(try hear(own) == .pong(n: 3))
        try own.close()
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 0)
    }

    #if OAM_STANDIN
        @Test func itPlaysSteps() throws {
            let (own, worker) = try startOnSockets(#"[{"template": "{prompt}", "chunks": 2}]"#)
            try own.write(contentsOf: ToWorker.generate(Self.step).encodeFrame())
            #expect(try hear(own) == .delta(id: 1, text: "Hello "))
            #expect(try hear(own) == .delta(id: 1, text: "there."))
            #expect(
                try hear(own)
                    == .finished(id: 1, outcome: .text("Hello there."), usage: TokenUsage(outputTokens: 2)))
            try own.close()
            worker.waitUntilExit()
        }

        @Test func aModelThatCrashesTakesItAlong() throws {
            let (own, worker) = try startOnSockets(#"[{"text": "Hello there.", "chunks": 2, "crashAfter": 1}]"#)
            try own.write(contentsOf: ToWorker.generate(Self.step).encodeFrame())
            worker.waitUntilExit()
            #expect(worker.terminationReason == .uncaughtSignal)
            #expect(worker.terminationStatus == SIGABRT)
        }

        @Test func aModelThatIsDeafToCancellationHoldsUpNobodyElse() throws {
            let (own, worker) = try startOnSockets(#"[{"text": "Late.", "delayMs": 60000, "uncancellable": true}]"#)
            try own.write(contentsOf: ToWorker.generate(Self.step).encodeFrame())
            try own.write(contentsOf: ToWorker.ping(n: 3).encodeFrame())
            #expect(try hear(own) == .pong(n: 3))
            try own.write(contentsOf: ToWorker.cancel(id: 1).encodeFrame())
            guard case .failed(1, let failure) = try hear(own) else { throw Silence() }
            #expect(failure.code == .cancelled)
            try own.close()
            worker.waitUntilExit()
            #expect(worker.terminationStatus == 0)
        }

        @Test func aScriptThatCannotBeUsedIsNoModel() throws {
            let (own, other) = try sockets()
            let words = Pipe()
            let worker = try start([], input: other, words: words, script: #"[{"dance": true}]"#)
            let said = try words.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
            worker.waitUntilExit()
            try own.close()
            #expect(worker.terminationStatus == 2)
            #expect(said.hasPrefix("OAM_WORKER_STANDIN cannot be used: A step tells nothing to do"))
        }

        private static let step = Generate(id: 1, transcript: [.prompt([.text("Hello there.")])], stream: true)

        private func startOnSockets(_ script: String) throws -> (FileHandle, Process) {
            let (own, other) = try sockets()
            let worker = try start([], input: other, script: script)
            guard case .ready = try hear(own) else { throw Silence() }
            return (own, worker)
        }
    #endif

    @Test func shutdownEndsItWhileTheConnectionStays() throws {
        let (own, other) = try sockets()
        let worker = try start([], input: other)
        _ = try hear(own)
        try own.write(contentsOf: ToWorker.shutdown(graceMs: 1000).encodeFrame())
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 0)
    }

    @Test(arguments: [
        ([], "descriptor 0 is not a connected socket"),
        (["--connect", "/nowhere"], "cannot connect to /nowhere"),
        (["--connect", String(repeating: "x", count: 1000)], "the path is too long"),
        (["--connect"], "--connect needs a path"),
        (["--dance"], "there is no argument '--dance'"),
    ])
    func aStartThatFailsSaysWhy(_ arguments: [String], _ reason: String) throws {
        let words = Pipe()
        let worker = try start(arguments, input: .nullDevice, words: words)
        let said = try words.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 2)
        #expect(said.contains(reason))
    }

    @Test func aFrameThatCannotBeReadEndsItWithLastWords() throws {
        let (own, other) = try sockets()
        let words = Pipe()
        let worker = try start([], input: other, words: words)
        _ = try hear(own)
        try own.write(contentsOf: [0xff, 0xff, 0xff, 0xff])
        let said = try words.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 1)
        #expect(said == "oam-worker-swift: the frame of 4294967295 bytes is over the limit of 67108864\n")
    }

    private struct Silence: Error {}

    private func start(
        _ arguments: [String], input: FileHandle, words: Pipe? = nil, script: String = "[]"
    ) throws -> Process {
        let checkout = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let worker = Process()
        worker.executableURL = checkout.appending(path: ".build/debug/oam-worker-swift")
        worker.arguments = arguments
        worker.environment = ["OAM_WORKER_STANDIN": script]
        worker.standardInput = input
        if let words { worker.standardError = words }
        try worker.run()
        if input !== FileHandle.nullDevice { try input.close() }
        return worker
    }

    private func sockets() throws -> (FileHandle, FileHandle) {
        var descriptors: [Int32] = [-1, -1]
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        try #require(socketpair(AF_UNIX, kind, 0, &descriptors) == 0)
        for descriptor in descriptors {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        return (
            FileHandle(fileDescriptor: descriptors[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: descriptors[1], closeOnDealloc: true)
        )
    }

    private func hear(_ connection: FileHandle) throws -> FromWorker {
        let header = try read(connection, 4)
        let length = header.reduce(0) { $0 << 8 | Int($1) }
        return try FromWorker(frameBody: try read(connection, length))
    }

    private func read(_ connection: FileHandle, _ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = try connection.read(upToCount: count - bytes.count), !more.isEmpty else { throw Silence() }
            bytes += more
        }
        return bytes
    }
}
