//! A model that is not there: it says why, and every step fails with the reason.

use crate::{
    error::{ErrorCode, ModelError},
    model::{
        Availability, BoxFuture, DEFAULT_CONTEXT_SIZE, Model, StepOutcome, StepRequest, StepSink,
        UnavailableReason,
    },
};

/// Stands in for a model that cannot be used on this system.
#[derive(Debug, Clone)]
pub struct UnavailableModel {
    reason: UnavailableReason,
    hint: String,
}

impl UnavailableModel {
    /// `hint` tells the developer what to do about it, as one or more sentences; it may be empty.
    pub fn new(reason: UnavailableReason, hint: impl Into<String>) -> Self {
        Self { reason, hint: hint.into() }
    }
}

impl Model for UnavailableModel {
    fn step<'a>(
        &'a self,
        _request: StepRequest,
        _sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        let message = format!("The model is unavailable ({}). {}", self.reason.as_str(), self.hint);
        let error = ModelError::new(ErrorCode::ModelUnavailable, message.trim_end());
        Box::pin(std::future::ready(Err(error)))
    }

    fn availability(&self) -> Availability {
        Availability {
            unavailable: Some(self.reason),
            context_size: DEFAULT_CONTEXT_SIZE,
            variant: None,
            supported_languages: Vec::new(),
        }
    }

    fn context_size(&self) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GenerationOptions, ToolMode, transcript::TranscriptView};

    struct Silence;

    impl StepSink for Silence {
        fn text(&mut self, delta: &str) {
            panic!("said {delta}");
        }

        fn reset(&mut self, text: &str) {
            panic!("said {text}");
        }

        fn partial(&mut self, value: serde_json::Value) {
            panic!("said {value}");
        }
    }

    #[tokio::test]
    async fn every_step_fails_with_the_reason() {
        for (hint, message) in [
            ("Use a Mac.", "The model is unavailable (device_not_eligible). Use a Mac."),
            ("", "The model is unavailable (device_not_eligible)."),
        ] {
            let model = UnavailableModel::new(UnavailableReason::DeviceNotEligible, hint);
            assert_eq!(model.availability().unavailable, Some(UnavailableReason::DeviceNotEligible));
            let request = StepRequest {
                instructions: None,
                transcript: TranscriptView::default(),
                tools: Vec::new(),
                tool_mode: ToolMode::Disallowed,
                schema: None,
                options: GenerationOptions::default(),
                stream: false,
                cache_key: 0,
            };
            let error = model.step(request, &mut Silence).await.unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (ErrorCode::ModelUnavailable, message));
        }
    }
}
