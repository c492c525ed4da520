//! `npc/create` and `npc/restore`: two descriptions of an NPC, which is then made in the same way.

use std::time::SystemTime;

use oam_agent::transcript::json::SavedTranscript;
use oam_game::{Memory, Npc, NpcError, NpcOptions, NpcSetup, Persona};
use serde::Serialize;

use crate::{
    bridge::Bridge,
    coding::{self, ToolAdvice},
    config::ModelUse,
    message::BridgeError,
    npc::{ClientNpc, NpcId, ToolDefinitions},
    params::Params,
    realm::NpcRecorder,
    registry::{Reply, Request},
};

const CREATE_MEMBERS: &[&str] = &["npc", "persona", "tools", "world", "memory", "options", "model"];
const RESTORE_MEMBERS: &[&str] = &["state", "npc", "tools", "options", "world", "model"];
const STATE_MEMBERS: &[&str] =
    &["version", "persona", "memory", "transcript", "npc", "options", "tools", "world"];

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

pub(super) fn create(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let mut warnings = params.unknown_members(CREATE_MEMBERS);
    let id = bridge.realm().npcs.new_id(params.optional_client_id("npc")?)?;
    let persona = coding::persona(params, "persona", &mut warnings)?;
    let memory = coding::memory(params, "memory", &mut warnings)?;
    params.optional_array("tools")?;
    let options = coding::npc_options(params, "options", bridge.config().tool_timeout, &mut warnings)?;
    let world = params.optional_string("world")?;
    let history = SavedTranscript::default();
    add(
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

pub(super) fn restore(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let mut warnings = params.unknown_members(RESTORE_MEMBERS);
    let state = saved_state(params)?;
    warnings.extend(state.unknown_members(STATE_MEMBERS));
    for required in ["version", "persona", "memory", "transcript"] {
        state.value(required)?;
    }
    if state.integer("version", i64::MIN)? > i64::from(Npc::STATE_VERSION) {
        warnings.push(format!(
            "'{}' is newer than this version of oam: what is saved may be understood only in part.",
            state.path("version")
        ));
    }
    let sent_or_saved = |name| if params.has(name) { params } else { &state };
    let id = bridge.realm().npcs.new_id(sent_or_saved("npc").optional_client_id("npc")?)?;
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
        && bridge.realm().worlds.get(saved).is_err()
    {
        warnings.push(format!("The saved world '{saved}' does not exist; the NPC has no world."));
        world = None;
    }
    let history = coding::history(&state, "transcript")?.unwrap_or_default();
    let description = Description { persona, memory, history, options, options_path, tools, world };
    add(bridge, params, id, description, warnings)
}

/// The saved state that a request brings: the state itself, or the whole result of `npc/state`.
fn saved_state<'a>(params: &'a Params<'_>) -> Result<Params<'a>, BridgeError> {
    let value = params.value("state")?;
    let is_whole_result = value.get("persona").is_none();
    let inner = value.get("state").filter(|inner| is_whole_result && inner.is_object());
    Params::at("state", inner.unwrap_or(value))
}

fn add(
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
    let choice = coding::model(bridge.config(), params, ModelUse::Npc(id.as_str()))?;
    let definitions: ToolDefinitions = tools.optional_array("tools")?.unwrap_or_default().into();
    let tool_set = coding::optional_tools(tools, "tools", options.tool_timeout)?;
    let world = world.map(|id| bridge.realm().worlds.get(id)).transpose()?;
    let created_at = SystemTime::now();
    let recorder = bridge.realm().keeper(&id).map(|keeper| {
        let (model, world) = (params.get("model").cloned(), world.as_ref().map(|world| world.id.clone()));
        NpcRecorder::new(keeper, created_at, model, world, choice.script.clone())
    });
    warnings.extend(tool_set.warnings);
    warnings.extend(choice.availability_warning());
    let setup = NpcSetup {
        persona,
        tools: tool_set.tools,
        world: world.as_ref().map(|world| world.world.clone()),
        memory,
        options,
        history: history.transcript,
        keeper: recorder.clone().map(|recorder| recorder as _),
    };
    let npc = Npc::new(choice.model, setup).map_err(|error| unusable(&error, &options_path))?;
    let tools: Vec<String> = npc.tools().iter().map(|tool| tool.name().to_string()).collect();
    warnings.extend(coding::tool_count_warning(tools.len(), ToolAdvice::GiveFewer));
    let world = world.map(|world| world.id.clone());
    let npc = ClientNpc::new(id.clone(), npc, world, choice.kind, definitions, created_at, recorder);
    bridge.realm().npcs.insert(npc, bridge.config().max_npcs)?;
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
