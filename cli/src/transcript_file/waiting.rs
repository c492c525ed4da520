//! A turn that waits for outputs of external tools, as a file keeps it.

use std::{sync::Arc, time::Duration};

use oam_agent::{
    RoundCall, SuspendedTurn, ToolCall, ToolOutput, ToolRecord,
    transcript::json::{OpenTranscript, SavedTranscript},
};
use serde_json::Value;

/// Everything that it takes to go on with the turn.
#[derive(Debug, Clone)]
pub(crate) struct WaitingTurn {
    /// The conversation; it ends with the calls of the round.
    pub(crate) transcript: OpenTranscript,
    /// What became of each of these calls, in the same order.
    pub(crate) round: Vec<RoundCall>,
    /// The calls of the whole turn that are completed.
    pub(crate) tool_calls: Vec<Arc<ToolRecord>>,
    /// Rounds of the turn so far.
    pub(crate) rounds_used: u32,
    /// Calls of the turn so far.
    pub(crate) calls_used: u32,
    /// The JSON Schema of the answer, if it is to be structured.
    pub(crate) schema: Option<Value>,
}

/// What earlier invocations did of a turn. Nothing, for a turn that begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// The completed calls.
    pub(crate) tool_calls: Vec<Arc<ToolRecord>>,
    pub(crate) rounds_used: u32,
    pub(crate) calls_used: u32,
}

impl WaitingTurn {
    /// The turn that waits now, after earlier invocations.
    pub(crate) fn new(turn: SuspendedTurn, before: Progress, schema: Option<Value>) -> Self {
        let Progress { mut tool_calls, rounds_used, calls_used } = before;
        tool_calls.extend(turn.tool_calls);
        Self {
            transcript: turn.conversation,
            round: turn.round,
            tool_calls,
            rounds_used: rounds_used.saturating_add(turn.rounds_used),
            calls_used: calls_used.saturating_add(turn.calls_used),
            schema,
        }
    }

    /// The calls that wait, in the order in which the model made them.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.round.iter().filter_map(RoundCall::pending)
    }

    /// The conversation with all outputs, ready to go on, and what was done of the turn. `output` gives the outputs of the
    /// calls that wait.
    pub(crate) fn answered(
        self,
        mut output: impl FnMut(&ToolCall) -> ToolOutput,
    ) -> (SavedTranscript, Progress) {
        let Self { transcript, round, mut tool_calls, rounds_used, calls_used, schema: _ } = self;
        let mut texts = Vec::with_capacity(round.len());
        for call in round {
            let record = match call {
                RoundCall::Completed(record) => record,
                RoundCall::Pending(call) => {
                    let output = output(&call);
                    let record = Arc::new(ToolRecord { call, output, duration: Duration::ZERO });
                    tool_calls.push(Arc::clone(&record));
                    record
                }
            };
            texts.push(record.output.model_text());
        }
        let mut texts = texts.into_iter();
        let transcript = transcript.answered(|_| texts.next().unwrap_or_default());
        (transcript, Progress { tool_calls, rounds_used, calls_used })
    }
}
