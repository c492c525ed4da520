//! A session: an agent, the queue of its operations, and what `session/list` tells of it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use oam_agent::{Agent, AgentError, FinishedCompaction, FinishedTurn, IdleConversation, Tool};
use serde_json::Value;

use crate::{
    journal::ObjectKind,
    message::BridgeError,
    objects::{Id, Object, Objects},
    queue::OperationQueue,
    realm::{Keeper, SessionRecorder},
};

pub(crate) type SessionId = Id<Session>;
pub(crate) type Sessions = Objects<Session>;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) agent: Agent,
    pub(crate) queue: Arc<OperationQueue>,
    /// `system`, `scripted` or a custom type.
    pub(crate) model: String,
    /// The time limit of tools that bring none.
    pub(crate) tool_timeout: Option<Duration>,
    pub(crate) created_at: SystemTime,
    /// Records what becomes of it, in a durable realm.
    pub(crate) recorder: Option<SessionRecorder>,
}

/// All that changes a session's agent, apart from a turn in progress, goes through here.
impl Session {
    /// Reads the agent while it is what is recorded of it, apart from a turn in progress.
    pub(crate) fn look<T>(&self, read: impl FnOnce(&Agent) -> T) -> T {
        match &self.recorder {
            Some(recorder) => recorder.look(|| read(&self.agent)),
            None => read(&self.agent),
        }
    }

    pub(crate) fn keep_turn(&self, turn: FinishedTurn<'_>) {
        match &self.recorder {
            Some(recorder) => recorder.turn(&self.agent, turn),
            None => turn.keep(),
        }
    }

    pub(crate) fn keep_compaction(&self, compaction: FinishedCompaction<'_>) {
        match &self.recorder {
            Some(recorder) => recorder.compaction(&self.agent, compaction),
            None => compaction.keep(),
        }
    }

    /// Clears the conversation and the context note.
    pub(crate) async fn reset(&self) {
        let clear = |conversation: IdleConversation<'_>| match &self.recorder {
            Some(recorder) => recorder.reset(&self.agent, || conversation.clear(None)),
            None => conversation.clear(None),
        };
        self.agent.reset_with(clear).await;
    }

    pub(crate) fn set_instructions(&self, instructions: Option<Arc<str>>) {
        match &self.recorder {
            Some(recorder) => recorder.instructions(&self.agent, instructions),
            None => self.agent.set_instructions(instructions),
        }
    }

    pub(crate) fn set_context_note(&self, note: Option<Arc<str>>) {
        match &self.recorder {
            Some(recorder) => recorder.note(&self.agent, note),
            None => self.agent.set_context_note(note),
        }
    }

    /// Gives it these tools, which are defined so.
    pub(crate) fn set_tools(&self, tools: Vec<Tool>, definitions: &[Value]) -> Result<(), AgentError> {
        let set = || self.agent.set_tools(tools);
        match &self.recorder {
            Some(recorder) => recorder.tools(definitions.into(), set),
            None => set(),
        }
    }

    /// Called when an operation has ended, whichever way.
    pub(crate) fn operation_ended(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.operation_ended(&self.agent);
        }
    }
}

impl Object for Session {
    const PARAMETER: &'static str = "session";
    const ID_PREFIX: &'static str = "s";
    const KIND: ObjectKind = ObjectKind::Session;

    fn id(&self) -> &SessionId {
        &self.id
    }

    fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.recorder.as_ref().map(SessionRecorder::keeper)
    }

    fn begin_keeping(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.record_whole(&self.agent);
        }
    }

    fn not_found(id: &str) -> BridgeError {
        BridgeError::session_not_found(id)
    }

    fn exists(id: &str) -> BridgeError {
        BridgeError::session_exists(id)
    }

    fn limit_reached(limit: usize) -> BridgeError {
        BridgeError::session_limit(limit)
    }
}
