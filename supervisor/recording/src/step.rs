//! A step as it was: what it asked, what was heard of it, how it ended.

use std::time::{Duration, SystemTime};

use oam_agent::{ErrorCode, ModelError, StepOutcome};
use serde_json::{Map, Value};

use crate::question::{Question, StepKey};

/// A recorded step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedStep {
    /// `None` when it was left out.
    pub(crate) question: Option<Question>,
    pub(crate) key: StepKey,
    /// How long it takes.
    pub(crate) delay: Duration,
    pub(crate) said: Vec<Piece>,
    pub(crate) end: End,
}

/// Something that a model said on the way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Reset(String),
    Partial(Value),
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    Answered(StepOutcome),
    Failed(Failure),
    /// It was cancelled, or the recording ended before it did.
    Unfinished,
}

/// A [`ModelError`] without points in time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) is_final: bool,
    pub(crate) data: Map<String, Value>,
}

/// What a wait is rounded up to: finer than anybody tells it, and coarser than the time until it is noted.
const TENTH: u128 = 100;

impl Failure {
    pub(crate) fn of(error: &ModelError, now: SystemTime) -> Self {
        let retry_after = error.retry_at.map(|at| {
            let millis = at.duration_since(now).unwrap_or_default().as_millis().div_ceil(TENTH) * TENTH;
            Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
        });
        Self {
            code: error.code,
            message: error.message.clone(),
            retry_after,
            is_final: error.is_final,
            data: error.data.clone(),
        }
    }

    pub(crate) fn into_error(self, now: SystemTime) -> ModelError {
        ModelError {
            code: self.code,
            message: self.message,
            retry_at: self.retry_after.and_then(|wait| now.checked_add(wait)),
            is_final: self.is_final,
            data: self.data,
        }
    }
}
