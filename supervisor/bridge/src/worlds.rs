//! The worlds of a bridge, who lives in them, and the client's subscriptions to them.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use indexmap::IndexMap;
use oam_game::world::{Observation, World};
use serde::Serialize;

use crate::message::BridgeError;

/// Identifies a world: chosen by the client or generated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub(crate) struct WorldId(Arc<str>);

impl WorldId {
    fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::borrow::Borrow<str> for WorldId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
    /// How many NPCs live in this world.
    pub(crate) fn npcs(&self) -> usize {
        self.inhabitants.load(Ordering::Relaxed)
    }

    /// Has one more NPC live in this world, until what is returned is dropped.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the methods of NPCs"))]
    pub(crate) fn settle(self: &Arc<Self>) -> Inhabitant {
        self.inhabitants.fetch_add(1, Ordering::Relaxed);
        Inhabitant(Arc::clone(self))
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

/// All worlds and subscriptions, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Worlds {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_id: IndexMap<WorldId, Arc<GameWorld>>,
    subscriptions: IndexMap<SubscriptionId, Subscription>,
    last_world: u64,
    last_subscription: u64,
}

impl Worlds {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world with this id.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<GameWorld>, BridgeError> {
        self.lock().by_id.get(id).cloned().ok_or_else(|| BridgeError::world_not_found(id))
    }

    /// The id for a new world: the given one, if it is unused, or the next generated one.
    pub(crate) fn new_id(&self, chosen: Option<&str>) -> Result<WorldId, BridgeError> {
        let mut state = self.lock();
        if let Some(id) = chosen {
            let is_used = state.by_id.contains_key(id);
            return if is_used { Err(BridgeError::world_exists(id)) } else { Ok(WorldId::new(id)) };
        }
        loop {
            state.last_world += 1;
            let id = WorldId::new(&format!("w{}", state.last_world));
            if !state.by_id.contains_key(&id) {
                return Ok(id);
            }
        }
    }

    /// Adds a world, unless there are `limit` already.
    pub(crate) fn insert(&self, id: WorldId, world: World, limit: usize) -> Result<(), BridgeError> {
        let mut state = self.lock();
        if state.by_id.len() >= limit {
            return Err(BridgeError::limit_reached(limit, "worlds"));
        }
        let inhabitants = AtomicUsize::new(0);
        let world = GameWorld { id: id.clone(), world, created_at: SystemTime::now(), inhabitants };
        state.by_id.insert(id, Arc::new(world));
        Ok(())
    }

    /// Frees the id, and ends the subscriptions to its world. Returns the world and how many subscriptions there were.
    pub(crate) fn remove(&self, id: &str) -> Result<(Arc<GameWorld>, usize), BridgeError> {
        let mut state = self.lock();
        let world = state.by_id.shift_remove(id).ok_or_else(|| BridgeError::world_not_found(id))?;
        let before = state.subscriptions.len();
        state.subscriptions.retain(|_, subscription| !Arc::ptr_eq(&subscription.world, &world));
        let ended = before - state.subscriptions.len();
        Ok((world, ended))
    }

    /// The id for a new subscription. There may be `limit` at once.
    pub(crate) fn new_subscription_id(&self, limit: usize) -> Result<SubscriptionId, BridgeError> {
        let mut state = self.lock();
        state.last_subscription += 1;
        if state.subscriptions.len() >= limit {
            return Err(BridgeError::limit_reached(limit, "world subscriptions"));
        }
        Ok(format!("sub{}", state.last_subscription).into())
    }

    /// Keeps a subscription until it is removed, or its world is.
    pub(crate) fn subscribe(&self, id: SubscriptionId, subscription: Subscription) {
        self.lock().subscriptions.insert(id, subscription);
    }

    /// Ends a subscription, and returns what it was.
    pub(crate) fn unsubscribe(&self, id: &str) -> Result<(SubscriptionId, Subscription), BridgeError> {
        let removed = self.lock().subscriptions.shift_remove_entry(id);
        removed.ok_or_else(|| BridgeError::subscription_not_found(id))
    }

    /// All worlds, each with the subscriptions to it and their paths.
    pub(crate) fn all(&self) -> Vec<(Arc<GameWorld>, Vec<Subscribed>)> {
        let state = self.lock();
        let mut subscriptions: IndexMap<&WorldId, Vec<_>> =
            state.by_id.keys().map(|id| (id, Vec::new())).collect();
        for (id, subscription) in &state.subscriptions {
            let of_world = subscriptions.entry(&subscription.world.id).or_default();
            of_world.push((Arc::clone(id), subscription.path.clone()));
        }
        state.by_id.values().cloned().zip(subscriptions.into_values()).collect()
    }

    /// Lets go of all worlds and ends all subscriptions.
    pub(crate) fn clear(&self) {
        let State { by_id, subscriptions, .. } = &mut *self.lock();
        by_id.clear();
        subscriptions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npc_counts_where_it_lives_even_after_the_id_was_given_to_another_world() {
        let worlds = Worlds::default();
        let create = || {
            worlds.insert(worlds.new_id(Some("village")).unwrap(), World::default(), 64).unwrap();
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
