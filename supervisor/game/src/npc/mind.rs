//! What a character remembers, with what the turn in progress is about to change in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::{Memory, MemoryChanges, Relationship, Remembered};

/// A character's memory, shared by the character and its memory tools.
#[derive(Debug, Clone)]
pub(super) struct Mind(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    memory: Memory,
    /// Staged by the tools of a turn; the turn applies or drops them.
    staged: MemoryChanges,
}

impl Mind {
    pub(super) fn new(memory: Memory) -> Self {
        Self(Arc::new(Mutex::new(State { memory, staged: MemoryChanges::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is complete in itself, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn memory(&self) -> Memory {
        self.lock().memory.clone()
    }

    pub(super) fn relationship(&self) -> Relationship {
        self.lock().memory.relationship
    }

    /// Replaces the memory. What is staged stays staged.
    pub(super) fn set_memory(&self, memory: Memory) {
        self.lock().memory = memory;
    }

    pub(super) fn set_summary(&self, summary: String) {
        self.lock().memory.summary = Some(summary);
    }

    /// Stages a fact.
    pub(super) fn remember(&self, fact: &str) -> Remembered {
        let State { memory, staged } = &mut *self.lock();
        memory.remember(fact, staged)
    }

    /// Stages a change of the relationship; returns what it then is.
    pub(super) fn change_relationship(&self, delta: i64) -> Relationship {
        let State { memory, staged } = &mut *self.lock();
        memory.change_relationship(delta, staged)
    }

    /// Applies what is staged. Returns whether it changes anything.
    pub(super) fn apply_staged(&self, max_facts: usize) -> bool {
        let State { memory, staged } = &mut *self.lock();
        let is_change = *staged != MemoryChanges::default();
        memory.apply(std::mem::take(staged), max_facts);
        is_change
    }

    /// Forgets what is staged.
    pub(super) fn drop_staged(&self) {
        self.lock().staged = MemoryChanges::default();
    }
}
