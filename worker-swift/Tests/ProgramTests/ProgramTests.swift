import Foundation
import Testing
import WorkerProtocol

/// The program as a process of its own.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProgramTests {
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

    @Test func lastWordsThatNobodyReadsHoldUpNothing() throws {
        let (own, other) = try sockets()
        let words = Pipe()
        let worker = try start([], input: other, words: words)
        _ = try hear(own)
        // Its tool mode is a text of 1 MiB, which is more than a pipe holds.
        var body: [UInt8] = [0x84]
        for text in ["type", "generate", "id", "transcript", "toolMode"] {
            body += [0xa0 | UInt8(text.utf8.count)] + Array(text.utf8)
            if text == "id" { body.append(1) }
            if text == "transcript" { body.append(0x90) }
        }
        body += [0xdb, 0, 0x10, 0, 0] + [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        try own.write(contentsOf: withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body)
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 1)
        let said = try words.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(said.hasPrefix("oam-worker-swift: the frame is no message: there is no ToolMode 'xxx"))
        #expect(said.utf8.count < 5000)
    }

    /// A descriptor that is free would be that of the connection.
    @Test func whatItPrintsWithoutAPlaceToPrintToIsNoFrame() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "oam-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "socket").path
        let listener = try listen(on: path)
        let worker = Process()
        worker.executableURL = URL(filePath: "/bin/sh")
        worker.arguments = ["-c", #"exec "$0" "$@" 2>&-"#, Self.program.path, "--connect", path]
        worker.environment = ["OAM_WORKER_STANDIN": "[]"]
        try worker.run()
        let own = FileHandle(fileDescriptor: accept(listener.fileDescriptor, nil, nil), closeOnDealloc: true)
        guard case .ready = try hear(own) else { throw Silence() }
        try own.write(contentsOf: [0xff, 0xff, 0xff, 0xff])
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 1)
        #expect(try own.readToEnd() ?? Data() == Data())
    }

    private struct Silence: Error {}

    private static let program = URL(filePath: #filePath).appending(path: "../../../../.build/debug/oam-worker-swift")
        .standardizedFileURL

    private func start(
        _ arguments: [String], input: FileHandle, words: Pipe? = nil, script: String = "[]"
    ) throws -> Process {
        let worker = Process()
        worker.executableURL = Self.program
        worker.arguments = arguments
        worker.environment = ["OAM_WORKER_STANDIN": script]
        worker.standardInput = input
        if let words { worker.standardError = words }
        try worker.run()
        if input !== FileHandle.nullDevice { try input.close() }
        return worker
    }

    #if canImport(Darwin)
        private static let stream = SOCK_STREAM
    #else
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #endif

    private func listen(on path: String) throws -> FileHandle {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        try #require(path.utf8.count < room)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let listener = FileHandle(fileDescriptor: socket(AF_UNIX, Self.stream, 0), closeOnDealloc: true)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener.fileDescriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && Foundation.listen(listener.fileDescriptor, 1) == 0)
        return listener
    }

    private func sockets() throws -> (FileHandle, FileHandle) {
        var descriptors: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Self.stream, 0, &descriptors) == 0)
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
