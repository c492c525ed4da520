//! The realms on disk: a store that is opened when it can be, and closed in order.
//!
//! A store that cannot be opened (another process has it, a newer version wrote it, it cannot be read) does not keep the
//! service from serving connections without a realm. Whoever asks for a realm hears why there is none, and each such request
//! tries anew.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use oam_store::{Sizes, Store, StoreError};

/// Between attempts to open a store that another process is about to close.
const PAUSE: Duration = Duration::from_millis(20);

/// The store of the service.
#[derive(Debug)]
pub(crate) struct Realms {
    folder: PathBuf,
    state: Mutex<State>,
    /// The state is not [`State::Opening`] any more.
    settled: Condvar,
    limit: Mutex<NonZeroUsize>,
}

#[derive(Debug)]
enum State {
    /// Another process still has it, for a while.
    Opening,
    Open(Arc<Store>),
    Failed(Arc<StoreError>),
    Closed,
}

impl Realms {
    pub(crate) fn new(folder: PathBuf, limit: NonZeroUsize) -> Self {
        Self {
            folder,
            state: Mutex::new(State::Opening),
            settled: Condvar::new(),
            limit: Mutex::new(limit),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the store; as long as another process has it, tries again for `patience`. Blocks.
    pub(crate) fn open(&self, patience: Duration) {
        let until = Instant::now() + patience;
        loop {
            let opened = Store::open(&self.folder);
            let mut state = self.state();
            if matches!(*state, State::Closed) {
                return;
            }
            match opened {
                Err(StoreError::Held { .. }) if Instant::now() < until => {
                    drop(state);
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Ok(store) => *state = State::Open(Arc::new(store)),
                Err(error) => {
                    tracing::error!(%error, "there are no realms");
                    *state = State::Failed(Arc::new(error));
                }
            }
            self.settled.notify_all();
            return;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
