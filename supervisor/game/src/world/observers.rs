//! Who hears of changes.
//!
//! Observers are told while the world is locked, one after another. So all of them hear of all changes in the one order
//! in which the changes were made, and one that has been dropped hears of nothing any more.

use std::sync::{Mutex, Weak};

use serde_json::Value;

use super::{State, edit::Change, lock, path::WorldPath};

/// One place that changed. A value that was created has no old one, a value that was removed no new one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorldChange<'a> {
    /// The place.
    pub path: &'a WorldPath,
    /// What was there.
    pub old_value: Option<&'a Value>,
    /// What is there now.
    pub new_value: Option<&'a Value>,
}

type Callback = Box<dyn FnMut(WorldChange<'_>) + Send>;

struct Observer {
    id: u64,
    path: WorldPath,
    callback: Callback,
}

/// The observers of a world, in the order of their creation.
#[derive(Default)]
pub(super) struct Observers {
    last_id: u64,
    observers: Vec<Observer>,
}

impl Observers {
    pub(super) fn add(&mut self, path: WorldPath, callback: Callback) -> u64 {
        self.last_id += 1;
        self.observers.push(Observer { id: self.last_id, path, callback });
        self.last_id
    }

    fn remove(&mut self, id: u64) -> Option<Observer> {
        let position = self.observers.binary_search_by_key(&id, |observer| observer.id).ok()?;
        Some(self.observers.remove(position))
    }

    /// Tells of the changes that an edit made; `root` is as the edit left it.
    pub(super) fn tell(&mut self, changes: &[Change], root: &Value) {
        if self.observers.is_empty() {
            return;
        }
        for change in changes {
            let told = WorldChange {
                path: &change.path,
                old_value: change.old.as_ref(),
                new_value: change.new_value(root),
            };
            for observer in self.observers.iter_mut().filter(|observer| observer.path.touches(&change.path)) {
                (observer.callback)(told);
            }
        }
    }
}

/// An observer's place in a world, which it leaves when this is dropped: afterwards its callback is not run any more.
#[must_use = "the observation ends when this is dropped"]
pub struct Observation {
    pub(super) world: Weak<Mutex<State>>,
    pub(super) id: u64,
}

impl Drop for Observation {
    fn drop(&mut self) {
        if let Some(world) = self.world.upgrade() {
            let observer = lock(&world).observers.remove(self.id);
            // Outside of the lock: the callback may own what looks at the world when it is dropped.
            drop(observer);
        }
    }
}

impl std::fmt::Debug for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Observation").field(&self.id).finish()
    }
}
