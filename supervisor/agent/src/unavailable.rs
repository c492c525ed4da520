//! A model that is not there: it says why, and every step fails with the reason.

use crate::{
    error::{ErrorCode, ModelError},
    model::{
        Availability, BoxFuture, DEFAULT_CONTEXT_SIZE, Model, StepOutcome, StepRequest, StepSink, UnavailableReason,
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
