//! What is recorded of an NPC: how it began, what was said, remembered and revised since.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use oam_agent::{
    ScriptedModel,
    transcript::{EntryId, Transcript, json::SavedTranscript},
};
use oam_game::{Memory, Npc, NpcChange, NpcKeeper, NpcSetup, NpcState, world::World};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Keeper,
    record::{self, UnreadableRecord},
    said::{RecordedSetup, Said},
    script_position::ScriptPosition,
};
use crate::{
    coding,
    config::{BridgeConfig, ModelUse},
    message::BridgeError,
    npc::{ClientNpc, NpcId, ToolDefinitions},
    params::Params,
    timestamp,
    worlds::WorldId,
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum NpcRecord<'a> {
    Whole(Whole<'a>),
    Turn {
        /// How many entries there were before it.
        start: usize,
        said: Said,
        /// Everything it remembers, if that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<usize>,
    },
    #[serde(rename_all = "camelCase")]
    Compacted {
        first_kept: Option<Cow<'a, str>>,
        setup: Said,
        summary: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<usize>,
    },
    Revised {
        persona: Value,
        memory: Value,
        options: Value,
        /// The definitions of its client tools, if they changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<ToolDefinitions>,
    },
    #[serde(rename_all = "camelCase")]
    Reset {
        setup: Said,
        clear_memory: bool,
    },
    /// How far its scripted model has come.
    Script(usize),
}

/// An NPC as it was created, or as a snapshot found it. Persona, memory, options and tools are as in `npc/state`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(with = "timestamp::iso8601_form")]
    created_at: SystemTime,
    /// As it was sent.
    model: Option<Cow<'a, Value>>,
    world: Option<Cow<'a, str>>,
    persona: Value,
    memory: Value,
    options: Value,
    tools: ToolDefinitions,
    said: Said,
    script: usize,
}

/// Records what becomes of an NPC.
#[derive(Debug)]
pub(crate) struct NpcRecorder {
    keeper: Arc<Keeper>,
    created_at: SystemTime,
    model: Option<Value>,
    world: Option<WorldId>,
    /// Locked with the character locked, as far as that is.
    state: Mutex<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    setup: RecordedSetup,
    script: ScriptPosition,
    /// The definitions that the revision in progress brings.
    revised_tools: Option<ToolDefinitions>,
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("every key of a character is a string")
}

impl NpcRecorder {
    pub(crate) fn new(
        keeper: Arc<Keeper>,
        created_at: SystemTime,
        model: Option<Value>,
        world: Option<WorldId>,
        script: Option<Arc<ScriptedModel>>,
    ) -> Arc<Self> {
        let (setup, script) = (RecordedSetup::default(), ScriptPosition::new(script, 0));
        let state = Mutex::new(Recorded { setup, script, revised_tools: None });
        Arc::new(Self { keeper, created_at, model, world, state })
    }

    pub(crate) fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the NPC as it is.
    pub(crate) fn record_whole(&self, npc: &Npc, tools: &ToolDefinitions) {
        npc.save_with(|state| self.keeper.record(&self.whole(state, tools)));
    }

    fn whole(&self, state: NpcState, tools: &ToolDefinitions) -> NpcRecord<'_> {
        let Recorded { setup, script, .. } = &mut *self.lock();
        NpcRecord::Whole(Whole {
            created_at: self.created_at,
            model: self.model.as_ref().map(Cow::Borrowed),
            world: self.world.as_ref().map(|world| Cow::Borrowed(world.as_str())),
            persona: value(&state.persona),
            memory: value(&state.memory),
            options: value(&state.options),
            tools: Arc::clone(tools),
            said: setup.whole(state.transcript),
            script: script.whole(),
        })
    }

    /// The next revision brings these definitions of client tools, if it succeeds.
    pub(crate) fn expect_tools(&self, tools: Option<ToolDefinitions>) {
        self.lock().revised_tools = tools;
    }

    /// Some work ended, whichever way: records how far it brought the script.
    pub(crate) fn work_ended(&self) {
        if let Some(position) = self.lock().script.news() {
            self.keeper.record(&NpcRecord::Script(position));
        }
    }

    /// Makes a snapshot if it is time.
    pub(crate) fn rewrite_when_long(&self, npc: &Npc, tools: &ToolDefinitions) {
        if self.keeper.is_long() {
            npc.save_with(|state| self.keeper.rewrite(&self.whole(state, tools)));
        }
    }
}

impl NpcKeeper for NpcRecorder {
    fn changed(&self, change: NpcChange<'_>) {
        let Recorded { setup, script, revised_tools } = &mut *self.lock();
        let record = match change {
            NpcChange::Turn { start, said, memory } => NpcRecord::Turn {
                start,
                said: setup.news(said),
                memory: memory.as_ref().map(value),
                script: script.news(),
            },
            NpcChange::Compacted { first_kept, setup: in_force, summary } => NpcRecord::Compacted {
                first_kept: first_kept.map(|id| Cow::Owned(id.to_string())),
                setup: setup.news_of_setup(in_force),
                summary: Cow::Borrowed(summary),
                script: script.news(),
            },
            NpcChange::Revised(draft) => NpcRecord::Revised {
                persona: value(&draft.persona),
                memory: value(&draft.memory),
                options: value(&draft.options),
                tools: revised_tools.take(),
            },
            NpcChange::Reset { setup: in_force, clear_memory } => {
                NpcRecord::Reset { setup: setup.news_of_setup(in_force), clear_memory }
            }
        };
        self.keeper.record(&record);
    }
}

/// An NPC as its records tell of it.
#[derive(Debug)]
pub(super) struct RecordedNpc {
    created_at: SystemTime,
    model: Option<Value>,
    pub(super) world: Option<WorldId>,
    persona: Value,
    memory: Value,
    options: Value,
    tools: ToolDefinitions,
    said: SavedTranscript,
    script: usize,
}

/// Does to an NPC what a record says.
pub(super) fn replay(npc: &mut Option<RecordedNpc>, record: &[u8]) -> Result<(), UnreadableRecord> {
    let record = match record::read(record)? {
        NpcRecord::Whole(whole) => {
            *npc = Some(RecordedNpc {
                created_at: whole.created_at,
                model: whole.model.map(Cow::into_owned),
                world: whole.world.map(|id| WorldId::new(&id)),
                persona: whole.persona,
                memory: whole.memory,
                options: whole.options,
                tools: whole.tools,
                said: whole.said.alone(),
                script: whole.script,
            });
            return Ok(());
        }
        change => change,
    };
    let npc = npc.as_mut().ok_or_else(UnreadableRecord::without_beginning)?;
    match record {
        NpcRecord::Whole(_) => {}
        NpcRecord::Turn { start, said, memory, script } => {
            let said = said.after(&npc.said);
            npc.said.follow(start, said).map_err(|error| UnreadableRecord::Malformed(error.to_string()))?;
            npc.memory = memory.unwrap_or_else(|| npc.memory.take());
            npc.script = script.unwrap_or(npc.script);
        }
        NpcRecord::Compacted { first_kept, setup, summary, script } => {
            let setup = setup.after(&npc.said).setup;
            npc.said.compact(first_kept.as_deref().map(EntryId::from_text).as_ref(), setup);
            if let Some(memory) = npc.memory.as_object_mut() {
                memory.insert("summary".to_owned(), summary.into());
            }
            npc.script = script.unwrap_or(npc.script);
        }
        NpcRecord::Revised { persona, memory, options, tools } => {
            (npc.persona, npc.memory, npc.options) = (persona, memory, options);
            npc.tools = tools.unwrap_or_else(|| Arc::clone(&npc.tools));
        }
        NpcRecord::Reset { setup, clear_memory } => {
            npc.said = SavedTranscript { transcript: Transcript::default(), ..setup.after(&npc.said) };
            if clear_memory {
                npc.memory = value(&Memory::default());
            }
        }
        NpcRecord::Script(position) => npc.script = position,
    }
    Ok(())
}

impl RecordedNpc {
    /// The NPC that was recorded, which lives in `world`.
    pub(super) fn restored(
        self,
        id: NpcId,
        world: Option<World>,
        config: &BridgeConfig,
        keeper: Arc<Keeper>,
    ) -> Result<ClientNpc, BridgeError> {
        let Self { created_at, model, persona, memory, options, tools, said, script, world: world_id } = self;
        let mut members = Map::new();
        members.insert("model".to_owned(), model.clone().unwrap_or_default());
        let params = Params::new(Some(json!({"persona": persona, "memory": memory, "options": options})))?;
        let ignored = &mut Vec::new();
        let options = coding::npc_options(&params, "options", config.tool_timeout, ignored)?;
        let choice = coding::restored_model(
            config,
            &Params::new(Some(Value::Object(members)))?,
            ModelUse::Npc(id.as_str()),
            script,
        );
        let recorder = NpcRecorder::new(keeper, created_at, model, world_id.clone(), None);
        {
            let mut state = recorder.lock();
            state.setup = RecordedSetup::before(&said);
            state.script = ScriptPosition::new(choice.script, script);
        }
        let setup = NpcSetup {
            persona: coding::persona(&params, "persona", ignored)?,
            tools: coding::tools("tools", &tools, options.tool_timeout)?.tools,
            world,
            memory: coding::memory(&params, "memory", ignored)?,
            options,
            history: said.transcript,
            keeper: Some(Arc::clone(&recorder) as _),
        };
        let npc = Npc::restored(choice.model, setup, said.setup)?;
        Ok(ClientNpc::new(id, npc, world_id, choice.kind, tools, created_at, Some(recorder)))
    }
}
