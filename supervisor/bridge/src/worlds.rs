//! The worlds of a realm.

use std::{sync::Arc, time::SystemTime};

use oam_game::world::World;

use crate::{
    journal::ObjectKind,
    message::BridgeError,
    objects::{Id, Object, Objects},
    realm::Keeper,
};

pub(crate) type WorldId = Id<GameWorld>;
pub(crate) type Worlds = Objects<GameWorld>;

/// A world under its id. Whoever holds it can go on using it after the id was freed.
#[derive(Debug)]
pub(crate) struct GameWorld {
    pub(crate) id: WorldId,
    pub(crate) world: World,
    pub(crate) created_at: SystemTime,
    pub(crate) keeper: Option<Arc<Keeper>>,
}

impl Object for GameWorld {
    const PARAMETER: &'static str = "world";
    const ID_PREFIX: &'static str = "w";
    const KIND: ObjectKind = ObjectKind::World;

    fn id(&self) -> &WorldId {
        &self.id
    }

    fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    fn begin_keeping(&self) {
        if let Some(keeper) = &self.keeper {
            self.record_whole(keeper);
            self.record_edits(keeper);
        }
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
