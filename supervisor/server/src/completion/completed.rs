//! What a completion comes to.

use oam_agent::{CallId, ToolCall, Usage, json_text};
use serde::Serialize;

/// What a completion comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Completed {
    pub(crate) output: Output,
    pub(crate) usage: TokenUsage,
}

/// What the model gave.
#[derive(Debug, PartialEq)]
pub(crate) enum Output {
    /// An answer.
    Text { text: String, is_cut: bool },
    /// Calls that the client is to execute; at least one.
    ToolCalls(Vec<Call>),
    /// Why it will not answer.
    Refusal(String),
}

/// A call that the client is to execute.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// The JSON text of an object.
    pub(crate) arguments: String,
}

impl Call {
    pub(super) fn of(call: &ToolCall) -> Self {
        // The conversation knows it by the model's own id; the client gets one that it can use for ever.
        Self { id: CallId::random(), name: call.name.clone(), arguments: json_text::compact(&call.arguments) }
    }
}

/// Why an answer ends where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

/// Tokens that a completion used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenUsage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    /// Those of the prompt that the model had cached.
    pub(crate) cached: u64,
}

impl Output {
    pub(crate) fn finish(&self) -> Finish {
        match self {
            Self::Text { is_cut: true, .. } => Finish::Length,
            Self::Text { .. } | Self::Refusal(_) => Finish::Stop,
            Self::ToolCalls(_) => Finish::ToolCalls,
        }
    }
}

impl TokenUsage {
    pub(crate) fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, cached_input_tokens, output_tokens } = usage;
        Self { prompt: input_tokens, completion: output_tokens, cached: cached_input_tokens }
    }
}
