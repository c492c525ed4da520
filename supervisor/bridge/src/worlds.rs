//! The worlds of a bridge, and the client's subscriptions to them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use indexmap::IndexMap;
use oam_game::world::{Observation, World};

use crate::{
    message::BridgeError,
    objects::{Id, Object, Objects},
    params::Params,
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
}

impl GameWorld {
    pub(crate) fn new(id: WorldId, world: World) -> Self {
        Self { id, world, created_at: SystemTime::now() }
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

/// A client's wish to hear of changes. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) world: WorldId,
    /// As the client gave it.
    pub(crate) path: String,
    pub(crate) _observation: Observation,
}

/// A subscription's id, and its path as the client gave it.
pub(crate) type Subscribed = (SubscriptionId, String);

/// All worlds and subscriptions. A subscription ends with its world.
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

impl Worlds {
    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world with this id.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<GameWorld>, BridgeError> {
        self.by_id.get(id)
    }

    /// The world that a request names.
    pub(crate) fn named(&self, params: &Params<'_>) -> Result<Arc<GameWorld>, BridgeError> {
        self.by_id.named(params)
    }

    /// The id for a new world, as [`Objects::new_id`] gives it.
    pub(crate) fn new_id(&self, chosen: Option<&str>) -> Result<WorldId, BridgeError> {
        self.by_id.new_id(chosen)
    }

    /// Adds a world. There may be `limit` at once.
    pub(crate) fn insert(&self, world: GameWorld, limit: usize) -> Result<(), BridgeError> {
        self.by_id.insert(world, limit)
    }

    /// Frees the id and ends all subscriptions to the world; returns it and how many there were.
    pub(crate) fn delete(&self, id: &str) -> Result<(Arc<GameWorld>, usize), BridgeError> {
        let world = self.by_id.remove(id)?;
        let subscriptions = &mut self.subscriptions().by_id;
        let before = subscriptions.len();
        subscriptions.retain(|_, subscription| subscription.world != world.id);
        Ok((world, before - subscriptions.len()))
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
        let mut paths: HashMap<&WorldId, Vec<_>> = HashMap::new();
        for (id, subscription) in &subscriptions.by_id {
            let path = (Arc::clone(id), subscription.path.clone());
            paths.entry(&subscription.world).or_default().push(path);
        }
        let worlds = self.by_id.all().into_iter();
        worlds
            .map(|world| {
                let paths = paths.remove(&world.id).unwrap_or_default();
                (world, paths)
            })
            .collect()
    }

    /// Lets go of all worlds and ends all subscriptions.
    pub(crate) fn clear(&self) {
        self.by_id.remove_all();
        self.subscriptions().by_id.clear();
    }
}
