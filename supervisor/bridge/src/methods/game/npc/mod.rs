//! `npc/*`: characters that converse, remember and know a world.

use std::{sync::Arc, time::Duration};

use oam_agent::{BoxFuture, Tool, transcript::json::SavedTranscript};
use oam_game::{
    DialogueTurn, Memory, Npc, NpcError, NpcOptions, NpcSetup, NpcState, Persona, PlayerLine,
    world::merge_patch,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    bridge::Bridge,
    coding::{self, ToolSet},
    message::{BridgeError, EventContext, Members, Payload},
    npc::{ClientNpc, NpcId, Npcs, ToolDefinitions},
    params::Params,
    registry::{MethodRegistry, MethodSet, Reply, Request},
    timestamp,
    turn_host::ClientTurn,
    worlds::{GameWorld, WorldId, Worlds},
};

const EVENTS: &str = "npc/event";

const CREATE_MEMBERS: &[&str] = &["npc", "persona", "tools", "world", "memory", "options", "model"];
const RESTORE_MEMBERS: &[&str] = &["state", "npc", "tools", "options", "world", "model"];
const STATE_MEMBERS: &[&str] =
    &["version", "persona", "memory", "transcript", "npc", "options", "tools", "world"];
const TALK_MEMBERS: &[&str] = &["npc", "line", "context", "stream", "toolChoice"];
const UPDATE_MEMBERS: &[&str] = &["npc", "persona", "options", "memory", "tools"];

pub(super) struct NpcMethods {
    npcs: Arc<Npcs>,
    worlds: Arc<Worlds>,
}

impl NpcMethods {
    pub(super) fn new(npcs: Arc<Npcs>, worlds: Arc<Worlds>) -> Self {
        Self { npcs, worlds }
    }
}

impl MethodSet for NpcMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        type Method = fn(&NpcMethods, Request) -> Result<Reply, BridgeError>;
        let methods: [(&str, Method); 10] = [
            ("npc/create", create),
            ("npc/talk", talk),
            ("npc/bark", bark),
            ("npc/state", state),
            ("npc/restore", restore),
            ("npc/update", update),
            ("npc/reset", reset),
            ("npc/cancel", cancel),
            ("npc/delete", delete),
            ("npc/list", list),
        ];
        for (name, method) in methods {
            let set = Arc::clone(&self);
            registry.register(name, move |request| method(&set, request));
        }
    }

    fn notifications(&self) -> Vec<&'static str> {
        vec![EVENTS]
    }

    fn shut_down(&self) -> BoxFuture<'static, ()> {
        for npc in self.npcs.remove_all() {
            npc.stop();
        }
        Box::pin(std::future::ready(()))
    }
}

/// `{"npc"}`: the answer of methods that only do something.
#[derive(Serialize)]
struct Done<'a> {
    npc: &'a NpcId,
}

/// An NPC as a request describes it, but for its model.
struct Description<'a> {
    persona: Persona,
    memory: Memory,
    history: SavedTranscript,
    options: NpcOptions,
    /// Where the options are: `options`, or within a saved state.
    options_path: String,
    /// Where the tools are defined.
    tools: &'a Params<'a>,
    world: Option<&'a str>,
}

fn create(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let mut warnings = params.unknown_members(CREATE_MEMBERS);
    let id = set.npcs.new_id(params.optional_client_id("npc")?)?;
    let persona = coding::persona(params, "persona", &mut warnings)?;
    let memory = coding::memory(params, "memory", &mut warnings)?;
    params.optional_array("tools")?;
    let options = coding::npc_options(params, "options", bridge.config().tool_timeout, &mut warnings)?;
    let world = params.optional_string("world")?;
    let history = SavedTranscript::default();
    add(
        set,
        bridge,
        params,
        id,
        Description {
            persona,
            memory,
            history,
            options,
            options_path: params.path("options"),
            tools: params,
            world,
        },
        warnings,
    )
}

fn restore(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let mut warnings = params.unknown_members(RESTORE_MEMBERS);
    let state = saved_state(params)?;
    warnings.extend(state.unknown_members(STATE_MEMBERS));
    for required in ["version", "persona", "memory", "transcript"] {
        state.value(required)?;
    }
    state.integer("version", i64::MIN)?;
    let id = match params.optional_client_id("npc")? {
        Some(id) => Some(id),
        None => state.optional_client_id("npc")?,
    };
    let id = set.npcs.new_id(id)?;
    let sent_or_saved = |name| if params.has(name) { params } else { &state };
    let persona = coding::persona(&state, "persona", &mut warnings)?;
    let memory = coding::memory(&state, "memory", &mut warnings)?;
    let tools = sent_or_saved("tools");
    tools.optional_array("tools")?;
    let tool_timeout = bridge.config().tool_timeout;
    let options_in = sent_or_saved("options");
    let options = coding::npc_options(options_in, "options", tool_timeout, &mut warnings)?;
    let options_path = options_in.path("options");
    let mut world = sent_or_saved("world").optional_string("world")?;
    if let Some(saved) = world.filter(|_| !params.has("world"))
        && set.worlds.get(saved).is_err()
    {
        warnings.push(format!("The saved world '{saved}' does not exist; the NPC has no world."));
        world = None;
    }
    let history = coding::history(&state, "transcript")?.unwrap_or_default();
    let description = Description { persona, memory, history, options, options_path, tools, world };
    add(set, bridge, params, id, description, warnings)
}

/// The saved state that a request brings: the state itself, or the whole result of `npc/state`.
fn saved_state<'a>(params: &'a Params<'_>) -> Result<Params<'a>, BridgeError> {
    let value = params.value("state")?;
    let is_whole_result = value.get("persona").is_none();
    let inner = value.get("state").filter(|inner| is_whole_result && inner.is_object());
    Params::at("state", inner.unwrap_or(value))
}

fn add(
    set: &NpcMethods,
    bridge: &Bridge,
    params: &Params<'_>,
    id: NpcId,
    description: Description<'_>,
    mut warnings: Vec<String>,
) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Created<'a> {
        npc: &'a NpcId,
        tools: Vec<String>,
        warnings: Vec<String>,
    }
    let Description { persona, memory, history, options, options_path, tools, world } = description;
    let choice = coding::model(bridge, params, "model")?;
    let definitions: ToolDefinitions = tools.optional_array("tools")?.unwrap_or_default().into();
    let tool_set = coding::optional_tools(tools, "tools", options.tool_timeout)?;
    let world = world.map(|id| set.worlds.get(id)).transpose()?;
    warnings.extend(tool_set.warnings);
    warnings.extend(choice.availability_warning());
    let setup = NpcSetup {
        persona,
        tools: tool_set.tools,
        world: world.as_ref().map(|world| world.world.clone()),
        memory,
        options,
        history: history.transcript,
    };
    let npc = Npc::new(choice.model, setup).map_err(|error| unusable(&error, &options_path))?;
    let tools: Vec<String> = npc.tools().iter().map(|tool| tool.name().to_string()).collect();
    warnings.extend(coding::tool_count_warning(tools.len()));
    let world = world.as_ref().map(GameWorld::settle);
    let npc = ClientNpc::new(id.clone(), npc, world, choice.kind, definitions);
    set.npcs.insert(npc, bridge.config().max_npcs)?;
    Reply::now(&Created { npc: &id, tools, warnings })
}

impl From<NpcError> for BridgeError {
    fn from(error: NpcError) -> Self {
        unusable(&error, "options")
    }
}

/// Why an NPC cannot be like this. `options` is where its options are.
fn unusable(error: &NpcError, options: &str) -> BridgeError {
    BridgeError::invalid_params(match error {
        NpcError::UnknownTool { option, .. } => format!("'{options}.{option}': {error}"),
        NpcError::Tools(_) => error.to_string(),
    })
}

fn talk(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Talked<'a> {
        npc: &'a NpcId,
        #[serde(flatten)]
        turn: DialogueTurn,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    }
    let npc = set.npcs.named(&request.params)?;
    let Request { bridge, id, params } = request;
    let player = PlayerLine {
        line: params.string("line")?.to_owned(),
        context: params.get("context").cloned(),
        stream: params.optional_bool("stream")?.unwrap_or(false),
        tool_choice: coding::tool_choice(&params, "toolChoice")?,
    };
    let warnings = params.unknown_members(TALK_MEMBERS);
    Reply::queued(&Arc::clone(&npc.queue), move |operation| async move {
        let members = Members::new().with("npc", &npc.id).with("requestId", &id);
        let context = Arc::new(EventContext::new(EVENTS, members));
        let turn = ClientTurn { bridge: &bridge, context, operation: Some(operation) };
        let turn = turn.talk(&npc.npc, &player).await?;
        Ok(Payload::of(&Talked { npc: &npc.id, turn, warnings }))
    })
}

fn bark(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Barked<'a> {
        npc: &'a NpcId,
        line: String,
    }
    let npc = set.npcs.named(&request.params)?;
    let situation = request.params.get("situation").cloned();
    Reply::later(async move {
        let line = npc.npc.bark(situation.as_ref()).await?;
        Ok(Payload::of(&Barked { npc: &npc.id, line }))
    })
}

fn state(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    let npc = set.npcs.named(&request.params)?;
    if request.params.optional_bool("settle")?.unwrap_or(true) {
        Reply::queued(&Arc::clone(&npc.queue), move |_| async move {
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
    #[serde(flatten)]
    character: NpcState,
    npc: &'a NpcId,
    options: NpcOptions,
    tools: ToolDefinitions,
    world: Option<&'a WorldId>,
}

impl<'a> Saved<'a> {
    fn of(npc: &'a ClientNpc) -> Self {
        Self {
            npc: &npc.id,
            state: SavedState {
                character: npc.npc.save(),
                npc: &npc.id,
                options: npc.npc.options(),
                tools: npc.tool_definitions(),
                world: npc.world_id(),
            },
        }
    }
}

/// The members of `npc/update`, already known to be of the right types.
struct Patches {
    persona: Option<Value>,
    memory: Option<Value>,
    options: Option<Value>,
    /// The definitions that replace the client tools.
    tools: Option<ToolDefinitions>,
}

fn update(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Updated<'a> {
        npc: &'a NpcId,
        warnings: Vec<String>,
    }
    let npc = set.npcs.named(&request.params)?;
    let Request { bridge, params, .. } = request;
    let mut warnings = params.unknown_members(UPDATE_MEMBERS);
    for patch in ["persona", "memory", "options"] {
        params.optional_object(patch)?;
    }
    params.optional_array("tools")?;
    let tools = params.optional_array("tools")?.map(Arc::from);
    let patches = Patches {
        persona: params.get("persona").cloned(),
        memory: params.get("memory").cloned(),
        options: params.get("options").cloned(),
        tools: if params.has("tools") { Some(tools.unwrap_or_default()) } else { None },
    };
    Reply::queued(&Arc::clone(&npc.queue), move |operation| async move {
        let definitions = patches.tools.clone().unwrap_or_else(|| npc.tool_definitions());
        let default_timeout = bridge.config().tool_timeout;
        npc.npc.revise(|draft| {
            if let Some(patch) = &patches.persona {
                let merged = merged("persona", &draft.persona, patch)?;
                draft.persona = coding::persona(&merged, "persona", &mut warnings)?;
            }
            if let Some(patch) = &patches.memory {
                let merged = merged("memory", &draft.memory, patch)?;
                draft.memory = coding::memory(&merged, "memory", &mut warnings)?;
            }
            let timeout_before = draft.options.tool_timeout;
            if let Some(patch) = &patches.options {
                let merged = merged("options", &draft.options, patch)?;
                draft.options = coding::npc_options(&merged, "options", default_timeout, &mut warnings)?;
            }
            if patches.tools.is_some() || draft.options.tool_timeout != timeout_before {
                let set = read_tools(&definitions, draft.options.tool_timeout)?;
                warnings.extend(set.warnings);
                draft.tools = set.tools;
            }
            operation.commit()
        })?;
        npc.set_tool_definitions(definitions);
        warnings.extend(coding::tool_count_warning(npc.npc.tools().len()));
        Ok(Payload::of(&Updated { npc: &npc.id, warnings }))
    })
}

/// `current` with a merge patch applied, as the member `name` of parameters.
fn merged(name: &str, current: &impl Serialize, patch: &Value) -> Result<Params<'static>, BridgeError> {
    let current = serde_json::to_value(current)
        .map_err(|error| BridgeError::internal_error(format!("'{name}' cannot be written: {error}")))?;
    let merged = merge_patch(current, patch.clone())
        .map_err(|error| BridgeError::invalid_params(format!("'{name}' cannot be applied: {error}")))?;
    Params::new(Some(json!({name: merged})))
}

fn read_tools(definitions: &[Value], timeout: Option<Duration>) -> Result<ToolSet, BridgeError> {
    let params = Params::new(Some(json!({"tools": definitions})))?;
    coding::optional_tools(&params, "tools", timeout)
}

fn reset(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    let npc = set.npcs.named(&request.params)?;
    let clear_memory = request.params.optional_bool("clearMemory")?.unwrap_or(false);
    Reply::queued(&Arc::clone(&npc.queue), move |operation| async move {
        npc.npc.settle().await;
        operation.commit()?;
        npc.npc.reset(clear_memory).await;
        Ok(Payload::of(&Done { npc: &npc.id }))
    })
}

fn cancel(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Cancelled<'a> {
        npc: &'a NpcId,
        cancelled: usize,
    }
    let npc = set.npcs.named(&request.params)?;
    Reply::now(&Cancelled { npc: &npc.id, cancelled: npc.queue.cancel_all() })
}

fn delete(set: &NpcMethods, request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Deleted<'a> {
        npc: &'a NpcId,
        deleted: bool,
    }
    let npc = set.npcs.remove(request.params.string("npc")?)?;
    npc.stop();
    Reply::now(&Deleted { npc: &npc.id, deleted: true })
}

fn list(set: &NpcMethods, _: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Listed<'a> {
        npcs: Vec<ListedNpc<'a>>,
    }
    let npcs = set.npcs.all();
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
        let draft = npc.npc.draft();
        let tool_name = |tool: &Tool| tool.name().to_string();
        Self {
            npc: &npc.id,
            name: draft.persona.name,
            role: draft.persona.role,
            world: npc.world_id(),
            model: &npc.model,
            tools: draft.tools.iter().map(tool_name).collect(),
            turn_count: npc.npc.turn_count(),
            relationship: draft.memory.relationship.get(),
            busy: pending_operations > 0,
            pending_operations,
            created_at: timestamp::iso8601(npc.created_at),
        }
    }
}
