//! Writing down what happens to a world, and playing it again.
//!
//! A world has at most one keeper. It is told of each edit within the edit, so what it writes down has the order of the
//! versions; played again on the world as it was, the edits give the same world, down to the order of keys.

use serde_json::Value;

use super::{
    World,
    edit::{self, Change},
    error::WorldError,
    path::WorldPath,
};

pub(super) type Keeper = Box<dyn FnMut(WorldEdit<'_>) + Send>;

/// An edit that changed a world.
#[derive(Debug, Clone, Copy)]
pub struct WorldEdit<'a> {
    /// The version of the world since the edit.
    pub version: u64,
    /// The whole state since the edit, an object.
    pub state: &'a Value,
    changes: &'a [Change],
}

impl<'a> WorldEdit<'a> {
    pub(super) fn new(version: u64, state: &'a Value, changes: &'a [Change]) -> Self {
        Self { version, state, changes }
    }

    /// The places that the edit changed, in order, and what it put there; `None` where it took something away. A path may
    /// have keys that cannot be written in one, so it is kept by its [segments](WorldPath::segments).
    pub fn changes(self) -> impl ExactSizeIterator<Item = (&'a WorldPath, Option<&'a Value>)> {
        self.changes.iter().map(move |change| (&change.path, change.new_value(self.state)))
    }
}

/// Why an edit cannot be played again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Edits before it are missing.
    #[error("The world is at version {at}, so the edit that made version {version} cannot follow.")]
    Gap {
        /// The version of the world.
        at: u64,
        /// The version that the edit made.
        version: u64,
    },
    /// The edit is of another world.
    #[error(transparent)]
    Refused(#[from] WorldError),
}

impl World {
    /// A world with this state, at this version. Fails like [`new`](Self::new).
    pub fn at_version(state: Value, version: u64) -> Result<Self, WorldError> {
        let world = Self::new(state)?;
        world.lock().version = version;
        Ok(world)
    }

    /// Calls `keeper` for every edit that changes something, before the observers, instead of the keeper before it. What is
    /// forbidden to [observers](Self::observe) is forbidden to it.
    pub fn keep(&self, keeper: impl FnMut(WorldEdit<'_>) + Send + 'static) {
        let before = self.lock().keeper.replace(Box::new(keeper));
        // Outside of the lock: the keeper may own what looks at the world when it is dropped.
        drop(before);
    }

    /// Ends the keeping: the keeper is not called any more.
    pub fn stop_keeping(&self) {
        let before = self.lock().keeper.take();
        drop(before);
    }

    /// Plays an edit again that a [keeper](Self::keep) was told of, on the world as it was before. One that the world has
    /// already seen changes nothing. Nobody is told.
    pub fn replay(
        &self,
        version: u64,
        changes: impl IntoIterator<Item = (WorldPath, Option<Value>)>,
    ) -> Result<(), ReplayError> {
        let mut state = self.lock();
        let at = state.version;
        if version <= at {
            return Ok(());
        }
        if version - at > 1 {
            return Err(ReplayError::Gap { at, version });
        }
        for (path, new) in changes {
            match new {
                Some(new) => edit::set(&mut state.root, &path, new, &mut Vec::new())?,
                None => drop(edit::remove(&mut state.root, &path)),
            }
        }
        state.version = version;
        Ok(())
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
