//! What happens in a turn, as a host hears of it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::{
    model::{ToolMode, Usage},
    text_so_far::TextSoFar,
    tool::{ToolCall, ToolName, ToolRecord},
};

/// Something that happened in a turn. Serializes as the protocol's `event` object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TurnEvent {
    /// The model is about to be asked.
    ModelStep {
        /// What was decided for the step.
        step: Arc<StepInfo>,
    },
    /// The answer grew, or was rewritten.
    Text(TextEvent),
    /// The structured answer so far.
    Partial {
        /// Members in the order of generation.
        value: Value,
    },
    /// A tool call began. A client tool is to be executed when it is asked for, not now.
    ToolCallStarted {
        /// The call.
        call: Arc<ToolCall>,
        /// Who executes it.
        execution: Execution,
    },
    /// A tool call ended.
    ToolCallCompleted {
        /// The call and what came back.
        record: Arc<ToolRecord>,
    },
}

/// New text of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEvent {
    /// What to append, or after a reset the whole text.
    pub delta: String,
    /// The whole answer so far.
    pub text: TextSoFar,
    /// The model rewrote earlier text.
    pub is_reset: bool,
}

/// Who executes a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// The client or host.
    Client,
    /// A function in this process.
    Local,
}

/// What was decided for a model step before the model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInfo {
    /// Counts the steps of an attempt from 0.
    pub index: u32,
    /// Rounds of tool calls so far in the turn.
    pub completed_tool_rounds: u32,
    /// Whether the model may, must or must not call tools.
    pub tool_calling_mode: ToolMode,
    /// The tools the model sees, in definition order; none when disallowed.
    pub enabled_tools: Vec<ToolName>,
    /// How many of the oldest entries are hidden from the model.
    pub trimmed_entries: usize,
}

/// A finished turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResponse {
    /// The answer; in a turn with a schema the JSON text of `structured`.
    pub text: String,
    /// The structured answer, members in the schema's order.
    pub structured: Option<Value>,
    /// All calls, in the order of their completion.
    pub tool_calls: Vec<Arc<ToolRecord>>,
    /// The tokens of the attempt that succeeded.
    pub usage: Usage,
    /// Of these, the tokens of the step that gave the answer.
    pub answer_usage: Usage,
    /// All steps, those of failed attempts included.
    pub steps: Vec<Arc<StepInfo>>,
}
