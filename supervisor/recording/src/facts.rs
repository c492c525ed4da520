//! What a model tells of itself.

use oam_agent::{Availability, Capabilities, DEFAULT_CONTEXT_SIZE, Model, UnavailableReason};
use serde::{Deserialize, Serialize};

/// What a model tells of itself, in the form of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ModelFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<Reason>,
    context_size: u32,
    /// The size that conversations are trimmed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_limit: Option<u32>,
    supported_languages: Vec<String>,
    capabilities: Vec<Capability>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    DeviceNotEligible,
    AppleIntelligenceNotEnabled,
    ModelNotReady,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Capability {
    Streaming,
    NativeTools,
    GuidedGeneration,
    TokenCount,
    Images,
}

impl Default for ModelFacts {
    fn default() -> Self {
        Self {
            variant: None,
            unavailable: None,
            context_size: DEFAULT_CONTEXT_SIZE,
            context_limit: None,
            supported_languages: Vec::new(),
            capabilities: Vec::new(),
        }
    }
}

impl ModelFacts {
    pub(crate) fn of(model: &dyn Model) -> Self {
        let Availability { unavailable, context_size, variant, supported_languages } = model.availability();
        let has = model.capabilities();
        let capabilities = [
            (has.streaming, Capability::Streaming),
            (has.native_tools, Capability::NativeTools),
            (has.guided_generation, Capability::GuidedGeneration),
            (has.token_count, Capability::TokenCount),
            (has.images, Capability::Images),
        ];
        Self {
            variant,
            unavailable: unavailable.map(Reason::from),
            context_size,
            context_limit: model.context_size(),
            supported_languages,
            capabilities: capabilities.into_iter().filter_map(|(has, it)| has.then_some(it)).collect(),
        }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.unavailable.is_none()
    }

    pub(crate) fn availability(&self) -> Availability {
        Availability {
            unavailable: self.unavailable.map(UnavailableReason::from),
            context_size: self.context_size,
            variant: self.variant.clone(),
            supported_languages: self.supported_languages.clone(),
        }
    }

    pub(crate) fn context_limit(&self) -> Option<u32> {
        self.context_limit
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let has = |capability| self.capabilities.contains(&capability);
        Capabilities {
            streaming: has(Capability::Streaming),
            native_tools: has(Capability::NativeTools),
            guided_generation: has(Capability::GuidedGeneration),
            token_count: has(Capability::TokenCount),
            images: has(Capability::Images),
        }
    }
}

impl From<UnavailableReason> for Reason {
    fn from(reason: UnavailableReason) -> Self {
        match reason {
            UnavailableReason::DeviceNotEligible => Self::DeviceNotEligible,
            UnavailableReason::AppleIntelligenceNotEnabled => Self::AppleIntelligenceNotEnabled,
            UnavailableReason::ModelNotReady => Self::ModelNotReady,
            UnavailableReason::Unknown => Self::Unknown,
        }
    }
}

impl From<Reason> for UnavailableReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::DeviceNotEligible => Self::DeviceNotEligible,
            Reason::AppleIntelligenceNotEnabled => Self::AppleIntelligenceNotEnabled,
            Reason::ModelNotReady => Self::ModelNotReady,
            Reason::Unknown => Self::Unknown,
        }
    }
}
