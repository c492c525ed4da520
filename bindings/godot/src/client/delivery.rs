//! What a client hands to its owner.

use serde_json::{Map, Value};

use super::{error::RequestError, request::RequestId};

/// What came of a message, for whom.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery<O> {
    /// A request is under way; only with `"stream": true`.
    Progress {
        /// Whose request.
        owner: O,
        /// What happened.
        progress: Progress,
    },
    /// A request is done. The last that is heard of it.
    Completed {
        /// Whose request.
        owner: O,
        /// Its result.
        outcome: Result<Value, RequestError>,
    },
    /// The model wants something done. Answer it with [`Client::answer`](super::Client::answer).
    ToolCall {
        /// Whose request it belongs to.
        owner: Option<O>,
        /// What is wanted.
        call: ToolCall,
    },
    /// The answer to a call is no longer wanted.
    ToolCancelled {
        /// The id of the call.
        call: String,
        /// Why, for a log.
        reason: String,
    },
    /// Something changed below the path of a subscription.
    WorldChanged {
        /// Whose subscription.
        owner: O,
        /// What changed.
        change: Change,
    },
    /// A notification of another kind.
    Notification {
        /// Its method.
        method: String,
        /// Its params.
        params: Value,
    },
    /// A message of ours was not understood.
    Refused(RequestError),
}

/// Something happened in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The event as it came.
    pub event: Value,
    /// What it changes in what the player sees.
    pub shown: Option<Shown>,
}

/// What the player is to see.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// The text of the answer, or the line of the NPC.
    Text {
        /// What was appended; `None` when the text was replaced.
        delta: Option<String>,
        /// The whole text so far.
        so_far: String,
    },
    /// The emotion of the NPC.
    Emotion(String),
}

/// A tool call that wants an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// What [`Client::answer`](super::Client::answer) knows it by.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// They fit the tool's parameters.
    pub arguments: Map<String, Value>,
    /// The session that calls, if it is one.
    pub session: Option<String>,
    /// The NPC that calls, if it is one.
    pub npc: Option<String>,
    /// Which of several decisions calls.
    pub index: Option<u64>,
    pub(super) request: Option<RequestId>,
}

/// A change of a world.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The world.
    pub world: String,
    /// Where.
    pub path: String,
    /// What was there; `None` when nothing was.
    pub old: Option<Value>,
    /// What is there now; `None` when nothing is.
    pub new: Option<Value>,
}
