// One step at a time: the system's model serves one generation at a time anyway, and a step that was cancelled must have
// been let go of before the next begins.

/// Lets one through after the other, in the order in which they came.
actor StepGate {
    private(set) var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Runs something when all that came before has ended.
    func pass<Result: Sendable>(_ operation: @Sendable () async throws -> Result) async rethrows -> Result {
        await enter()
        defer { leave() }
        return try await operation()
    }

    private func enter() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            // It stays taken, by the next.
            waiting.removeFirst().resume()
        }
    }
}
