//! What is recorded of a world: its beginning, and each edit as what it put where.

use std::{borrow::Cow, sync::Arc, time::SystemTime};

use oam_game::world::{World, WorldEdit, WorldPath};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Keeper, record::UnreadableRecord};
use crate::{
    timestamp,
    worlds::{GameWorld, WorldId},
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WorldRecord<'a> {
    /// The world as it was created, or as a snapshot found it.
    #[serde(rename_all = "camelCase")]
    Whole {
        #[serde(with = "timestamp::iso8601_form")]
        created_at: SystemTime,
        version: u64,
        state: Cow<'a, Value>,
    },
    Edit {
        /// The version that the edit made.
        version: u64,
        changes: Vec<Change<'a>>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Change<'a> {
    /// Keys and list positions, which may contain anything.
    path: Vec<Cow<'a, str>>,
    /// `None`: what was there was taken away.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "there")]
    value: Option<Cow<'a, Value>>,
}

/// A member that is there, be it `null`.
fn there<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, Value>>, D::Error> {
    Value::deserialize(deserializer).map(|value| Some(Cow::Owned(value)))
}

impl GameWorld {
    /// Records the world as it is.
    pub(crate) fn record_whole(&self, keeper: &Keeper) {
        self.world.read(|world| keeper.record(&whole(self.created_at, world.version, world.state())));
    }

    /// Records each edit from now on.
    pub(crate) fn record_edits(&self, keeper: &Arc<Keeper>) {
        let (created_at, keeper) = (self.created_at, Arc::clone(keeper));
        self.world.keep(move |edit| {
            keeper.record(&edited(edit));
            if keeper.is_long() {
                keeper.rewrite(&whole(created_at, edit.version, edit.state));
            }
        });
    }
}

fn whole(created_at: SystemTime, version: u64, state: &Value) -> WorldRecord<'_> {
    WorldRecord::Whole { created_at, version, state: Cow::Borrowed(state) }
}

fn edited(edit: WorldEdit<'_>) -> WorldRecord<'_> {
    let changes = edit.changes().map(|(path, value)| Change {
        path: path.segments().map(Cow::Borrowed).collect(),
        value: value.map(Cow::Borrowed),
    });
    WorldRecord::Edit { version: edit.version, changes: changes.collect() }
}

/// Does to `world` what a record says.
pub(super) fn replay(
    world: &mut Option<GameWorld>,
    id: &WorldId,
    record: &[u8],
) -> Result<(), UnreadableRecord> {
    let malformed = |error: &dyn std::error::Error| UnreadableRecord::Malformed(error.to_string());
    match super::record::read(record)? {
        WorldRecord::Whole { created_at, version, state } => {
            let state = World::at_version(state.into_owned(), version).map_err(|error| malformed(&error))?;
            *world = Some(GameWorld { id: id.clone(), world: state, created_at, keeper: None });
        }
        WorldRecord::Edit { version, changes } => {
            let world = world.as_ref().ok_or_else(UnreadableRecord::without_beginning)?;
            let changes = changes.into_iter().map(|Change { path, value }| {
                let path = path.into_iter().map(|segment| Arc::<str>::from(&*segment));
                (path.collect::<WorldPath>(), value.map(Cow::into_owned))
            });
            world.world.replay(version, changes).map_err(|error| malformed(&error))?;
        }
    }
    Ok(())
}
