//! Where messages wait between the supervisor's thread and the owner's.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Lines in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    lines: Mutex<VecDeque<String>>,
    arrived: Condvar,
}

impl Inbox {
    pub(super) fn put(&self, line: &str) {
        self.lines().push_back(line.to_owned());
        self.arrived.notify_one();
    }

    pub(super) fn take(&self) -> Option<String> {
        self.lines().pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.lines().len()
    }

    pub(super) fn clear(&self) {
        self.lines().clear();
    }

    pub(super) fn wait(&self, limit: Duration) -> bool {
        let waited = self.arrived.wait_timeout_while(self.lines(), limit, |lines| lines.is_empty());
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_empty()
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
