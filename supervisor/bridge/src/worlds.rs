//! The worlds of a realm.

use std::time::SystemTime;

use oam_game::world::World;

use crate::{
    message::BridgeError,
    objects::{Id, Object, Objects},
};

pub(crate) type WorldId = Id<GameWorld>;
pub(crate) type Worlds = Objects<GameWorld>;

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
