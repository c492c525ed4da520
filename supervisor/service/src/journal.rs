//! The store as the bridge's journal.

use std::sync::Arc;

use oam_agent::BoxFuture;
use oam_bridge::{
    Journal, ObjectName, StorageFailure,
    journal::{Appended, Durability, Sequence},
};
use oam_store::{ChangeError, FailureKind, Realm, Status};
use tokio::sync::watch;

use crate::realms::InUse;

/// An open realm of the store.
#[derive(Debug)]
pub(crate) struct StoredJournal {
    realm: Realm,
    status: watch::Receiver<Status>,
    /// Told of when the realm has been closed.
    _in_use: InUse,
}

impl StoredJournal {
    pub(crate) fn new(realm: Realm, status: watch::Receiver<Status>, in_use: InUse) -> Self {
        Self { realm, status, _in_use: in_use }
    }
}

impl Journal for StoredJournal {
    fn ready(&self) -> Result<(), StorageFailure> {
        self.realm.ready().map_err(|error| refusal(&error))
    }

    fn append(&self, object: &ObjectName, record: Vec<u8>) -> Result<Appended, StorageFailure> {
        let appended = self.realm.append(&stored_name(object), record).map_err(|error| refusal(&error))?;
        Ok(Appended { sequence: taken(appended.sequence), rewrite_due: appended.rewrite_due })
    }

    fn rewrite(&self, object: &ObjectName, snapshot: Vec<u8>, up_to: Sequence) -> Result<(), StorageFailure> {
        let up_to = oam_store::Sequence::of_number(up_to.0);
        match self.realm.rewrite(&stored_name(object), snapshot, up_to) {
            // Another snapshot, or the object's end, was faster.
            Ok(_) | Err(ChangeError::Stale) => Ok(()),
            Err(error) => Err(refusal(&error)),
        }
    }

    fn remove(&self, object: &ObjectName) -> Result<Sequence, StorageFailure> {
        self.realm.remove(&stored_name(object)).map(taken).map_err(|error| refusal(&error))
    }

    fn last(&self) -> Sequence {
        taken(self.realm.last())
    }

    fn durability(&self) -> Durability {
        durability(&self.status.borrow())
    }

    fn changed<'a>(&'a self, seen: &'a Durability) -> BoxFuture<'a, Durability> {
        let mut status = self.status.clone();
        Box::pin(async move {
            let mut now = durability(&status.borrow_and_update());
            while now == *seen {
                if status.changed().await.is_err() {
                    // The store is closed: nothing changes any more.
                    std::future::pending::<()>().await;
                }
                now = durability(&status.borrow_and_update());
            }
            now
        })
    }
}

/// The name of an object as the store has it.
fn stored_name(object: &ObjectName) -> oam_store::ObjectName {
    oam_store::ObjectName::new(object.kind.as_str(), &*object.id)
}

fn taken(sequence: oam_store::Sequence) -> Sequence {
    Sequence(sequence.number())
}

fn durability(status: &Status) -> Durability {
    Durability {
        durable: taken(status.durable),
        failure: status.failure.as_ref().map(|failure| Arc::new(disk_failure(failure))),
        is_final: status.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::WriterDied),
    }
}

/// What is wrong with the disk, in the bridge's words.
pub(crate) fn disk_failure(failure: &oam_store::Failure) -> StorageFailure {
    StorageFailure {
        path: Some(failure.path.clone()),
        reason: format!("{} ({})", failure.kind, failure.message),
    }
}

fn refusal(error: &ChangeError) -> StorageFailure {
    match error {
        ChangeError::Failed(failure) => disk_failure(failure),
        other => StorageFailure { path: None, reason: other.to_string() },
    }
}
