//! How a turn ends that may leave client calls pending, so that another process can answer them later.
//!
//! A [`SuspendedTurn`] holds all that there is to save. It is resumed by a new agent whose history is the
//! [answered](OpenTranscript::answered) conversation, with a turn whose prompt is empty: behind tool outputs that goes on
//! with the turn that they belong to.

use std::sync::Arc;

use crate::{
    event::{StepInfo, TurnResponse},
    model::Usage,
    tool::{ToolCall, ToolRecord},
    transcript::json::OpenTranscript,
};

/// How a turn of [`Agent::respond_or_suspend`](crate::Agent::respond_or_suspend) ended.
#[derive(Debug, Clone)]
pub enum TurnEnd {
    /// The model answered. The conversation holds the turn.
    Completed(TurnResponse),
    /// The model called client tools. The agent's conversation is as it was before the turn.
    Suspended(Box<SuspendedTurn>),
}

/// A turn that waits for the outputs of client calls.
#[derive(Debug, Clone)]
pub struct SuspendedTurn {
    /// The conversation, which ends with the calls of the last round; none of them has its output there.
    pub conversation: OpenTranscript,
    /// The same calls with what became of them. At least one is pending.
    pub round: Vec<RoundCall>,
    /// The completed calls of all rounds, in the order of their completion.
    pub tool_calls: Vec<Arc<ToolRecord>>,
    /// The tokens of the attempt that was suspended.
    pub usage: Usage,
    /// All steps, those of failed attempts included.
    pub steps: Vec<Arc<StepInfo>>,
    /// How many rounds of the turn's budget are used.
    pub rounds_used: u32,
    /// How many calls of the turn's budget are used.
    pub calls_used: u32,
}

/// A call of the round in which a turn was suspended.
#[derive(Debug, Clone, PartialEq)]
pub enum RoundCall {
    /// A client's call, not answered.
    Pending(Arc<ToolCall>),
    /// A local tool has run, or the call was refused.
    Completed(Arc<ToolRecord>),
}

impl RoundCall {
    /// The call, if it waits for an output.
    pub fn pending(&self) -> Option<&Arc<ToolCall>> {
        match self {
            Self::Pending(call) => Some(call),
            Self::Completed(_) => None,
        }
    }
}

impl SuspendedTurn {
    /// The calls that wait for an output, in the order in which the model made them.
    pub fn pending(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.round.iter().filter_map(RoundCall::pending)
    }
}
