//! The worlds of a bridge, who lives in them, and the client's subscriptions to them.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use indexmap::IndexMap;
use oam_game::world::{Observation, World};

use crate::{
    message::BridgeError,
    objects::{Id, Object, Objects},
};

pub(crate) type WorldId = Id<GameWorld>;

/// Identifies a subscription: `sub1`, `sub2`, …
pub(crate) type SubscriptionId = Arc<str>;

/// A world under its id. Whoever holds it can go on using it after the id was freed.
#[derive(Debug)]
pub(crate) struct GameWorld {
    pub(crate) id: WorldId,
    pub(crate) world: World,
    pub(crate) created_at: SystemTime,
    inhabitants: AtomicUsize,
}

impl GameWorld {
    pub(crate) fn new(id: WorldId, world: World) -> Self {
        Self { id, world, created_at: SystemTime::now(), inhabitants: AtomicUsize::new(0) }
    }

    /// How many NPCs live in this world.
    pub(crate) fn npcs(&self) -> usize {
        self.inhabitants.load(Ordering::Relaxed)
    }

    /// Has one more NPC live in this world, until what is returned is dropped.
    pub(crate) fn settle(self: &Arc<Self>) -> Inhabitant {
        self.inhabitants.fetch_add(1, Ordering::Relaxed);
        Inhabitant(Arc::clone(self))
    }
}

impl Object for GameWorld {
    const PARAMETER: &'static str = "world";
    const ID_PREFIX: &'static str = "w";

    fn id(&self) -> &WorldId {
        &self.id
    }

    fn not_found(id: &str) -> BridgeError {
        BridgeError::world_not_found(id)
    }

    fn exists(id: &str) -> BridgeError {
        BridgeError::world_exists(id)
    }

    fn limit_reached(limit: usize) -> BridgeError {
        BridgeError::limit_reached(limit, "worlds")
    }
}

/// An NPC's place in its world.
#[derive(Debug)]
pub(crate) struct Inhabitant(Arc<GameWorld>);

impl Deref for Inhabitant {
    type Target = GameWorld;

    fn deref(&self) -> &GameWorld {
        &self.0
    }
}

impl Drop for Inhabitant {
    fn drop(&mut self) {
        self.0.inhabitants.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A client's wish to hear of changes. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) world: Arc<GameWorld>,
    /// As the client gave it.
    pub(crate) path: String,
    pub(crate) _observation: Observation,
}

/// A subscription's id, and its path as the client gave it.
pub(crate) type Subscribed = (SubscriptionId, String);

/// All worlds and subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Worlds {
    by_id: Objects<GameWorld>,
    subscriptions: Mutex<Subscriptions>,
}

/// In the order of their creation.
#[derive(Debug, Default)]
struct Subscriptions {
    by_id: IndexMap<SubscriptionId, Subscription>,
    last: u64,
}

impl Deref for Worlds {
    type Target = Objects<GameWorld>;

    fn deref(&self) -> &Objects<GameWorld> {
        &self.by_id
    }
}

impl Worlds {
    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all subscriptions to a world that was removed; returns how many there were.
    pub(crate) fn end_subscriptions(&self, world: &Arc<GameWorld>) -> usize {
        let subscriptions = &mut self.subscriptions().by_id;
        let before = subscriptions.len();
        subscriptions.retain(|_, subscription| !Arc::ptr_eq(&subscription.world, world));
        before - subscriptions.len()
    }

    /// The id for a new subscription. There may be `limit` at once.
    pub(crate) fn new_subscription_id(&self, limit: usize) -> Result<SubscriptionId, BridgeError> {
        let mut subscriptions = self.subscriptions();
        if subscriptions.by_id.len() >= limit {
            return Err(BridgeError::limit_reached(limit, "world subscriptions"));
        }
        subscriptions.last += 1;
        Ok(format!("sub{}", subscriptions.last).into())
    }

    /// Keeps a subscription until it is removed, or its world is.
    pub(crate) fn subscribe(&self, id: SubscriptionId, subscription: Subscription) {
        self.subscriptions().by_id.insert(id, subscription);
    }

    /// Ends a subscription, and returns what it was.
    pub(crate) fn unsubscribe(&self, id: &str) -> Result<(SubscriptionId, Subscription), BridgeError> {
        let removed = self.subscriptions().by_id.shift_remove_entry(id);
        removed.ok_or_else(|| BridgeError::subscription_not_found(id))
    }

    /// All worlds, each with the subscriptions to it and their paths.
    pub(crate) fn all_with_subscriptions(&self) -> Vec<(Arc<GameWorld>, Vec<Subscribed>)> {
        let subscriptions = self.subscriptions();
        let mut paths: HashMap<*const GameWorld, Vec<_>> = HashMap::new();
        for (id, subscription) in &subscriptions.by_id {
            let path = (Arc::clone(id), subscription.path.clone());
            paths.entry(Arc::as_ptr(&subscription.world)).or_default().push(path);
        }
        let worlds = self.by_id.all().into_iter();
        worlds
            .map(|world| (Arc::clone(&world), paths.remove(&Arc::as_ptr(&world)).unwrap_or_default()))
            .collect()
    }

    /// Lets go of all worlds and ends all subscriptions.
    pub(crate) fn clear(&self) {
        self.by_id.remove_all();
        self.subscriptions().by_id.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npc_counts_where_it_lives_even_after_the_id_was_given_to_another_world() {
        let worlds = Worlds::default();
        let create = || {
            let id = worlds.new_id(Some("village")).unwrap();
            worlds.insert(GameWorld::new(id, World::default()), 64).unwrap();
            worlds.get("village").unwrap()
        };
        let old = create();
        let (gorm, mira) = (old.settle(), old.settle());
        assert_eq!(old.npcs(), 2);
        drop(mira);
        worlds.remove("village").unwrap();
        let new = create();
        assert_eq!((old.npcs(), new.npcs()), (1, 0));
        assert_eq!(gorm.id.to_string(), "village");
        drop(gorm);
        assert_eq!(old.npcs(), 0);
    }
}
