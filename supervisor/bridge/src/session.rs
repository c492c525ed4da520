//! A session: an agent, the queue of its operations, and what `session/list` tells of it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use oam_agent::Agent;

use crate::{
    journal::ObjectKind,
    message::BridgeError,
    objects::{Id, Object, Objects},
    queue::OperationQueue,
    realm::Keeper,
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
}

impl Object for Session {
    const PARAMETER: &'static str = "session";
    const ID_PREFIX: &'static str = "s";
    const KIND: ObjectKind = ObjectKind::Session;

    fn id(&self) -> &SessionId {
        &self.id
    }

    fn keeper(&self) -> Option<&Arc<Keeper>> {
        None
    }

    fn begin_keeping(&self, _: &Arc<Keeper>) {}

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
