//! Which outputs were given for the calls that wait.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use oam_agent::{ToolCall, ToolOutput, json_text};

use super::arguments::AnswerArguments;
use crate::{
    failure::{Failure, FailureCode},
    transcript_file::WaitingTurn,
};

/// Outputs by the ids of their calls.
pub(super) type Outputs = HashMap<String, ToolOutput>;

/// Reads the outputs that were given for calls of `turn`. Fails with `usage` when one is for another call, or one of two
/// for the same.
pub(super) fn read(arguments: &AnswerArguments, turn: &WaitingTurn) -> Result<Outputs, Failure> {
    let mut outputs = Outputs::new();
    for (answer, is_error) in arguments.all() {
        let id = &answer.id;
        if !turn.pending().any(|call| call.id.as_str() == id) {
            let ids: Vec<_> = turn.pending().map(|call| call.id.as_str()).collect();
            return Err(Failure::usage(format!(
                "No call '{id}' waits for an output; these do: {}.",
                ids.join(", ")
            )));
        }
        let output = if is_error { answer.given.error() } else { answer.given.output() }?;
        if outputs.insert(id.clone(), output).is_some() {
            return Err(Failure::usage(format!("There are two outputs for call '{id}'; give one.")));
        }
    }
    Ok(outputs)
}

/// The calls of `turn` that have no output yet.
pub(super) fn missing(outputs: &Outputs, turn: &WaitingTurn) -> Vec<Arc<ToolCall>> {
    turn.pending().filter(|call| !outputs.contains_key(call.id.as_str())).cloned().collect()
}

/// Fails with `missing_tool_output` when a call has no output.
pub(super) fn expect_none(missing: &[Arc<ToolCall>]) -> Result<(), Failure> {
    if missing.is_empty() {
        return Ok(());
    }
    let mut message =
        "These calls wait for an output (--tool-output <id>=<output> or --tool-error <id>=<message>):"
            .to_owned();
    for call in missing {
        // Writing to a text does not fail.
        let _ = write!(message, "\n  {} {} {}", call.id, call.name, json_text::compact(&call.arguments));
    }
    Err(Failure::new(FailureCode::MissingToolOutput, message))
}
