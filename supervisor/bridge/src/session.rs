//! The sessions of a bridge: each an agent, the queue of its operations, and what `session/list` tells of it.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use indexmap::IndexMap;
use oam_agent::Agent;
use serde::Serialize;

use crate::{message::BridgeError, queue::OperationQueue};

/// Identifies a session: chosen by the client or generated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub(crate) struct SessionId(Arc<str>);

impl SessionId {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::borrow::Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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

/// All sessions, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_id: IndexMap<SessionId, Arc<Session>>,
    last_generated: u64,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session with this id.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Session>, BridgeError> {
        self.lock().by_id.get(id).cloned().ok_or_else(|| BridgeError::session_not_found(id))
    }

    /// The id for a new session: the given one, if it is unused, or the next generated one.
    pub(crate) fn new_id(&self, chosen: Option<&str>) -> Result<SessionId, BridgeError> {
        let mut state = self.lock();
        if let Some(id) = chosen {
            let is_used = state.by_id.contains_key(id);
            return if is_used { Err(BridgeError::session_exists(id)) } else { Ok(SessionId::new(id)) };
        }
        loop {
            state.last_generated += 1;
            let id = SessionId::new(&format!("s{}", state.last_generated));
            if !state.by_id.contains_key(&id) {
                return Ok(id);
            }
        }
    }

    /// Adds a session, unless there are `limit` already.
    pub(crate) fn insert(&self, session: Session, limit: usize) -> Result<(), BridgeError> {
        let mut state = self.lock();
        if state.by_id.len() >= limit {
            return Err(BridgeError::session_limit(limit));
        }
        state.by_id.insert(session.id.clone(), Arc::new(session));
        Ok(())
    }

    /// Frees the id and returns the session it belonged to.
    pub(crate) fn remove(&self, id: &str) -> Result<Arc<Session>, BridgeError> {
        self.lock().by_id.shift_remove(id).ok_or_else(|| BridgeError::session_not_found(id))
    }

    /// Takes all sessions out.
    pub(crate) fn remove_all(&self) -> Vec<Arc<Session>> {
        std::mem::take(&mut self.lock().by_id).into_values().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().by_id.values().cloned().collect()
    }
}
