import WorkerProtocol

/// A model behind the worker. The worker does the rest: the connection, the order, the ends.
public protocol StepRunner: Sendable {
    /// Loads what it needs and finds out what it can do. Called once, before `ready` is sent. A model that cannot be used
    /// is no reason to wait.
    func prepare() async -> Preparation

    /// Whether the model can be asked now.
    func availability() async -> Availability

    /// Plays one step. It may block its thread, and may be told to stop by the cancellation of its task; what it still says
    /// then is dropped, and the next step waits until it has returned.
    ///
    /// - Parameter answer: What to tell while the answer grows. Saying nothing is always right.
    /// - Throws: `Failure` for what went wrong by name. Anything else counts as `generation_failed`.
    func run(_ step: Generate, answer: StepAnswer) async throws -> StepResult

    /// Counts the tokens of a request. Only asked with the capability `tokenCount`.
    func countTokens(_ request: Generate) async throws -> UInt32

    /// Gets ready for steps with these instructions. Only asked with the capability `prewarm`.
    func prewarm(instructions: String?) async
}

extension StepRunner {
    public func countTokens(_ request: Generate) async throws -> UInt32 {
        throw Failure(.invalidRequest, "This worker does not count tokens.")
    }

    public func prewarm(instructions: String?) async {}
}

/// What a model found out about itself before it was ready.
public struct Preparation: Sendable, Equatable {
    /// What it can do.
    public var capabilities: Capabilities
    /// What the supervisor's log should know, such as what a self-test found.
    public var remarks: [Remark]

    public init(capabilities: Capabilities, remarks: [Remark] = []) {
        self.capabilities = capabilities
        self.remarks = remarks
    }

    /// A line for the log.
    public struct Remark: Sendable, Equatable {
        public var level: LogLevel
        public var message: String

        public init(_ level: LogLevel, _ message: String) {
            self.level = level
            self.message = message
        }
    }
}

/// What a step came to.
public struct StepResult: Sendable, Equatable {
    /// The whole of what the step produced, whatever was said on the way.
    public var outcome: Outcome
    /// What it cost.
    public var usage: TokenUsage

    public init(_ outcome: Outcome, usage: TokenUsage = TokenUsage()) {
        self.outcome = outcome
        self.usage = usage
    }
}

/// What a model may tell the supervisor outside of steps.
public struct SupervisorLink: Sendable {
    let outbox: Outbox

    /// Writes a line to the supervisor's log.
    public func log(_ level: LogLevel, _ message: String) {
        outbox.log(level, message)
    }

    /// Tells that the model can be asked now, or cannot any more. Only after `prepare()` has returned.
    public func announce(_ availability: Availability) {
        // It is small.
        try? outbox.send(.availability(id: nil, availability: availability))
    }
}
