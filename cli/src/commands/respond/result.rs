//! How a turn ended, as machines read it.

use std::{path::Path, sync::Arc};

use oam_agent::{StepInfo, ToolCall, ToolRecord, Usage};
use serde::Serialize;
use serde_json::Value;

/// The model answered.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename = "completed", rename_all = "camelCase")]
pub(super) struct Completed<'a> {
    pub(super) text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structured: Option<&'a Value>,
    /// Those of the whole turn.
    pub(super) tool_calls: Vec<&'a ToolRecord>,
    /// That of this invocation.
    pub(super) usage: Usage,
    /// Those of this invocation.
    pub(super) steps: &'a [Arc<StepInfo>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transcript: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) warnings: &'a [String],
}

/// External tools are to be run.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename = "tool_calls")]
pub(super) struct CallsPending<'a> {
    pub(super) calls: Vec<&'a ToolCall>,
    pub(super) transcript: String,
}

/// The last event of a turn.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum LastEvent<'a> {
    Completed { response: Completed<'a> },
    ToolCalls(CallsPending<'a>),
}

/// A path in JSON, which is text.
pub(super) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
