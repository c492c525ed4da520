import WorkerProtocol

/// The thread that inference cannot block: it reads the connection for as long as the process lives, which is no longer than
/// the connection.
struct Guard: Sendable {
    private static let chunkBytes = 64 << 10

    let connection: Connection
    let outbox: Outbox
    let steps: StepTable

    /// Watches until the worker is to end.
    func watch() -> Ending {
        var frames = FrameReader()
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        while true {
            let patience = steps.patience
            if let patience, patience <= .zero { return .modelIsStuck }
            guard connection.waitForInput(milliseconds: patience.map(Self.milliseconds) ?? -1) else { continue }
            guard let count = connection.read(into: &chunk) else { return .connectionEnded }
            frames.feed(chunk[..<count])
            do {
                while let body = try frames.next() {
                    obey(try ToWorker(frameBody: body))
                }
            } catch {
                return .malformedFrame("\(error)")
            }
        }
    }

    private func obey(_ message: ToWorker) {
        switch message {
        case .generate(let request): steps.begin(request)
        case .cancel(let id): steps.cancel(id)
        case .countTokens(let request): steps.count(request)
        case .prewarm(let instructions):
            guard let runner = steps.runner else { return }
            Task { await runner.prewarm(instructions: instructions) }
        case .availability(let id): answerAvailability(id)
        case .ping(let n): send(.pong(n: n))
        case .shutdown:
            steps.close()
            outbox.close()
        case .unknown(let type): outbox.log(.warning, "ignored a message of the type '\(type)'")
        }
    }

    private func answerAvailability(_ id: StepID) {
        guard let runner = steps.runner else {
            return send(.availability(id: id, availability: Availability(isAvailable: false, reason: .modelNotReady)))
        }
        Task { send(.availability(id: id, availability: await runner.availability())) }
    }

    private func send(_ message: FromWorker) {
        // All that is sent this way is small.
        try? outbox.send(message)
    }

    /// Rounded up to a second, so that waiting that long is enough.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        let atMost: Int64 = 3600
        return Int32(min(atMost, duration.components.seconds + 1) * 1000)
    }
}
