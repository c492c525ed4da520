//! What can go wrong in a turn, under the stable names of the protocol's error table (docs/PROTOCOL.md, Errors).

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

/// The stable name of a failure. Clients, scripts and workers all use these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The model cannot be used now: wrong device, switched off, still loading, or its workers keep dying.
    ModelUnavailable,
    /// Input or output tripped the model's safety rules.
    GuardrailViolation,
    /// The model declined to answer.
    Refusal,
    /// The request does not fit the model's context.
    ContextSizeExceeded,
    /// The system limits how often the model may be asked.
    RateLimited,
    /// The prompt's language is not supported.
    UnsupportedLanguage,
    /// A schema or a tool's parameters cannot be used.
    InvalidSchema,
    /// A local tool ended the turn.
    ToolFailed,
    /// The turn was cancelled.
    Cancelled,
    /// The model or a queue cannot take more work.
    Busy,
    /// The request itself is not usable.
    InvalidRequest,
    /// Any other failure of the model.
    GenerationFailed,
}

impl ErrorCode {
    /// All codes, in the order of the protocol's table.
    pub const ALL: [Self; 12] = [
        Self::ModelUnavailable,
        Self::GuardrailViolation,
        Self::Refusal,
        Self::ContextSizeExceeded,
        Self::RateLimited,
        Self::UnsupportedLanguage,
        Self::InvalidSchema,
        Self::ToolFailed,
        Self::Cancelled,
        Self::Busy,
        Self::InvalidRequest,
        Self::GenerationFailed,
    ];

    /// The name on the wire (`data.code`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelUnavailable => "model_unavailable",
            Self::GuardrailViolation => "guardrail_violation",
            Self::Refusal => "refusal",
            Self::ContextSizeExceeded => "context_size_exceeded",
            Self::RateLimited => "rate_limited",
            Self::UnsupportedLanguage => "unsupported_language",
            Self::InvalidSchema => "invalid_schema",
            Self::ToolFailed => "tool_failed",
            Self::Cancelled => "cancelled",
            Self::Busy => "busy",
            Self::InvalidRequest => "invalid_request",
            Self::GenerationFailed => "generation_failed",
        }
    }

    /// The code with this name on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == name)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a model step failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The stable name of the failure.
    pub code: ErrorCode,
    /// A sentence for the developer who reads it.
    pub message: String,
    /// When the system lets the model be asked again, if it told.
    pub retry_at: Option<SystemTime>,
    /// A final verdict is never retried, whatever its code (a step that keeps killing its workers).
    pub is_final: bool,
    /// Further members of the error's `data`.
    pub data: Map<String, Value>,
}

impl ModelError {
    /// An error that the retry rules treat by its code alone.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_at: None, is_final: false, data: Map::new() }
    }

    /// The time from now until the model may be asked again, rounded up to whole seconds.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.retry_at?.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO);
        Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
    }
}

/// Why a turn, or another operation on an agent, failed. The conversation is then as it was before.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AgentError {
    /// A model step failed and no attempt was left.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The turn was cancelled before its answer was committed.
    #[error("The turn was cancelled.")]
    Cancelled,
    /// The turn's tool choice names a tool that the agent does not have.
    #[error("The tool choice names tool '{tool}', which is not available.")]
    UnknownToolChoice {
        /// The name in the choice.
        tool: String,
    },
    /// The agent cannot be set up like this.
    #[error("{0}")]
    InvalidRequest(String),
}

impl AgentError {
    /// The stable name of the failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Model(error) => error.code,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::UnknownToolChoice { .. } | Self::InvalidRequest(_) => ErrorCode::InvalidRequest,
        }
    }

    /// Whether guardrails or the model itself refused.
    pub fn is_blocked(&self) -> bool {
        matches!(self.code(), ErrorCode::GuardrailViolation | ErrorCode::Refusal)
    }
}
