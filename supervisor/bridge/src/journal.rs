//! What makes the objects of a realm durable: where each of their changes is recorded before anybody hears of it.
//!
//! The bridge says what changed and when an answer may leave; how records reach the disk is the host's business, which
//! implements [`Journal`]. A record is appended under the lock that made the change, so records have the order of
//! the changes, and the [outbox](crate::outbox) holds what is said of a change back until its record is on disk.

use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

use oam_agent::BoxFuture;

/// What kind of thing an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A conversation.
    Session,
    /// A character.
    Npc,
    /// A world's state.
    World,
}

impl ObjectKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Session, Self::Npc, Self::World];

    /// Its name in a journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Npc => "npc",
            Self::World => "world",
        }
    }
}

impl FromStr for ObjectKind {
    type Err = UnknownObjectKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| UnknownObjectKind(name.to_owned()))
    }
}

/// A journal has an object of a kind that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownObjectKind(pub String);

impl fmt::Display for UnknownObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no kind of object that this version of oam knows", self.0)
    }
}

impl std::error::Error for UnknownObjectKind {}

/// An object of a realm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// What it is.
    pub kind: ObjectKind,
    /// Its id, unique among those of its kind.
    pub id: Arc<str>,
}

/// A record's place in the order of all records of a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub u64);

/// A record that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its place in the order.
    pub sequence: Sequence,
    /// The object's records have come to outweigh its snapshot: it is time for [`Journal::rewrite`].
    pub rewrite_due: bool,
}

/// How far the disk has come, and whether it goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durability {
    /// Every record up to this one is on disk.
    pub durable: Sequence,
    /// Why the disk cannot be written at present. What was appended is kept, and written when that works again: a failure
    /// ends when `durable` goes on, and not otherwise.
    pub failure: Option<Arc<StorageFailure>>,
    /// The failure has no end: what is not on disk by now is lost.
    pub is_final: bool,
}

/// Why a change cannot be made durable. Towards clients it is `storage_failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFailure {
    /// What cannot be written.
    pub path: Option<PathBuf>,
    /// Why, as part of a sentence: `the disk is full`.
    pub reason: String,
}

impl fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.path {
            Some(path) => write!(f, ": {}", path.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StorageFailure {}

/// Where the changes of a realm's objects are recorded. An object exists in it from its first record on.
///
/// No method but [`changed`](Self::changed) waits for the disk: they are called while changes are made, under locks.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Whether a change may be made; asked before each. After `Ok` its records are taken, except when
    /// very much is appended at once.
    fn ready(&self) -> Result<(), StorageFailure>;

    /// Adds a record of a change that was made.
    fn append(&self, object: &ObjectName, record: Vec<u8>) -> Result<Appended, StorageFailure>;

    /// Replaces the object's records up to `up_to`, and its snapshot, by `snapshot`: the object as it was right after that
    /// record. A refusal changes nothing.
    fn rewrite(&self, object: &ObjectName, snapshot: Vec<u8>, up_to: Sequence) -> Result<(), StorageFailure>;

    /// Removes an object with all its records. Of one that does not exist, nothing is left to remove.
    fn remove(&self, object: &ObjectName) -> Result<Sequence, StorageFailure>;

    /// The last record, or removal, that was taken.
    fn last(&self) -> Sequence;

    /// How far the disk has come.
    fn durability(&self) -> Durability;

    /// Resolves when [`durability`](Self::durability) differs from `seen`, perhaps at once. Dropping the future
    /// loses nothing.
    fn changed<'a>(&'a self, seen: &'a Durability) -> BoxFuture<'a, Durability>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_their_names() {
        for kind in ObjectKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        let unknown = "quest".parse::<ObjectKind>().unwrap_err();
        assert_eq!(unknown.to_string(), "'quest' is no kind of object that this version of oam knows");
    }

    #[test]
    fn a_storage_failure_says_what_is_wrong_and_where() {
        let mut failure = StorageFailure { path: None, reason: "the disk is full".to_owned() };
        assert_eq!(failure.to_string(), "the disk is full");
        failure.path = Some("/data/realms.db".into());
        assert_eq!(failure.to_string(), "the disk is full: /data/realms.db");
    }
}
