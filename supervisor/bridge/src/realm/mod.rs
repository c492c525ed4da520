//! Realms: what clients create, together. A [`Realm`] holds sessions, NPCs and worlds.
//!
//! Each connection has a realm of its own, which ends with it, unless `initialize` names one that the host shares
//! among connections through a [`RealmDirectory`]. What belongs to a connection alone is its [`Membership`]: its
//! subscriptions. Its operations stand in the queues of the realm's objects, among those of others.

mod membership;
mod name;
mod subscriptions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    message::BridgeError,
    npc::Npcs,
    session::Sessions,
    worlds::{GameWorld, Worlds},
};

pub(crate) use membership::Membership;
pub use name::{InvalidRealmName, RealmName};
pub(crate) use subscriptions::{Subscription, SubscriptionId, Subscriptions};

/// Where a host keeps the realms that connections share.
pub trait RealmDirectory: Send + Sync {
    /// The realm of this name, made or loaded if need be. May take a moment.
    fn open(&self, name: &RealmName) -> Result<Arc<Realm>, BridgeError>;
}

/// Sessions, NPCs and worlds.
#[derive(Debug, Default)]
pub struct Realm {
    /// `None`: it belongs to one connection, and ends with it.
    name: Option<RealmName>,
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

    /// Its name, if it is shared.
    pub fn name(&self) -> Option<&RealmName> {
        self.name.as_ref()
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
