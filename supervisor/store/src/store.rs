//! The store: opening it and its realms, how much it holds, and closing it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::sync::watch;

use crate::{
    ChangeError, Entry, FailureKind, ObjectName, Realm, Sequence, Status, StoreError,
    database::{self, Place},
    loading,
    lock::{LockError, ProcessLock},
    object::Objects,
    queue::{Action, Phase, Queue, RealmEntry, State},
    realm::OpenRealm,
    writer,
};

/// What may differ between stores.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How many bytes may wait to be written, 64 MiB unless something else is said. [`Realm::ready`] refuses at half of it.
    pub queue_bytes: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { queue_bytes: 64 << 20 }
    }
}

/// An open store. See the [crate's documentation](crate) for what it promises.
///
/// Its methods other than [`status`](Self::status) and [`watch`](Self::watch) read or wait for the disk;
/// an async caller puts them on a thread of their own.
#[derive(Debug)]
pub struct Store {
    queue: Arc<Queue>,
    place: Place,
    writer: Option<JoinHandle<()>>,
    _lock: ProcessLock,
}

/// How much a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// What its files take on disk.
    pub file_bytes: u64,
    /// Bytes that wait to be written.
    pub queued_bytes: u64,
    /// Its realms by name.
    pub realms: Vec<RealmSize>,
}

/// How much is on disk of a realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealmSize {
    /// Its name.
    pub name: String,
    /// How many objects it has.
    pub objects: u64,
    /// The bytes of their snapshots and records.
    pub bytes: u64,
}

impl Store {
    /// Opens the store in `folder`, or makes one, and brings an older one to the present form.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_with(folder, &StoreOptions::default())
    }

    /// [`open`](Self::open) with options.
    pub fn open_with(folder: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        database::make_folder(folder)?;
        let lock = take_lock(folder)?;
        let connection = database::open(folder)?;
        let place = Place::of(database::file(folder))?;
        let fail = |error| StoreError::Failed(database::failure(&place.path, &error));
        let realms = realms_in(&connection).map_err(fail)?;
        let (last, next_object) = numbers_in(&connection).map_err(fail)?;
        let queue = Arc::new(Queue::new(options.queue_bytes, last, next_object, realms));
        let writer = writer::spawn(queue.clone(), connection, place.clone())
            .map_err(|source| StoreError::Io { path: place.path.clone(), source })?;
        Ok(Self { queue, place, writer: Some(writer), _lock: lock })
    }

    /// How far the disk has come, at present.
    pub fn status(&self) -> Status {
        self.queue.status()
    }

    /// Fails when the store does not get well by itself: the database was removed, or another one put in its place, so that
    /// nothing can be read or written, or the writer has died.
    pub fn check(&self) -> Result<(), StoreError> {
        self.place.check()?;
        match self.status().failure {
            Some(failure) if failure.kind == FailureKind::WriterDied => Err(StoreError::Failed(failure)),
            _ => Ok(()),
        }
    }

    /// The last change that was taken.
    pub fn last(&self) -> Sequence {
        self.queue.last()
    }

    /// How far the disk has come, whenever that changes. Ends with the store and its realms.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.queue.watch()
    }

    /// Opens a realm, or makes an empty one: shows `visit` every object, one after the other in the order of their creation, each with
    /// its snapshot and then its records in order. Waits until what was queued for the realm before is on disk. An error
    /// of `visit` ends the reading and leaves the realm closed.
    pub fn realm<E: From<StoreError>>(
        &self,
        name: &str,
        visit: impl FnMut(&ObjectName, Entry<'_>) -> Result<(), E>,
    ) -> Result<Realm, E> {
        let (mut realm, last) = self.claim(name)?;
        self.queue.wait_for(last)?;
        let connection = self.open_reader()?;
        let objects = loading::read(&connection, |error| self.failed(&error), realm.number, visit)?;
        realm.objects = Mutex::new(Objects { last: objects.last.max(last), ..objects });
        if let Some(entry) = self.queue.lock().realms.get_mut(name) {
            entry.is_new = false;
        }
        Ok(Realm::new(realm))
    }

    /// Names of all realms, open or not.
    pub fn realms(&self) -> Vec<String> {
        self.queue.lock().realms.keys().cloned().collect()
    }

    /// Deletes a realm that is not open, and gives its space back to the disk.
    pub fn delete_realm(&self, name: &str) -> Result<Sequence, StoreError> {
        let mut state = self.queue.lock();
        let Some(entry) = state.realms.get(name) else {
            return Err(StoreError::NoRealm { name: name.to_owned() });
        };
        if entry.is_open {
            return Err(StoreError::RealmOpen { name: name.to_owned() });
        }
        let action = Action::DeleteRealm { number: entry.number };
        let sequence = self.push(&mut state, action)?;
        state.realms.remove(name);
        Ok(sequence)
    }

    /// Waits until everything that was queued before is on disk.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.queue.wait_for(self.queue.last())
    }

    /// How much is on disk. Reads the index of every realm.
    pub fn sizes(&self) -> Result<Sizes, StoreError> {
        let connection = self.open_reader()?;
        let realms = sizes_in(&connection).map_err(|error| self.failed(&error))?;
        let file_bytes = ["", "-wal", "-shm"]
            .iter()
            .filter_map(|end| std::fs::metadata(format!("{}{end}", self.place.path.display())).ok())
            .map(|file| file.len())
            .sum();
        Ok(Sizes { file_bytes, queued_bytes: self.queue.queued_bytes() as u64, realms })
    }

    /// Writes what is queued, and ends. Realms that are still open take no changes any more.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.end(Phase::Closing)
    }

    /// Ends without writing what is queued, as if the process had been killed.
    #[cfg(test)]
    pub(crate) fn abandon(mut self) {
        let _ = self.end(Phase::Abandoned);
    }

    fn end(&mut self, phase: Phase) -> Result<(), StoreError> {
        self.queue.end(phase);
        let Some(writer) = self.writer.take() else { return Ok(()) };
        // A panic was told as a failure.
        let _ = writer.join();
        match self.queue.unwritten() {
            (changes @ 1.., Some(failure)) => Err(StoreError::Unwritten { changes, failure }),
            _ => Ok(()),
        }
    }

    /// Has the writer panic when it has something to write.
    #[cfg(test)]
    pub(crate) fn break_writer(&self) {
        self.queue.lock().is_faulty = true;
    }

    /// Marks the realm as open; it is closed again when what is returned is dropped.
    fn claim(&self, name: &str) -> Result<(OpenRealm, Sequence), StoreError> {
        let mut state = self.queue.lock();
        let (number, last, is_new) = match state.realms.get_mut(name) {
            Some(entry) if entry.is_open => return Err(StoreError::RealmOpen { name: name.to_owned() }),
            Some(entry) => {
                entry.is_open = true;
                (entry.number, entry.last, entry.is_new)
            }
            None => {
                let number = state.next_realm;
                let last = self.push(&mut state, Action::CreateRealm { number, name: name.to_owned() })?;
                state.next_realm += 1;
                state
                    .realms
                    .insert(name.to_owned(), RealmEntry { number, is_open: true, is_new: true, last });
                (number, last, true)
            }
        };
        let (queue, name, objects) = (self.queue.clone(), name.to_owned(), Mutex::default());
        Ok((OpenRealm { queue, name, number, is_new, objects }, last))
    }

    fn push(&self, state: &mut State, action: Action) -> Result<Sequence, StoreError> {
        self.queue.push_in_any_case(state, [action]).map_err(|error| match error {
            ChangeError::Failed(failure) => StoreError::Failed(failure),
            _ => StoreError::Closed,
        })
    }

    fn open_reader(&self) -> Result<Connection, StoreError> {
        let opened = database::open_reader(&self.place.path);
        self.place.check()?;
        opened
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::Failed(database::failure(&self.place.path, error))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.end(Phase::Closing) {
            tracing::error!(%error, "the store was closed");
        }
    }
}

fn take_lock(folder: &Path) -> Result<ProcessLock, StoreError> {
    let path = folder.join("lock");
    ProcessLock::take(&path).map_err(|error| match error {
        LockError::Held(pid) => StoreError::Held { path: folder.to_owned(), pid },
        LockError::Foreign => StoreError::NotALock { path },
        LockError::Io(source) => StoreError::Io { path, source },
    })
}

fn realms_in(connection: &Connection) -> rusqlite::Result<BTreeMap<String, RealmEntry>> {
    let mut statement = connection.prepare("select name, id from realm")?;
    let rows = statement.query_map([], |row| {
        let entry =
            RealmEntry { number: row.get(1)?, is_open: false, is_new: false, last: Sequence::default() };
        Ok((row.get(0)?, entry))
    })?;
    rows.collect()
}

/// The last sequence in use, and the first number for an object that is not.
fn numbers_in(connection: &Connection) -> rusqlite::Result<(Sequence, i64)> {
    let sql = "
        select coalesce(max((select max(sequence) from entry where object = object.id)), 0), coalesce(max(id), 0) + 1
        from object";
    connection.query_row(sql, [], |row| Ok((Sequence(row.get::<_, i64>(0)?.cast_unsigned()), row.get(1)?)))
}

fn sizes_in(connection: &Connection) -> rusqlite::Result<Vec<RealmSize>> {
    let sql = "
        select name,
            (select count(*) from object where realm = realm.id),
            (select coalesce(sum(length(body)), 0) from entry where object in (select id from object where realm = realm.id))
        from realm order by name";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(RealmSize {
            name: row.get(0)?,
            objects: row.get::<_, i64>(1)?.cast_unsigned(),
            bytes: row.get::<_, i64>(2)?.cast_unsigned(),
        })
    })?;
    rows.collect()
}
