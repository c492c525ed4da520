// Apple's on-device model behind the worker protocol.
//
// A step comes as a request of the protocol, is put into the framework's words (`FrameworkRequest`), is played in the best way
// that the system has (`StepPath`), and its end goes back in the protocol's words (`StepResult`, or a `Failure`).

import Foundation
import FoundationModels
import WorkerCore
import WorkerProtocol

/// The system's model, one step at a time. Keeps nothing of a step but decoded schemas.
public final class FoundationModelsBackend: Sendable {
    /// How steps are played.
    public let path: StepPath
    /// What whoever reads the log should know of the start.
    public let notes: [String]

    private let model = SystemLanguageModel.default
    private let schemas = SchemaStore()
    private let gate = StepGate()
    private let senses: ModelSenses
    private let direct: (any Sendable)?

    /// Looks at the system and chooses the way in which steps are played. Loads nothing.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        let (path, reason) = StepPath.best(forced: environment[StepPath.variable])
        self.path = path
        notes = reason.map { [$0] } ?? []
        if #available(macOS 27.0, *), path != .session {
            direct = DirectStep(model: model)
            senses = ModelSenses(model.capabilities)
        } else {
            direct = nil
            senses = []
        }
    }

    public var capabilities: Capabilities { path.capabilities }

    /// What the system says of its model now.
    public var availability: Availability { Availability(model) }

    /// Plays a step. Ends when the model has let go of it, also when the task is cancelled.
    ///
    /// - Throws: ``Failure``.
    public func play(
        _ step: Generate, log: @escaping @Sendable (String) -> Void, say: @escaping @Sendable (StepPiece) -> Void
    ) async throws -> StepResult {
        do {
            return try await gate.pass {
                try Task.checkCancellation()
                try self.checkAvailability()
                let request = try FrameworkRequest(step, senses: self.senses, schemas: self.schemas)
                request.omissions.forEach(log)
                return try await self.play(step, request, say: say)
            }
        } catch {
            // Some ways to be cancelled look like any other failure.
            throw Task.isCancelled ? Failure(CancellationError()) : Failure(error)
        }
    }

    /// Whether a step is being played.
    var isBusy: Bool {
        get async { await gate.isTaken }
    }

    private func play(
        _ step: Generate, _ request: FrameworkRequest, say: @escaping @Sendable (StepPiece) -> Void
    ) async throws -> StepResult {
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

    private func checkAvailability() throws {
        guard let reason = UnavailableReason(model.availability) else { return }
        throw Failure(.modelUnavailable, reason.sentence, data: ["reason": .text(reason.rawValue)])
    }

    /// Counts the tokens of a request.
    ///
    /// - Throws: ``Failure``, also where the system cannot count: the supervisor then estimates.
    public func countTokens(_ step: Generate) async throws -> UInt32 {
        guard #available(macOS 26.4, *) else {
            throw Failure(.generationFailed, "This version of macOS does not count tokens.")
        }
        do {
            let request = try FrameworkRequest(step, senses: senses, schemas: schemas)
            var count = try await model.tokenCount(for: request.transcript)
            if let schema = request.schema { count += try await model.tokenCount(for: schema) }
            return UInt32(clamping: count)
        } catch {
            throw Failure(error)
        }
    }

    /// Lets the model get ready for conversations that begin with these instructions. Returns at once.
    public func prewarm(instructions: String?) {
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
