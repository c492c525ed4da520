//! `npc/*`: characters that converse, remember and know a world.

mod create;
mod update;

use std::sync::Arc;

use oam_agent::{ToolName, transcript::json::SavedTranscript};
use oam_game::{DialogueTurn, Memory, NpcOptions, NpcOverview, NpcState, Persona, PlayerLine};
use serde::Serialize;

use crate::{
    at_end::AtEnd,
    coding,
    message::{BridgeError, EventContext, Members, Payload},
    npc::{ClientNpc, NpcId, ToolDefinitions},
    queue::Operation,
    registry::{MethodRegistry, MethodSet, Reply, Request},
    timestamp,
    turn_host::ClientTurn,
    worlds::WorldId,
};

use create::{create, restore};
use update::update;

const EVENTS: &str = "npc/event";

const TALK_MEMBERS: &[&str] = &["npc", "line", "context", "stream", "toolChoice"];

pub(super) struct NpcMethods;

impl MethodSet for NpcMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register_change("npc/create", create);
        registry.register_change("npc/talk", talk);
        registry.register_change("npc/bark", bark);
        registry.register_look("npc/state", state);
        registry.register_change("npc/restore", restore);
        registry.register_change("npc/update", update);
        registry.register_change("npc/reset", reset);
        registry.register_look("npc/cancel", cancel);
        registry.register_change("npc/delete", delete);
        registry.register_look("npc/list", list);
    }

    fn notifications(&self) -> Vec<&'static str> {
        vec![EVENTS]
    }
}

/// The result of an operation of the NPC.
fn queued<F>(
    npc: Arc<ClientNpc>,
    work: impl FnOnce(Arc<ClientNpc>, Operation) -> F + Send + 'static,
) -> Result<Reply, BridgeError>
where
    F: Future<Output = Result<Payload, BridgeError>> + Send + 'static,
{
    Reply::queued(&Arc::clone(&npc.queue), move |operation| async move {
        let ended = AtEnd(|| npc.work_ended());
        let result = work(Arc::clone(&npc), operation).await;
        drop(ended);
        result
    })
}

/// `{"npc"}`: the answer of methods that only do something.
#[derive(Serialize)]
struct Done<'a> {
    npc: &'a NpcId,
}

fn talk(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Talked<'a> {
        npc: &'a NpcId,
        #[serde(flatten)]
        turn: DialogueTurn,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    }
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    let Request { bridge, id, params } = request;
    let player = PlayerLine {
        line: params.string("line")?.to_owned(),
        context: params.get("context").cloned(),
        stream: params.optional_bool("stream")?.unwrap_or(false),
        tool_choice: coding::tool_choice(&params, "toolChoice")?,
    };
    let warnings = params.unknown_members(TALK_MEMBERS);
    queued(npc, move |npc, operation| async move {
        let members = Members::new().with("npc", &npc.id).with("requestId", &id);
        let context = Arc::new(EventContext::new(EVENTS, members));
        let turn = ClientTurn { bridge: &bridge, context, operation: Some(operation) };
        let turn = turn.talk(&npc.npc, &player).await?;
        Ok(Payload::of(&Talked { npc: &npc.id, turn, warnings }))
    })
}

fn bark(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Barked<'a> {
        npc: &'a NpcId,
        line: String,
    }
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    let situation = request.params.get("situation").cloned();
    Reply::later(async move {
        let _ended = AtEnd(|| npc.work_ended());
        let line = npc.deleted.run_until_cancelled(npc.npc.bark(situation.as_ref())).await;
        let line = line.ok_or_else(|| BridgeError::cancelled("The NPC was deleted."))??;
        Ok(Payload::of(&Barked { npc: &npc.id, line }))
    })
}

fn state(request: Request) -> Result<Reply, BridgeError> {
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    if request.params.optional_bool("settle")?.unwrap_or(true) {
        queued(npc, move |npc, _| async move {
            npc.npc.settle().await;
            Ok(Payload::of(&Saved::of(&npc)))
        })
    } else {
        Reply::now(&Saved::of(&npc))
    }
}

/// An NPC as it is saved, with what only the bridge knows of it.
#[derive(Serialize)]
struct Saved<'a> {
    npc: &'a NpcId,
    state: SavedState<'a>,
}

#[derive(Serialize)]
struct SavedState<'a> {
    version: u32,
    persona: Persona,
    memory: Memory,
    transcript: SavedTranscript,
    npc: &'a NpcId,
    options: NpcOptions,
    tools: ToolDefinitions,
    world: Option<&'a WorldId>,
}

impl<'a> Saved<'a> {
    fn of(npc: &'a ClientNpc) -> Self {
        let (NpcState { version, persona, memory, transcript, options }, tools) = npc.save();
        let world = npc.world.as_ref();
        let state = SavedState { version, persona, memory, transcript, npc: &npc.id, options, tools, world };
        Self { npc: &npc.id, state }
    }
}

fn reset(request: Request) -> Result<Reply, BridgeError> {
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    let clear_memory = request.params.optional_bool("clearMemory")?.unwrap_or(false);
    queued(npc, move |npc, operation| async move {
        npc.npc.settle().await;
        operation.commit()?;
        npc.npc.reset(clear_memory).await;
        Ok(Payload::of(&Done { npc: &npc.id }))
    })
}

fn cancel(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Cancelled<'a> {
        npc: &'a NpcId,
        cancelled: usize,
    }
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    Reply::now(&Cancelled { npc: &npc.id, cancelled: npc.queue.cancel_all() })
}

fn delete(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Deleted<'a> {
        npc: &'a NpcId,
        deleted: bool,
    }
    let npc = request.bridge.realm().npcs.remove(request.params.string("npc")?)?;
    npc.stop();
    Reply::now(&Deleted { npc: &npc.id, deleted: true })
}

fn list(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Listed<'a> {
        npcs: Vec<ListedNpc<'a>>,
    }
    let npcs = request.bridge.realm().npcs.all();
    Reply::now(&Listed { npcs: npcs.iter().map(|npc| ListedNpc::of(npc)).collect() })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedNpc<'a> {
    npc: &'a NpcId,
    name: String,
    role: String,
    world: Option<&'a WorldId>,
    model: &'a str,
    tools: Vec<String>,
    turn_count: usize,
    relationship: i64,
    busy: bool,
    pending_operations: usize,
    created_at: String,
}

impl<'a> ListedNpc<'a> {
    fn of(npc: &'a ClientNpc) -> Self {
        let pending_operations = npc.queue.pending();
        let NpcOverview { name, role, tools, relationship, turn_count } = npc.npc.overview();
        Self {
            npc: &npc.id,
            name,
            role,
            world: npc.world.as_ref(),
            model: &npc.model,
            tools: tools.iter().map(ToolName::to_string).collect(),
            turn_count,
            relationship: relationship.get(),
            busy: pending_operations > 0,
            pending_operations,
            created_at: timestamp::iso8601(npc.created_at),
        }
    }
}
