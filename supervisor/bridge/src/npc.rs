//! An NPC of a bridge: the character, the queue of its operations, and what `npc/list` tells of it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use oam_game::{Npc, NpcDraft, NpcState};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    journal::ObjectKind,
    message::BridgeError,
    objects::{Id, Object, Objects},
    queue::OperationQueue,
    realm::{Keeper, NpcRecorder},
    worlds::WorldId,
};

pub(crate) type NpcId = Id<ClientNpc>;
pub(crate) type Npcs = Objects<ClientNpc>;

/// An NPC that a client created.
#[derive(Debug)]
pub(crate) struct ClientNpc {
    pub(crate) id: NpcId,
    pub(crate) npc: Npc,
    pub(crate) queue: Arc<OperationQueue>,
    /// The id under which its world was known when the NPC was created.
    pub(crate) world: Option<WorldId>,
    /// `system`, `scripted` or a custom type.
    pub(crate) model: String,
    pub(crate) created_at: SystemTime,
    /// Cancelled when it is deleted: the end of what runs beside its queue.
    pub(crate) deleted: CancellationToken,
    /// Locked before the NPC is, so that the two agree.
    tool_definitions: Mutex<ToolDefinitions>,
    /// Records what becomes of it, in a durable realm. The NPC tells it.
    recorder: Option<Arc<NpcRecorder>>,
}

/// The definitions of an NPC's client tools, as they were sent.
pub(crate) type ToolDefinitions = Arc<[Value]>;

impl ClientNpc {
    pub(crate) fn new(
        id: NpcId,
        npc: Npc,
        world: Option<WorldId>,
        model: String,
        tool_definitions: ToolDefinitions,
        created_at: SystemTime,
        recorder: Option<Arc<NpcRecorder>>,
    ) -> Self {
        Self {
            queue: OperationQueue::new(format!("NPC '{id}'")),
            id,
            npc,
            world,
            model,
            created_at,
            deleted: CancellationToken::new(),
            tool_definitions: Mutex::new(tool_definitions),
            recorder,
        }
    }

    /// What it is and how its client tools were defined, at one moment.
    pub(crate) fn save(&self) -> (NpcState, ToolDefinitions) {
        let definitions = self.tool_definitions();
        (self.npc.save(), Arc::clone(&definitions))
    }

    /// [Revises](Npc::revise) the NPC, together with the definitions of its client tools.
    pub(crate) fn revise(
        &self,
        revise: impl FnOnce(&mut NpcDraft, &mut ToolDefinitions) -> Result<(), BridgeError>,
    ) -> Result<(), BridgeError> {
        let mut definitions = self.tool_definitions();
        let mut revised = Arc::clone(&definitions);
        self.npc.revise(|draft| {
            revise(draft, &mut revised)?;
            if let Some(recorder) = &self.recorder {
                let is_new = !Arc::ptr_eq(&revised, &definitions);
                recorder.expect_tools(is_new.then(|| Arc::clone(&revised)));
            }
            Ok::<_, BridgeError>(())
        })?;
        *definitions = revised;
        Ok(())
    }

    /// Called when some of its work has ended, whichever way.
    pub(crate) fn work_ended(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.work_ended();
            recorder.rewrite_when_long(&self.npc, &self.tool_definitions());
        }
    }

    fn tool_definitions(&self) -> MutexGuard<'_, ToolDefinitions> {
        self.tool_definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels all its work. For an NPC that is deleted.
    pub(crate) fn stop(&self) {
        self.queue.close();
        self.deleted.cancel();
        self.npc.stop_compaction();
    }
}

impl Object for ClientNpc {
    const PARAMETER: &'static str = "npc";
    const ID_PREFIX: &'static str = "npc";
    const KIND: ObjectKind = ObjectKind::Npc;

    fn id(&self) -> &NpcId {
        &self.id
    }

    fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.recorder.as_ref().map(|recorder| recorder.keeper())
    }

    fn begin_keeping(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.record_whole(&self.npc, &self.tool_definitions());
        }
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
