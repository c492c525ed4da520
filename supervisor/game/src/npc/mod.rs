//! Characters that converse.
//!
//! An [`Npc`] is a character sheet, a memory and a conversation. [`talk`] runs a turn of dialogue, [`bark`] has the
//! character say something by the way, [`compaction`] keeps long conversations short, a [`keeper`] writes down what
//! becomes of it. What a character is lies in
//! [`character`]; the conversation lies in an [`Agent`], which is told before each turn what the character has become.

mod bark;
mod character;
mod compaction;
mod host;
mod keeper;
mod memory_tools;
mod mind;
mod options;
mod talk;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, IdleConversation, Model, Tool, ToolName,
    transcript::{
        Transcript,
        json::{SavedSetup, SavedTranscript},
    },
};
use serde::Serialize;

pub use character::NpcError;
pub use host::DialogueHost;
pub use keeper::{NpcChange, NpcKeeper};
pub use options::{MemoryTools, NpcOptions, ReplyFormat};
pub use talk::{DialogueTurn, PlayerLine};

use crate::{
    memory::{Memory, Relationship},
    persona::Persona,
    world::World,
};
use character::{Briefing, Character};
use compaction::Background;

/// How an NPC starts.
#[derive(Debug, Clone)]
pub struct NpcSetup {
    /// Who it is.
    pub persona: Persona,
    /// The tools that the game gives it. World and memory tools come on top.
    pub tools: Vec<Tool>,
    /// The world it lives in.
    pub world: Option<World>,
    /// What it remembers.
    pub memory: Memory,
    /// How it behaves.
    pub options: NpcOptions,
    /// A conversation to go on with.
    pub history: Transcript,
    /// Hears what becomes of it.
    pub keeper: Option<Arc<dyn NpcKeeper>>,
}

impl NpcSetup {
    /// A character without tools, world, memory and history.
    pub fn new(persona: Persona) -> Self {
        Self {
            persona,
            tools: Vec::new(),
            world: None,
            memory: Memory::default(),
            options: NpcOptions::default(),
            history: Transcript::default(),
            keeper: None,
        }
    }
}

/// A character that converses. Cloning refers to the same character.
///
/// Turns and resets run one after another, in the order they were first polled; everything else may happen beside
/// them. A turn that fails or is dropped leaves conversation and memory as they were.
///
/// ```
/// use std::sync::Arc;
/// use oam_agent::{NoHost, Script, ScriptedModel};
/// use oam_game::{Npc, NpcSetup, Persona, PlayerLine};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let script = Script::from_steps_or_object(&json!([
///     {"json": {"emotion": "proud", "line": "Finest blades in the valley.",
///               "player_options": ["Show me one."], "ends_conversation": false}},
/// ]), "script")?;
/// let persona = Persona { role: "the village blacksmith".into(), ..Persona::new("Gorm") };
/// let gorm = Npc::new(Arc::new(ScriptedModel::new(script)), NpcSetup::new(persona))?;
///
/// let turn = gorm.talk(&PlayerLine::new("Did you make these?"), &mut NoHost).await?;
/// assert_eq!((turn.emotion.as_str(), &*turn.line), ("proud", "Finest blades in the valley."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Npc {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    world: Option<World>,
    /// Locked for moments only, never across a wait. Its memory, the agent's settings and the world may be locked with
    /// the character locked, never the other way round.
    character: Mutex<Character>,
    /// Held by whatever is changing the conversation: a turn, a reset, the compaction after a turn.
    conversation: Arc<tokio::sync::Mutex<()>>,
    background: Mutex<Background>,
    keeper: Option<Arc<dyn NpcKeeper>>,
}

/// A character as it is saved (docs/PROTOCOL.md, `npc/state`).
#[derive(Debug, Clone, Serialize)]
pub struct NpcState {
    /// The version of this form.
    pub version: u32,
    /// Who it is.
    pub persona: Persona,
    /// What it remembers.
    pub memory: Memory,
    /// Its completed turns.
    pub transcript: SavedTranscript,
    /// How it behaves.
    pub options: NpcOptions,
}

/// What a game shows of a character in a list.
#[derive(Debug, Clone)]
pub struct NpcOverview {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The tools that the game gives it.
    pub tools: Vec<ToolName>,
    /// How it feels about the player.
    pub relationship: Relationship,
    /// How many turns its conversation holds, the one in progress included.
    pub turn_count: usize,
}

/// What a game can revise of a character, in one go.
#[derive(Debug, Clone)]
pub struct NpcDraft {
    /// Who it is.
    pub persona: Persona,
    /// What it remembers.
    pub memory: Memory,
    /// How it behaves.
    pub options: NpcOptions,
    /// The tools that the game gives it.
    pub tools: Vec<Tool>,
}

impl std::fmt::Debug for Npc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Npc").field("name", &self.character().persona.name).finish_non_exhaustive()
    }
}

impl Npc {
    /// The version of the form in which NPCs are saved.
    pub const STATE_VERSION: u32 = 1;

    /// An NPC on `model`. Fails when tools share a name, or when a tool that the options name is missing.
    pub fn new(model: Arc<dyn Model>, setup: NpcSetup) -> Result<Self, NpcError> {
        Self::with_agent(setup, |setup| Agent::new(model, setup))
    }

    /// An NPC that goes on where another one ended, of which instructions and tools in force were `in_force`: both have the
    /// same [saved](Self::save) transcript. Fails like [`new`](Self::new).
    pub fn restored(
        model: Arc<dyn Model>,
        setup: NpcSetup,
        in_force: Option<SavedSetup>,
    ) -> Result<Self, NpcError> {
        Self::with_agent(setup, |setup| Agent::restored(model, setup, in_force))
    }

    fn with_agent(
        setup: NpcSetup,
        agent: impl FnOnce(AgentSetup) -> Result<Agent, AgentError>,
    ) -> Result<Self, NpcError> {
        let NpcSetup { persona, tools, world, memory, options, history, keeper } = setup;
        let character = Character::new(NpcDraft { persona, memory, options, tools }, world.as_ref())?;
        let Briefing { instructions, memory_note, tools } = character.briefing();
        let setup = AgentSetup {
            instructions: Some(instructions),
            context_note: memory_note,
            tools,
            history,
            options: AgentOptions::default(),
        };
        let agent = agent(setup).map_err(|error| NpcError::Tools(error.to_string()))?;
        let (conversation, background) = (Arc::default(), Mutex::default());
        let character = Mutex::new(character);
        Ok(Self { inner: Arc::new(Inner { agent, world, character, conversation, background, keeper }) })
    }

    fn character(&self) -> MutexGuard<'_, Character> {
        // Every change under the lock is complete in itself, so a panic elsewhere leaves nothing half done.
        self.inner.character.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tools the model sees: the game's, the world's, the memory's.
    pub fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.character().tools)
    }

    /// Who the character is now.
    pub fn persona(&self) -> Persona {
        self.character().persona.clone()
    }

    /// What it remembers now.
    pub fn memory(&self) -> Memory {
        self.character().mind.memory()
    }

    /// How it behaves now.
    pub fn options(&self) -> NpcOptions {
        NpcOptions::clone(&self.character().options)
    }

    /// What a list shows of it now.
    pub fn overview(&self) -> NpcOverview {
        let character = self.character();
        NpcOverview {
            name: character.persona.name.clone(),
            role: character.persona.role.clone(),
            tools: character.game_tool_names(),
            relationship: character.mind.relationship(),
            turn_count: self.inner.agent.turn_count(),
        }
    }

    /// Revises the character from the next turn on, all or nothing: `revise` changes a draft, then tools and options
    /// are checked against each other.
    ///
    /// The character is locked meanwhile, and then its world is read. So `revise` must not touch this NPC, nor wait for
    /// anything. A compaction that is under way may still replace the summary; [settle](Self::settle) first where the
    /// draft's is to stay.
    pub fn revise<E: From<NpcError>>(
        &self,
        revise: impl FnOnce(&mut NpcDraft) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut character = self.character();
        let mut draft = character.draft();
        revise(&mut draft)?;
        character.revise(draft, self.inner.world.as_ref())?;
        let revised = self.inner.keeper.is_some().then(|| character.draft());
        if let Some(draft) = &revised {
            self.tell(|| NpcChange::Revised(draft));
        }
        Ok(())
    }

    /// Clears the conversation, and the memory if asked.
    pub async fn reset(&self, clear_memory: bool) {
        let _conversation = self.inner.conversation.lock().await;
        let reset = |conversation: IdleConversation<'_>| {
            let character = self.character();
            if clear_memory {
                character.mind.set_memory(Memory::default());
            }
            conversation.clear(character.memory_note());
            self.tell(|| NpcChange::Reset { setup: self.inner.agent.saved_transcript().setup, clear_memory });
        };
        self.inner.agent.reset_with(reset).await;
    }

    /// The character to save, as it is at one moment; a turn in progress is not part of it. [Settle](Self::settle)
    /// first to have what is under way.
    pub fn save(&self) -> NpcState {
        self.state(&self.character())
    }

    fn state(&self, character: &Character) -> NpcState {
        NpcState {
            version: Self::STATE_VERSION,
            persona: character.persona.clone(),
            memory: character.mind.memory(),
            transcript: self.inner.agent.settled_transcript(),
            options: NpcOptions::clone(&character.options),
        }
    }

    /// What every prompt tells of the world. Called with the character unlocked: it may take a while.
    fn game_state(&self, options: &NpcOptions) -> String {
        let world = self.inner.world.as_ref();
        world.map(|world| world.summary(&character::paths(&options.world_context_paths))).unwrap_or_default()
    }

    /// Resolves when the turn and the compaction that are under way now have ended.
    pub async fn settle(&self) {
        drop(self.inner.conversation.lock().await);
    }
}
