// Apple's on-device model behind the worker protocol.
//
// A step comes as a request of the protocol, is put into the framework's words (`FrameworkRequest`), is played in the best way
// that the system has (`StepPath`), and its end goes back in the protocol's words (`StepResult`, or a `Failure`).

import Foundation
import FoundationModels
import WorkerCore
import WorkerProtocol

/// The system's model, one step at a time. Keeps nothing of a step but decoded schemas.
public final class FoundationModelsBackend: StepRunner {
    /// How steps are played.
    let path: StepPath

    private let supervisor: SupervisorLink?
    private let remarks: [Preparation.Remark]
    private let model = SystemLanguageModel.default
    private let schemas = SchemaStore()
    let senses: ModelSenses
    /// A `DirectStep`, which older systems do not have.
    private let direct: (any Sendable)?

    /// Looks at the system and chooses the way in which steps are played. Loads nothing.
    ///
    /// - Parameter supervisor: Who hears of what is left out of a conversation, and of changes of the availability.
    public init(
        supervisor: SupervisorLink? = nil, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.supervisor = supervisor
        let (path, reason) = StepPath.best(forced: environment[StepPath.variable])
        self.path = path
        remarks = reason.map { [.init(.warning, $0)] } ?? []
        if #available(macOS 27.0, *), path != .session {
            direct = DirectStep(model: model)
            // A session is asked with a text, which holds no images.
            senses = path == .direct ? ModelSenses(model.capabilities) : ModelSenses(model.capabilities).subtracting(.images)
        } else {
            direct = nil
            senses = []
        }
    }

    public func prepare() async -> Preparation {
        if let supervisor { AvailabilityWatch.begin(model, supervisor) }
        var capabilities = path.capabilities
        capabilities.images = senses.contains(.images)
        return Preparation(capabilities: capabilities, remarks: remarks)
    }

    public func availability() async -> Availability { Availability(model) }

    public func run(_ step: Generate, answer: StepAnswer) async throws -> StepResult {
        try await play(step) { try answer.say($0) }
    }

    /// Plays a step. Ends when the model has let go of it, also when the task is cancelled.
    ///
    /// - Throws: ``Failure``.
    func play(_ step: Generate, say: @escaping SayPiece) async throws -> StepResult {
        do {
            try Task.checkCancellation()
            if let reason = UnavailableReason(model.availability) {
                throw Failure(.modelUnavailable, reason.sentence, data: ["reason": .text(reason.rawValue)])
            }
            let request = try FrameworkRequest(step, senses: senses, schemas: schemas)
            for omission in request.omissions { supervisor?.log(.info, omission) }
            return try await play(step, request, say: say)
        } catch {
            // Some ways to be cancelled look like any other failure.
            throw Task.isCancelled ? Failure(CancellationError()) : Failure(error)
        }
    }

    private func play(_ step: Generate, _ request: FrameworkRequest, say: @escaping SayPiece) async throws -> StepResult {
        if #available(macOS 27.0, *), path != .session {
            guard path == .direct, let direct = direct as? DirectStep else {
                return try await WrappedStep(model: model).play(step, request)
            }
            return try await direct.play(step, request, say: say)
        }
        guard step.tools.isEmpty else {
            throw Failure(
                .modelUnavailable, "On macOS 26 the model cannot be asked with tools. macOS 27 is needed for that.")
        }
        return try await SessionStep(model: model).play(step, request)
    }

    /// Counts the tokens of a request.
    ///
    /// - Throws: ``Failure``, also where the system cannot count: the supervisor then estimates.
    public func countTokens(_ request: Generate) async throws -> UInt32 {
        guard #available(macOS 26.4, *) else {
            throw Failure(.generationFailed, "This version of macOS does not count tokens.")
        }
        do {
            let request = try FrameworkRequest(request, senses: senses, schemas: schemas)
            var count = try await model.tokenCount(for: request.transcript)
            if let schema = request.schema { count += try await model.tokenCount(for: schema) }
            return UInt32(clamping: count)
        } catch {
            throw Failure(error)
        }
    }

    public func prewarm(instructions: String?) async {
        if #available(macOS 27.0, *), let direct = direct as? DirectStep {
            direct.prewarm(instructions: instructions)
        } else {
            LanguageModelSession(model: model, transcript: Transcript(instructions: instructions)).prewarm()
        }
    }
}

@available(macOS 27.0, *)
extension ModelSenses {
    init(_ capabilities: LanguageModelCapabilities) {
        self = []
        if capabilities.contains(.reasoning) { insert(.reasoning) }
        if capabilities.contains(.vision) { insert(.images) }
    }
}
