//! Worlds of which every byte and every version is known.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::account::{Account, Kind};

pub(super) struct Worlds;

#[derive(Clone)]
pub(super) struct World {
    state: Map<String, Value>,
    version: u64,
}

#[derive(Debug)]
pub(super) enum Change {
    Create,
    Set { key: String, value: Value },
    Merge { removed: String, key: String, value: Value },
    Remove { key: String },
    Delete,
}

impl Kind for Worlds {
    type State = World;
    type Change = Change;

    fn apply(state: &mut Option<World>, change: &Change) {
        match change {
            Change::Create => *state = Some(World { state: Map::new(), version: 0 }),
            Change::Delete => *state = None,
            _ => {}
        }
        let Some(World { state, version }) = state else { return };
        let is_change = match change {
            Change::Create | Change::Delete => false,
            Change::Set { key, value } => {
                state.insert(key.clone(), value.clone());
                true
            }
            Change::Merge { removed, key, value } => {
                state.insert(key.clone(), value.clone());
                state.shift_remove(removed);
                true
            }
            Change::Remove { key } => state.shift_remove(key).is_some(),
        };
        *version += u64::from(is_change);
    }

    fn check(state: Option<&mut World>, change: &Change, answer: &Value) -> Result<(), String> {
        match state {
            Some(world) if answer["version"] != world.version => {
                Err(format!("it is at version {} but answers {answer}", world.version))
            }
            None if !matches!(change, Change::Delete) => {
                Err(format!("it does not exist but answers {answer}"))
            }
            _ => Ok(()),
        }
    }
}

impl Account<Worlds> {
    /// A change to ask for, and its request. `mark` makes it differ from all others; with `size` more bytes.
    pub(super) fn next(&self, rng: &mut Rng, mark: u64, size: usize) -> (Change, &'static str, Value) {
        let id = &self.id;
        let value = json!({"mark": mark, "text": "x".repeat(size)});
        let Some(world) = self.planned() else {
            return (Change::Create, "world/create", json!({"world": id}));
        };
        let number = rng.u8(..12);
        let text = format!("k{number}");
        match rng.u8(..16) {
            0 if world.version > 8 => (Change::Delete, "world/delete", json!({"world": id})),
            1..4 => {
                let params = json!({"world": id, "path": text});
                (Change::Remove { key: text }, "world/remove", params)
            }
            4..8 => {
                let removed = format!("k{}", (number + rng.u8(1..12)) % 12);
                let patch = json!({&text: value, &removed: null});
                let params = json!({"world": id, "path": "", "patch": patch});
                // An object is merged into what is there, which has the same keys.
                (Change::Merge { removed, key: text, value }, "world/merge", params)
            }
            _ => {
                let params = json!({"world": id, "path": text, "value": value});
                (Change::Set { key: text, value }, "world/set", params)
            }
        }
    }

    pub(super) fn question(&self) -> (&'static str, Value) {
        ("world/snapshot", json!({"world": self.id}))
    }

    /// Compares what is there with what may be.
    pub(super) fn verify(&mut self, found: Option<&Value>) -> Result<(), String> {
        let told = |world: &World| format!("{} {}", world.version, Value::Object(world.state.clone()));
        let seen = found.map(|found| format!("{} {}", found["version"], found["state"]));
        let possible = self.possible();
        let Some(state) = possible.iter().find(|state| state.as_ref().map(told) == seen).cloned() else {
            let may_be: Vec<_> = possible.iter().map(|state| state.as_ref().map(told)).collect();
            return Err(format!("{}: found {seen:?}\nmay be {may_be:#?}", self.id));
        };
        self.found(state);
        Ok(())
    }
}
