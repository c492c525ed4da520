//! World state: the blackboard that a game writes and its characters read (docs/PROTOCOL.md, World state).
//!
//! A [`World`] is a JSON object behind a lock. [`WorldPath`]s name the places in it; [`edit`] changes them and tells
//! what changed; [`observers`] hear of it, and a [`keeper`] can write it down and play it again. What a language model gets to see comes in two forms: a few lines in its
//! prompt ([`summary`]), and [`tools`] that read and write. Their words are all in [`wording`].
#![expect(clippy::similar_names, reason = "a path and a patch are called so")]

mod abridge;
#[cfg(test)]
mod arbitrary;
mod edit;
mod error;
mod keeper;
mod observers;
mod part;
mod path;
mod summary;
mod tools;
mod value;
mod wording;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};

use self::{edit::Change, keeper::Keeper, observers::Observers};
pub use self::{
    edit::MAX_DEPTH,
    error::WorldError,
    keeper::{ReplayError, WorldEdit},
    observers::{Observation, WorldChange},
    path::WorldPath,
};

/// A JSON object that a game and its characters share. Cloning refers to the same world.
///
/// Every method is atomic and fast: nothing is copied but what is returned. Keys keep their order: a changed member its
/// place, a new one comes last. A write that would leave an equal value (`1` is `1.0`, the order of keys does not count)
/// changes nothing; every other write adds one to the [version](Self::version).
///
/// ```
/// use oam_game::world::{World, WorldPath};
/// use serde_json::json;
///
/// let world = World::new(json!({"player": {"gold": 12}, "party": [{"name": "Brom"}]}))?;
/// let gold: WorldPath = "player.gold".parse()?;
/// let observation = world.observe(gold.clone(), |change| {
///     println!("{}: {:?} → {:?}", change.path, change.old_value, change.new_value);
/// });
///
/// world.set(&gold, json!(60))?;
/// world.set(&"party.1".parse()?, json!({"name": "Lysa"}))?;
/// world.merge(&WorldPath::root(), json!({"player": {"title": "Knight"}}))?;
/// world.modify(&gold, |gold| Some(json!(gold?.as_i64()? - 45)))?;
/// assert_eq!(world.get(&gold), Some(json!(15)));
/// assert_eq!(world.get(&"party[1].name".parse()?), Some(json!("Lysa")));
/// assert_eq!(world.remove(&"party.0".parse()?).old_value, Some(json!({"name": "Brom"})));
/// assert_eq!(world.version(), 5);
///
/// assert_eq!(world.summary(&["player".parse()?]), "player.gold: 15\nplayer.title: Knight");
/// let tools = world.tools(&[WorldPath::root()], &["player".parse()?]);
/// assert_eq!(tools.len(), 2);
/// # Ok::<(), oam_game::world::WorldError>(())
/// ```
#[derive(Clone)]
pub struct World {
    state: Arc<Mutex<State>>,
}

struct State {
    /// Always an object.
    root: Value,
    version: u64,
    keeper: Option<Keeper>,
    observers: Observers,
}

/// What [`World::remove`] did.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// What was removed; `None` when nothing was there.
    pub old_value: Option<Value>,
    /// The version of the world afterwards.
    pub version: u64,
}

/// What an edit did.
struct Written<T> {
    result: T,
    version: u64,
    /// With the old values, so that large ones are dropped after the others got their world back.
    changes: Vec<Change>,
}

/// A world as it is at one moment.
#[derive(Debug, Clone, Copy)]
pub struct WorldView<'a> {
    root: &'a Value,
    /// How often it has changed.
    pub version: u64,
}

impl<'a> WorldView<'a> {
    /// The whole state, an object.
    pub fn state(self) -> &'a Value {
        self.root
    }

    /// The value at the path. Keys match exactly.
    pub fn get(self, path: &WorldPath) -> Option<&'a Value> {
        value::get(self.root, path)
    }
}

impl World {
    /// A world with this state, at version 0. Fails when `state` is no object, or nests deeper than [`MAX_DEPTH`].
    pub fn new(state: Value) -> Result<Self, WorldError> {
        let world = Self::default();
        let mut root = Value::Object(Map::new());
        edit::set(&mut root, &WorldPath::root(), state, &mut Vec::new())?;
        world.lock().root = root;
        Ok(world)
    }

    /// The value at the path, if there is one; `null` is a value.
    pub fn get(&self, path: &WorldPath) -> Option<Value> {
        self.read(|world| world.get(path).cloned())
    }

    /// The whole state.
    pub fn snapshot(&self) -> Value {
        self.lock().root.clone()
    }

    /// How many operations have changed the world.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// Looks at the world without copying it. Nobody else gets at it meanwhile, so `look` must not touch this world, nor
    /// wait for anything.
    pub fn read<T>(&self, look: impl FnOnce(WorldView<'_>) -> T) -> T {
        let state = self.lock();
        look(WorldView { root: &state.root, version: state.version })
    }

    /// Stores a value and returns the version. Missing objects on the way are made, also in the place of `null`; the
    /// position behind the last one appends to a list.
    ///
    /// Fails when something else is on the way, when a list has no such position, when the root would not be an
    /// object, or the world would nest deeper than [`MAX_DEPTH`]. A write that fails changes nothing.
    pub fn set(&self, path: &WorldPath, value: Value) -> Result<u64, WorldError> {
        self.write(|root, changes| edit::set(root, path, value, changes)).map(|written| written.version)
    }

    /// Merges a patch into the value at the path (RFC 7386: objects merge, `null` deletes) and returns the version. A
    /// patch that is no object replaces the value. Below 64 levels a patch is stored as it is. Fails as
    /// [`set`](Self::set) does.
    pub fn merge(&self, path: &WorldPath, patch: Value) -> Result<u64, WorldError> {
        self.write(|root, changes| edit::merge(root, path, patch, changes)).map(|written| written.version)
    }

    /// Takes the value at the path away, if there is one. A list closes the gap; the root becomes empty.
    pub fn remove(&self, path: &WorldPath) -> Removal {
        let written = self.write(|root, changes| {
            changes.extend(edit::remove(root, path));
            Ok::<_, Infallible>(())
        });
        let Written { mut changes, version, .. } = written.unwrap_or_else(|never| match never {});
        // The root is always there, but emptying an empty one is no change.
        let empty_root = || path.is_root().then(|| Value::Object(Map::new()));
        Removal { old_value: changes.pop().and_then(|change| change.old).or_else(empty_root), version }
    }

    /// Replaces the value at the path by what `change` makes of it (`None` is no value), and returns the version. Nobody
    /// else gets at the world meanwhile, so `change` must not touch this world, nor wait for anything. Fails as
    /// [`set`](Self::set) does.
    pub fn modify(
        &self,
        path: &WorldPath,
        change: impl FnOnce(Option<&Value>) -> Option<Value>,
    ) -> Result<u64, WorldError> {
        let modified = self.write(|root, changes| {
            if let Some(new) = change(value::get(root, path)) {
                return edit::set(root, path, new, changes);
            }
            changes.extend(edit::remove(root, path));
            Ok(())
        });
        modified.map(|written| written.version)
    }

    /// Calls `callback` for every change at, inside or above the path, until the returned observation is dropped.
    ///
    /// Observers of one world are called in the order of their creation, and all of them see all changes in the same
    /// order: the one in which they were made. A [merge](Self::merge) is one change for each leaf that it changed; a value
    /// created, replaced or deleted as a whole is one change at its top.
    ///
    /// The callback runs within the write that made the change, on its thread, while nobody else gets at the world. It
    /// must not touch this world in any way (reads, writes, new observations or the end of one included: it would wait
    /// for itself), nor an [`Npc`](crate::Npc) that lives in it (which reads the world while it is revised). It must not wait
    /// for anything, and should be quick; hand the change on where more is to be done. It must not own a clone of the world
    /// either, which would keep the world alive for ever.
    pub fn observe(
        &self,
        path: WorldPath,
        callback: impl FnMut(WorldChange<'_>) + Send + 'static,
    ) -> Observation {
        let id = self.lock().observers.add(path, Box::new(callback));
        Observation { world: Arc::downgrade(&self.state), id }
    }

    /// Runs an edit; when it changed something, counts it and tells the keeper and the observers.
    fn write<T, E>(
        &self,
        edit: impl FnOnce(&mut Value, &mut Vec<Change>) -> Result<T, E>,
    ) -> Result<Written<T>, E> {
        let mut changes = Vec::new();
        let mut state = self.lock();
        let State { root, version, keeper, observers } = &mut *state;
        let result = edit(root, &mut changes)?;
        if !changes.is_empty() {
            *version += 1;
            if let Some(keeper) = keeper {
                keeper(WorldEdit::new(*version, root, &changes));
            }
            observers.tell(&changes, root);
        }
        Ok(Written { result, version: *version, changes })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A panic of a callback leaves the world whole: edits are finished before anybody is told.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for World {
    /// An empty world.
    fn default() -> Self {
        let root = Value::Object(Map::new());
        let state = State { root, version: 0, keeper: None, observers: Observers::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("version", &self.version()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
