//! The states of a server, and who is told of them.

use std::{fmt, sync::Arc};

use tokio::sync::watch;

/// What a server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It listens.
    Running,
    /// A listener failed and is made anew.
    Restarting {
        /// Counts from 1.
        attempt: u32,
        /// What went wrong last.
        reason: String,
    },
    /// It has ended.
    Stopped {
        /// What went wrong; `None` if it was stopped.
        reason: Option<String>,
    },
}

/// Is told each state of a server, in order.
pub type StateObserver = Arc<dyn Fn(&ServerState) + Send + Sync>;

/// The state of a server.
pub(super) struct Lifecycle {
    state: watch::Sender<ServerState>,
    observer: Option<StateObserver>,
}

impl Lifecycle {
    /// Running.
    pub(super) fn new(observer: Option<StateObserver>) -> Self {
        let lifecycle = Self { state: watch::Sender::new(ServerState::Running), observer };
        lifecycle.tell(&ServerState::Running);
        lifecycle
    }

    /// What is stopped stays so.
    pub(super) fn set(&self, state: &ServerState) {
        let changed = self.state.send_if_modified(|current| {
            let changes = current != state && !matches!(current, ServerState::Stopped { .. });
            if changes {
                current.clone_from(state);
            }
            changes
        });
        if changed {
            self.tell(state);
        }
    }

    fn tell(&self, state: &ServerState) {
        if let Some(observer) = &self.observer {
            observer(state);
        }
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    /// Waits for the end, and returns what went wrong.
    pub(super) async fn stopped(&self) -> Option<String> {
        let mut states = self.state.subscribe();
        let stopped = states.wait_for(|state| matches!(state, ServerState::Stopped { .. })).await;
        match stopped.as_deref() {
            Ok(ServerState::Stopped { reason }) => reason.clone(),
            _ => None,
        }
    }
}

impl fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifecycle").field("state", &self.state).finish_non_exhaustive()
    }
}
