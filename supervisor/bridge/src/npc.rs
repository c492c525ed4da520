//! An NPC of a bridge: the character, the queue of its operations, and what `npc/list` tells of it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use oam_game::Npc;
use serde_json::Value;

use crate::{
    message::BridgeError,
    objects::{Id, Object, Objects},
    queue::OperationQueue,
    worlds::{Inhabitant, WorldId},
};

pub(crate) type NpcId = Id<ClientNpc>;
pub(crate) type Npcs = Objects<ClientNpc>;

/// An NPC that a client created.
#[derive(Debug)]
pub(crate) struct ClientNpc {
    pub(crate) id: NpcId,
    pub(crate) npc: Npc,
    pub(crate) queue: Arc<OperationQueue>,
    world: Option<Inhabitant>,
    /// `system`, `scripted` or a custom type.
    pub(crate) model: String,
    pub(crate) created_at: SystemTime,
    tool_definitions: Mutex<ToolDefinitions>,
}

/// The definitions of an NPC's client tools, as they were sent.
pub(crate) type ToolDefinitions = Arc<[Value]>;

impl ClientNpc {
    pub(crate) fn new(
        id: NpcId,
        npc: Npc,
        world: Option<Inhabitant>,
        model: String,
        tool_definitions: ToolDefinitions,
    ) -> Self {
        let queue = OperationQueue::new(format!("NPC '{id}'"));
        let tool_definitions = Mutex::new(tool_definitions);
        Self { id, npc, queue, world, model, created_at: SystemTime::now(), tool_definitions }
    }

    /// The id under which its world was known when the NPC was created.
    pub(crate) fn world_id(&self) -> Option<&WorldId> {
        self.world.as_ref().map(|world| &world.id)
    }

    pub(crate) fn tool_definitions(&self) -> ToolDefinitions {
        Arc::clone(&self.lock_tool_definitions())
    }

    pub(crate) fn set_tool_definitions(&self, definitions: ToolDefinitions) {
        *self.lock_tool_definitions() = definitions;
    }

    fn lock_tool_definitions(&self) -> MutexGuard<'_, ToolDefinitions> {
        self.tool_definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels all its work. For an NPC that is deleted.
    pub(crate) fn stop(&self) {
        self.queue.cancel_all();
        self.npc.stop_compaction();
    }
}

impl Object for ClientNpc {
    const PARAMETER: &'static str = "npc";
    const ID_PREFIX: &'static str = "npc";

    fn id(&self) -> &NpcId {
        &self.id
    }

    fn not_found(id: &str) -> BridgeError {
        BridgeError::npc_not_found(id)
    }

    fn exists(id: &str) -> BridgeError {
        BridgeError::npc_exists(id)
    }

    fn limit_reached(limit: usize) -> BridgeError {
        BridgeError::limit_reached(limit, "NPCs")
    }
}
