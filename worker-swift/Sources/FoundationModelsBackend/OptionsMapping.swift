// How to generate, in the framework's words.

import FoundationModels
import WorkerProtocol

extension FoundationModels.GenerationOptions {
    init(_ options: WorkerProtocol.GenerationOptions) {
        let sampling: SamplingMode? = switch options.sampling {
        case nil: nil
        case .greedy?: .greedy
        case .topK(let k, let seed)?: .random(top: Int(k), seed: seed)
        case .topP(let p, let seed)?: .random(probabilityThreshold: p, seed: seed)
        }
        self.init(
            samplingMode: sampling,
            temperature: options.temperature,
            maximumResponseTokens: options.maxResponseTokens.map(Int.init))
    }

    /// The options with a tool mode. A step without tools has none: the framework refuses to require one of no tools.
    @available(macOS 27.0, *)
    func calling(_ mode: ToolMode, ofTools count: Int) -> Self {
        var options = self
        guard count > 0 else { return options }
        options.toolCallingMode = switch mode {
        case .allowed: .allowed
        case .required: .required
        case .disallowed: .disallowed
        }
        return options
    }
}
