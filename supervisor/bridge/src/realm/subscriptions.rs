//! What one connection wants to hear of the worlds in its realm.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use indexmap::IndexMap;
use oam_game::world::Observation;

use crate::{message::BridgeError, worlds::GameWorld};

/// Identifies a subscription of a connection: `sub1`, `sub2`, …
pub(crate) type SubscriptionId = Arc<str>;

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

/// The subscriptions of a connection, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    by_id: IndexMap<SubscriptionId, Subscription>,
    last: u64,
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id for a new subscription. There may be `limit` at once.
    pub(crate) fn new_id(&self, limit: usize) -> Result<SubscriptionId, BridgeError> {
        let mut state = self.lock();
        if state.by_id.len() >= limit {
            return Err(BridgeError::limit_reached(limit, "world subscriptions"));
        }
        state.last += 1;
        Ok(format!("sub{}", state.last).into())
    }

    /// Keeps a subscription until it is ended, or its world is deleted.
    pub(crate) fn insert(&self, id: SubscriptionId, subscription: Subscription) {
        self.lock().by_id.insert(id, subscription);
    }

    /// Ends a subscription, and returns what it was.
    pub(crate) fn end(&self, id: &str) -> Result<(SubscriptionId, Subscription), BridgeError> {
        let removed = self.lock().by_id.shift_remove_entry(id);
        removed.ok_or_else(|| BridgeError::subscription_not_found(id))
    }

    /// Ends the subscriptions to this world; returns how many there were.
    pub(crate) fn end_those_of(&self, world: &Arc<GameWorld>) -> usize {
        let subscriptions = &mut self.lock().by_id;
        let before = subscriptions.len();
        subscriptions.retain(|_, subscription| !Arc::ptr_eq(&subscription.world, world));
        before - subscriptions.len()
    }

    /// All of them, by the worlds' ids.
    pub(crate) fn by_world(&self) -> HashMap<Arc<str>, Vec<Subscribed>> {
        let mut by_world: HashMap<_, Vec<_>> = HashMap::new();
        for (id, subscription) in &self.lock().by_id {
            let subscribed = (Arc::clone(id), subscription.path.clone());
            by_world.entry(subscription.world.id.shared()).or_default().push(subscribed);
        }
        by_world
    }

    /// Ends all.
    pub(crate) fn clear(&self) {
        self.lock().by_id.clear();
    }
}
