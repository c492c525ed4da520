//! Realms: what clients create, together. A [`Realm`] holds sessions, NPCs and worlds.
//!
//! Each connection has a realm of its own, which ends with it, unless `initialize` names one that the host shares
//! among connections through a [`RealmDirectory`]. What belongs to a connection alone is its [`Membership`]: its
//! subscriptions. Its operations stand in the queues of the realm's objects, among those of others.

mod keeper;
mod loader;
mod membership;
mod name;
mod npc_record;
mod record;
mod said;
mod script_position;
mod session_record;
mod subscriptions;
mod world_record;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    journal::ObjectName,
    message::BridgeError,
    npc::Npcs,
    objects::{Id, Object},
    session::Sessions,
    worlds::{GameWorld, Worlds},
};

pub(crate) use keeper::{Books, Keeper};
pub use loader::{LoadError, RealmLoader};
pub(crate) use membership::Membership;
pub use name::{InvalidRealmName, RealmName};
pub(crate) use npc_record::NpcRecorder;
pub use record::UnreadableRecord;
pub(crate) use session_record::{SessionRecorder, Tools as SessionTools};
pub(crate) use subscriptions::{Subscription, SubscriptionId, Subscriptions};

/// Where a host keeps the realms that connections share.
pub trait RealmDirectory: Send + Sync {
    /// The realm of this name, made or loaded if need be. May take a moment.
    fn open(&self, name: &RealmName) -> Result<OpenedRealm, BridgeError>;
}

/// A realm that a [`RealmDirectory`] has.
#[derive(Debug)]
pub struct OpenedRealm {
    /// The realm.
    pub realm: Arc<Realm>,
    /// There was none of its name before.
    pub is_new: bool,
}

/// Sessions, NPCs and worlds.
#[derive(Debug, Default)]
pub struct Realm {
    /// `None`: it belongs to one connection, and ends with it.
    name: Option<RealmName>,
    /// Where changes are written down; `None`: nowhere.
    books: Option<Arc<Books>>,
    pub(crate) sessions: Sessions,
    pub(crate) npcs: Npcs,
    pub(crate) worlds: Worlds,
    /// The subscriptions of each connection.
    members: Mutex<Vec<Arc<Subscriptions>>>,
}

/// How much there is in a realm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealmOverview {
    /// How many sessions it has.
    pub sessions: usize,
    /// How many NPCs.
    pub npcs: usize,
    /// How many worlds.
    pub worlds: usize,
    /// Unfinished operations of sessions and NPCs.
    pub pending_operations: usize,
    /// How many bridges use it.
    pub connections: usize,
}

impl Realm {
    /// An empty realm of one connection.
    pub fn private() -> Self {
        Self::default()
    }

    fn durable(name: RealmName, books: Arc<Books>) -> Self {
        let mut realm = Self::default();
        (realm.name, realm.books) = (Some(name), Some(books));
        realm
    }

    /// Its name, if it is shared.
    pub fn name(&self) -> Option<&RealmName> {
        self.name.as_ref()
    }

    /// Where changes of its objects are recorded, if they are.
    pub(crate) fn books(&self) -> Option<&Arc<Books>> {
        self.books.as_ref()
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.books.is_some()
    }

    /// Whether a change may be made.
    pub(crate) fn ready(&self) -> Result<(), BridgeError> {
        self.books.as_ref().map_or(Ok(()), |books| books.ready())
    }

    /// Whether all changes so far were written down. One that the journal refused is only in memory: the realm takes no
    /// more changes then, the connections in it end, and what was written down is found by whoever loads it anew.
    pub(crate) fn is_written_down(&self) -> Result<(), BridgeError> {
        self.books.as_ref().map_or(Ok(()), |books| books.are_complete())
    }

    /// What writes down the life of the object with this id, if something does.
    pub(crate) fn keeper<T: Object>(&self, id: &Id<T>) -> Option<Arc<Keeper>> {
        let books = self.books.as_ref()?;
        Some(Keeper::new(books, ObjectName { kind: T::KIND, id: id.shared() }))
    }

    /// How much there is in it now.
    pub fn overview(&self) -> RealmOverview {
        let (sessions, npcs) = (self.sessions.all(), self.npcs.all());
        let pending = |queues: &mut dyn Iterator<Item = usize>| queues.sum::<usize>();
        RealmOverview {
            sessions: sessions.len(),
            npcs: npcs.len(),
            worlds: self.worlds.all().len(),
            pending_operations: pending(&mut sessions.iter().map(|session| session.queue.pending()))
                + pending(&mut npcs.iter().map(|npc| npc.queue.pending())),
            connections: self.members().len(),
        }
    }

    /// Cancels all work and lets go of all objects, without a word to the journal: what was recorded stays recorded.
    pub fn close(&self) {
        for session in self.sessions.remove_all() {
            session.queue.close();
        }
        for npc in self.npcs.remove_all() {
            npc.stop();
        }
        self.worlds.remove_all();
        for subscriptions in &*self.members() {
            subscriptions.clear();
        }
    }

    /// Frees the world's id and ends all subscriptions to it; returns it and how many there were.
    pub(crate) fn delete_world(&self, id: &str) -> Result<(Arc<GameWorld>, usize), BridgeError> {
        let world = self.worlds.remove(id)?;
        let ended = self.members().iter().map(|subscriptions| subscriptions.end_those_of(&world)).sum();
        Ok((world, ended))
    }

    fn members(&self) -> MutexGuard<'_, Vec<Arc<Subscriptions>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody uses it any more: what goes on behind turns would hold the journal, which others may want to open.
impl Drop for Realm {
    fn drop(&mut self) {
        if self.is_durable() {
            self.close();
        }
    }
}
