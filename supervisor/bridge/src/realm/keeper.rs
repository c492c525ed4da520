//! Writing down what happens to the objects of a durable realm.
//!
//! A [`Keeper`] writes down what happens to one object. It is told of a change under the lock that made the change, so
//! its records have the order of the changes.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::record::written;
use crate::{
    journal::{Journal, ObjectKind, ObjectName, Sequence, StorageFailure},
    message::BridgeError,
};

/// No object has this id, so what is known of all objects of a kind is kept under it.
pub(super) const LIST_ID: &str = "";

/// What is known of all objects of a kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListRecord {
    /// The number in the last generated id.
    pub(super) generated: u64,
}

/// The journal of a realm, and whether it has all that happened.
#[derive(Debug)]
pub(crate) struct Books {
    journal: Arc<dyn Journal>,
    /// Set when the journal refused a record: from then on the realm is ahead of what is written.
    refused: OnceLock<StorageFailure>,
    /// Cancelled then.
    lost: CancellationToken,
}

impl Books {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Arc<Self> {
        Arc::new(Self { journal, refused: OnceLock::new(), lost: CancellationToken::new() })
    }

    pub(crate) fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Whether a change may be made.
    pub(crate) fn ready(&self) -> Result<(), BridgeError> {
        self.refused.get().cloned().map_or_else(|| self.journal.ready(), Err)?;
        Ok(())
    }

    /// Whether all changes so far were written down, be it on disk or on the way there.
    pub(crate) fn are_complete(&self) -> Result<(), BridgeError> {
        self.refused.get().map_or(Ok(()), |failure| Err(BridgeError::change_lost(failure)))
    }

    /// Cancelled when they are not: what is in memory will never be on disk.
    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Notes how many ids of objects of this kind were generated.
    pub(crate) fn note_generated(&self, kind: ObjectKind, generated: u64) {
        let list = ObjectName { kind, id: Arc::from(LIST_ID) };
        let note = ListRecord { generated };
        let taken = self.journal.append(&list, written(&note));
        if let Some(appended) = self.taken(taken)
            && appended.rewrite_due
        {
            log_refused_snapshot(&list, self.journal.rewrite(&list, written(&note), appended.sequence));
        }
    }

    fn taken<T>(&self, taken: Result<T, StorageFailure>) -> Option<T> {
        taken
            .inspect_err(|failure| {
                // Only the first matters: all later ones follow from it.
                if self.refused.set(failure.clone()).is_ok() {
                    tracing::error!(
                        "a change was refused by the journal; connections in its realm end: {failure}"
                    );
                    self.lost.cancel();
                }
            })
            .ok()
    }
}

fn log_refused_snapshot(object: &ObjectName, rewritten: Result<(), StorageFailure>) {
    if let Err(failure) = rewritten {
        let ObjectName { kind, id } = object;
        tracing::warn!("the records of {} '{id}' stay as long as they are: {failure}", kind.as_str());
    }
}

/// Writes down what happens to one object.
#[derive(Debug)]
pub(crate) struct Keeper {
    books: Arc<Books>,
    object: ObjectName,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Sequence,
    /// The records outweigh the snapshot.
    is_long: bool,
    /// The object is deleted: what still happens to it is nobody's business.
    is_removed: bool,
}

impl Keeper {
    pub(crate) fn new(books: &Arc<Books>, object: ObjectName) -> Arc<Self> {
        Arc::new(Self { books: Arc::clone(books), object, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record of a change. Called with the object locked.
    pub(crate) fn record(&self, record: &impl Serialize) {
        let mut state = self.lock();
        if state.is_removed {
            return;
        }
        let taken = self.books.journal.append(&self.object, written(record));
        if let Some(appended) = self.books.taken(taken) {
            state.last = appended.sequence;
            state.is_long |= appended.rewrite_due;
        }
    }

    /// Notes how many ids of objects of its kind were generated.
    pub(crate) fn note_generated(&self, generated: u64) {
        self.books.note_generated(self.object.kind, generated);
    }

    /// Whether it is time for a [snapshot](Self::rewrite).
    pub(crate) fn is_long(&self) -> bool {
        self.lock().is_long
    }

    /// Replaces all records by a snapshot of the object as it is now. Called with the object locked.
    pub(crate) fn rewrite(&self, snapshot: &impl Serialize) {
        let mut state = self.lock();
        state.is_long = false;
        if !state.is_removed {
            let rewritten = self.books.journal.rewrite(&self.object, written(snapshot), state.last);
            log_refused_snapshot(&self.object, rewritten);
        }
    }

    /// Forgets the object. What still happens to it is not recorded.
    pub(crate) fn remove(&self) {
        self.lock().is_removed = true;
        self.books.taken(self.books.journal.remove(&self.object));
    }
}
