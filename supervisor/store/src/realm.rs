//! An open realm: where its owner puts the changes of its objects.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    ChangeError, ObjectName, RealmSize, Sequence,
    object::{Object, Objects},
    queue::{Action, Queue},
};

/// An open realm. Clones are the same realm; when the last is dropped, the realm is closed and can be opened anew.
#[derive(Debug, Clone)]
pub struct Realm(Arc<OpenRealm>);

pub(crate) struct OpenRealm {
    pub(crate) queue: Arc<Queue>,
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) is_new: bool,
    pub(crate) objects: Mutex<Objects>,
}

/// A record that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its place in the order. It is on disk when [`Status::durable`](crate::Status::durable) has come this far.
    pub sequence: Sequence,
    /// The object's records have come to outweigh its snapshot (and 64 KiB): it is time for [`Realm::rewrite`].
    /// Who follows this writes every byte about twice, however long an object lives. Not said again until as many bytes more have come.
    pub rewrite_due: bool,
}

impl Realm {
    /// What a single record or snapshot may have.
    pub const MAX_BYTES: usize = 256 << 20;

    pub(crate) fn new(realm: OpenRealm) -> Self {
        Self(Arc::new(realm))
    }

    /// The realm's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether there was no realm of this name before it was opened.
    pub fn is_new(&self) -> bool {
        self.0.is_new
    }

    /// Whether a change may be made: the disk can be written, the queue is not half full, no change was refused.
    /// After an `Ok` changes are only refused when very much is queued at once.
    pub fn ready(&self) -> Result<(), ChangeError> {
        self.0.objects().must_be_abreast()?;
        self.0.queue.ready()
    }

    /// Adds a record to an object, which exists from its first record on. Never waits.
    pub fn append(&self, object: &ObjectName, record: impl Into<Vec<u8>>) -> Result<Appended, ChangeError> {
        let body = record.into();
        let mut objects = self.0.objects();
        objects.must_be_abreast()?;
        let taken = self.0.append(&mut objects, object, body);
        objects.is_behind = taken.is_err();
        taken
    }

    /// Replaces the object's records up to `up_to`, and its snapshot, by `snapshot`, which must be the object as it was right
    /// after that record. Later records stay. Never waits; a refusal changes nothing, and the realm goes on.
    pub fn rewrite(
        &self,
        object: &ObjectName,
        snapshot: impl Into<Vec<u8>>,
        up_to: Sequence,
    ) -> Result<Sequence, ChangeError> {
        let body = snapshot.into();
        must_fit(&body)?;
        let mut objects = self.0.objects();
        objects.must_be_abreast()?;
        let up_to = up_to.min(objects.last);
        let known = objects.by_name.get_mut(object).ok_or(ChangeError::Stale)?;
        let bytes = body.len() as u64;
        known.must_take_snapshot(up_to)?;
        let action = Action::Rewrite { object: known.number, up_to, body };
        let sequence = self.0.queue.push(&mut self.0.queue.lock(), [action])?;
        known.has_snapshot(up_to, bytes);
        objects.last = sequence;
        Ok(sequence)
    }

    /// Removes an object and all its records. Never waits. If there is none, nothing happens.
    pub fn remove(&self, object: &ObjectName) -> Result<Sequence, ChangeError> {
        let mut objects = self.0.objects();
        objects.must_be_abreast()?;
        let Some(known) = objects.by_name.remove(object) else { return Ok(objects.last) };
        let removed = self.0.queue.push(&mut self.0.queue.lock(), [Action::Remove { object: known.number }]);
        match removed {
            Ok(sequence) => objects.last = sequence,
            Err(_) => objects.is_behind = true,
        }
        removed
    }

    /// How much it holds, of memory and without reading; what waits to be written included.
    pub fn size(&self) -> RealmSize {
        let objects = self.0.objects();
        RealmSize {
            name: self.0.name.clone(),
            objects: objects.by_name.len() as u64,
            bytes: objects.by_name.values().map(Object::bytes).sum(),
        }
    }

    /// The last change that was taken.
    pub fn last(&self) -> Sequence {
        self.0.objects().last
    }
}

impl OpenRealm {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(
        &self,
        objects: &mut Objects,
        name: &ObjectName,
        body: Vec<u8>,
    ) -> Result<Appended, ChangeError> {
        must_fit(&body)?;
        let bytes = body.len() as u64;
        let mut state = self.queue.lock();
        if let Some(object) = objects.by_name.get_mut(name) {
            let sequence = self.queue.push(&mut state, [Action::Append { object: object.number, body }])?;
            object.has_record(sequence, bytes);
            objects.last = sequence;
            return Ok(Appended { sequence, rewrite_due: object.asks_for_rewrite() });
        }
        let number = state.next_object;
        let create = Action::CreateObject { number, realm: self.number, name: name.clone() };
        let sequence = self.queue.push(&mut state, [create, Action::Append { object: number, body }])?;
        state.next_object += 1;
        let mut object = Object::new(number, sequence);
        object.has_record(sequence, bytes);
        let rewrite_due = object.asks_for_rewrite();
        objects.by_name.insert(name.clone(), object);
        objects.last = sequence;
        Ok(Appended { sequence, rewrite_due })
    }
}

impl Drop for OpenRealm {
    fn drop(&mut self) {
        let last = self.objects().last;
        if let Some(entry) = self.queue.lock().realms.get_mut(&self.name) {
            entry.is_open = false;
            entry.last = entry.last.max(last);
        }
    }
}

impl fmt::Debug for OpenRealm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Realm").field("name", &self.name).finish_non_exhaustive()
    }
}

fn must_fit(body: &[u8]) -> Result<(), ChangeError> {
    if body.len() > Realm::MAX_BYTES {
        return Err(ChangeError::TooLarge { bytes: body.len() });
    }
    Ok(())
}
