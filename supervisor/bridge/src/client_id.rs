//! Whose work it is: models and tools that clients share can tell them apart.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    static CURRENT: ClientId;
}

/// A bridge's client, unlike any other in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(u64);

impl ClientId {
    /// A client that there was not yet.
    #[expect(clippy::new_without_default, reason = "two are never the same")]
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The work, done for this client: [`current_client`] says so within it, though not in tasks that it spawns.
    pub fn scope<F: Future>(self, work: F) -> TaskLocalFuture<Self, F> {
        CURRENT.scope(self, work)
    }
}

/// The client whose request is being worked on. `None` for what no client waits for, such as the compaction of an NPC's
/// memory.
pub fn current_client() -> Option<ClientId> {
    CURRENT.try_get().ok()
}
