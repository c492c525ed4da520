//! What can go wrong, in words for whoever runs the program.

use std::{io, path::PathBuf, sync::Arc};

use rusqlite::ErrorCode;

/// A store, or a realm of it, that cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error("{} is in use by {}", path.display(), holder(*pid))]
    Held {
        /// The store's folder.
        path: PathBuf,
        /// The other process, if it left its number.
        pid: Option<u32>,
    },
    /// A later version of this program has written the store. It was not touched.
    #[error("{} has version {found}, and this program knows versions up to {known}; it needs a newer program", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// The version it has.
        found: u32,
        /// The latest that is known here.
        known: u32,
    },
    /// The file is something else.
    #[error("{} is not a store of this program", path.display())]
    Foreign {
        /// The file that should be the database.
        path: PathBuf,
    },
    /// There is a file in the place of the lock that must not be replaced.
    #[error("{} is there and is not the lock of a store; move it away", path.display())]
    NotALock {
        /// The file.
        path: PathBuf,
    },
    /// A folder or file cannot be made, opened or locked.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// Folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database cannot be read or written.
    #[error(transparent)]
    Failed(#[from] Arc<Failure>),
    /// The realm is open already; it has one owner at a time.
    #[error("realm {name:?} is open already")]
    RealmOpen {
        /// The realm's name.
        name: String,
    },
    /// There is no such realm.
    #[error("there is no realm {name:?}")]
    NoRealm {
        /// The name asked for.
        name: String,
    },
    /// The store could not write all that was queued when it was closed.
    #[error("{changes} changes could not be written: {failure}")]
    Unwritten {
        /// How many.
        changes: u64,
        /// Why.
        failure: Arc<Failure>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// A change that was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// The disk cannot be written, as [`Realm::ready`](crate::Realm::ready) says; or nothing will be, ever
    /// ([`FailureKind::WriterDied`]), as whatever makes a change says.
    #[error(transparent)]
    Failed(#[from] Arc<Failure>),
    /// Too much waits to be written.
    #[error("{queued} bytes wait to be written, and no more than {limit} may")]
    Backlog {
        /// Bytes that wait.
        queued: usize,
        /// Bytes that may.
        limit: usize,
    },
    /// An earlier record of the realm was refused. The realm must be opened anew.
    #[error("an earlier change was refused; the realm must be opened anew")]
    Behind,
    /// The object does not exist, is newer than the snapshot, or has a newer snapshot.
    #[error("the snapshot is of an object that is gone, or older than another")]
    Stale,
    /// A record or snapshot is larger than [`Realm::MAX_BYTES`](crate::Realm::MAX_BYTES).
    #[error("{bytes} bytes are more than one record or snapshot may have")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why the disk cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} ({}): {message}", path.display())]
pub struct Failure {
    /// What kind of trouble it is.
    pub kind: FailureKind,
    /// The database.
    pub path: PathBuf,
    /// What the engine said, or the panic.
    pub message: String,
}

/// The kinds of trouble with a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No space is left.
    DiskFull,
    /// The file or its file system must not be written.
    ReadOnly,
    /// The system reported an error of reading or writing.
    Io,
    /// What is in the file makes no sense.
    Corrupt,
    /// The file is gone, or another one is in its place.
    Displaced,
    /// The thread that writes has panicked. Nothing more is written until the store is opened anew.
    WriterDied,
    /// Anything else.
    Other,
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::DiskFull => "the disk is full",
            Self::ReadOnly => "the disk is read-only",
            Self::Io => "the disk fails",
            Self::Corrupt => "the database is damaged",
            Self::Displaced => "the database is not in its place any more",
            Self::WriterDied => "nothing is written any more",
            Self::Other => "the database cannot be used",
        })
    }
}

impl FailureKind {
    pub(crate) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Self::Io,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt,
            _ => Self::Other,
        }
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
