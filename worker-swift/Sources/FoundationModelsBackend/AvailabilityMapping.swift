// Whether the system's model can be asked, in the protocol's words.

import Foundation
import FoundationModels
import WorkerProtocol

extension Availability {
    /// What the system says of its model now.
    init(_ model: SystemLanguageModel) {
        let reason = UnavailableReason(model.availability)
        self.init(
            isAvailable: reason == nil,
            reason: reason,
            contextSize: Self.contextSize(told: model.contextSize),
            variant: Self.variant(of: model),
            supportedLanguages: model.supportedLanguages.map(\.minimalIdentifier).sorted())
    }

    /// The system says 0 when the parts of its model are damaged, although it calls it available: then it is unknown.
    static func contextSize(told: Int) -> UInt32 {
        told > 0 ? UInt32(clamping: told) : 0
    }

    private static func variant(of model: SystemLanguageModel) -> String? {
        guard #available(macOS 27.0, *) else { return nil }
        return model.variant.displayName
    }
}

extension UnavailableReason {
    /// Nil for a model that is available.
    init?(_ availability: SystemLanguageModel.Availability) {
        switch availability {
        case .available: return nil
        case .unavailable(.deviceNotEligible): self = .deviceNotEligible
        case .unavailable(.appleIntelligenceNotEnabled): self = .appleIntelligenceNotEnabled
        case .unavailable(.modelNotReady): self = .modelNotReady
        case .unavailable: self = .unknown
        }
    }

    /// For people.
    var sentence: String {
        switch self {
        case .deviceNotEligible: "This device cannot run the model."
        case .appleIntelligenceNotEnabled: "Apple Intelligence is switched off in the system's settings."
        case .modelNotReady: "The model is not ready: it may still be downloading."
        default: "The model cannot be used, for a reason that is not known."
        }
    }
}
