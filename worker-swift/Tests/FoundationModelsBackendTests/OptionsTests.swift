import FoundationModels
import Testing
import WorkerProtocol

@testable import FoundationModelsBackend

/// How to generate, in the framework's words.
@Suite struct OptionsTests {
    private typealias Theirs = FoundationModels.GenerationOptions
    private typealias Ours = WorkerProtocol.GenerationOptions

    @Test func whatIsAbsentIsLeftToTheModel() {
        #expect(Theirs(Ours()) == Theirs())
    }

    @Test func everyOptionIsPassedOn() {
        let options = Theirs(Ours(temperature: 0.7, maxResponseTokens: 256, sampling: .greedy))
        #expect(options == Theirs(samplingMode: .greedy, temperature: 0.7, maximumResponseTokens: 256))
        #expect(Theirs(Ours(sampling: .topK(k: 40, seed: .max))).samplingMode == .random(top: 40, seed: .max))
        #expect(Theirs(Ours(sampling: .topP(p: 0.9, seed: nil))).samplingMode == .random(probabilityThreshold: 0.9))
    }

    @available(macOS 27.0, *)
    @Test func aStepWithoutToolsHasNoToolMode() {
        #expect(Theirs().calling(.disallowed, ofTools: 0).toolCallingMode == nil)
        #expect(Theirs().calling(.allowed, ofTools: 1).toolCallingMode == .allowed)
        #expect(Theirs().calling(.required, ofTools: 1).toolCallingMode == .required)
        #expect(Theirs().calling(.disallowed, ofTools: 1).toolCallingMode == .disallowed)
    }
}
