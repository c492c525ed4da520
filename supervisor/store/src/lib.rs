//! Records of changes that are on disk before anybody hears of the changes.
//!
//! A [`Store`] is a folder. It holds *realms* by name, a [`Realm`] holds *objects*, and an object is an optional
//! *snapshot* and the *records* appended since. What snapshots and records say is their writer's business: here they are bytes.
//!
//! # What is promised, and when
//!
//! * [`Realm::append`], [`Realm::rewrite`] and [`Realm::remove`] never wait for the disk. They put a change into a queue and
//!   return its [`Sequence`]. Changes of all realms are in one order, the order of these calls.
//! * One thread takes what is queued, all at once, and writes it as one transaction. Only when the system has said that the
//!   transaction is on disk (`fsync`; `F_FULLFSYNC` on a Mac) does [`Status::durable`] reach its last sequence. Then a crash of
//!   the program, of the system or of the power loses none of it, as far as the disk keeps what it reports as written.
//! * What is not durable yet may be there after a crash or not, but never in part and never with a gap: if a change is there,
//!   everything queued before it is. A transaction that was torn in the middle is dropped as a whole.
//! * While the disk cannot be written (it is full, read-only, failing) the [`Status`] says so. The store keeps what is queued,
//!   in order, and tries again until it works; nothing becomes durable meanwhile, and reading goes on.
//! * Should the thread that writes panic, the [`Status`] says so, and changes are refused from then on. The store must be opened anew.
//! * A database that is removed or replaced while it is open counts as a disk that cannot be written. What is there instead is
//!   neither read nor written.
//! * The queue is bounded. A record that finds no room is refused, and from then on so are all changes of its realm: what the
//!   realm's owner has in memory is ahead of the records, and a record missing in the middle would make the later ones lies.
//!   The owner drops the realm and opens it anew. [`Realm::ready`] asks before a change is made, and is the earlier to say no.
//! * Closing or dropping the store writes what is queued. If it cannot, it says how many changes were lost.
//!
//! Not promised: to notice bytes that rot on disk long after they were written. Back-ups are for that.
//!
//! The folder holds `realms.db`, an `SQLite` database in WAL mode (with `realms.db-wal` and `realms.db-shm` while it is open),
//! and `lock`, which one process at a time holds.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod database;
mod error;
mod identity;
mod loading;
mod lock;
mod object;
mod queue;
mod realm;
mod schema;
mod store;
mod writer;

#[cfg(test)]
mod crash_property;
#[cfg(test)]
mod dead_writer;

pub use error::{ChangeError, Failure, FailureKind, StoreError};
pub use identity::FileIdentity;
pub use loading::Entry;
pub use lock::{LockError, ProcessLock};
pub use object::ObjectName;
pub use queue::{Sequence, Status};
pub use realm::{Appended, Realm};
pub use store::{RealmSize, Sizes, Store, StoreOptions};
