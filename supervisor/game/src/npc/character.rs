//! What a character is at a moment, and what follows from it: instructions, memory note, tools.

use std::sync::Arc;

use oam_agent::{RESPOND_DIRECTLY, Tool, ToolChoice};

use super::{NpcDraft, SharedCharacter, memory_tools, options::NpcOptions};
use crate::{
    instructions::{Secrets, instructions, memory_note},
    memory::{Memory, MemoryChanges},
    persona::Persona,
    wording,
    world::{World, WorldPath},
};

/// Why an NPC cannot be like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpcError {
    /// Two tools share a name, or one has a reserved name.
    #[error("{0}")]
    Tools(String),
    /// An option names a tool that the NPC does not have.
    #[error("'options.{option}' names tool '{tool}', which {name} does not have. {available}")]
    UnknownTool {
        /// The option.
        option: &'static str,
        /// The name in it.
        tool: String,
        /// The NPC's name.
        name: String,
        /// What it has, in a sentence.
        available: String,
    },
}

/// What an agent has to know to play a character.
pub(super) struct Briefing {
    pub(super) instructions: Arc<str>,
    pub(super) memory_note: Option<Arc<str>>,
    pub(super) tools: Vec<Tool>,
}

#[derive(Debug, Clone)]
pub(super) struct Character {
    pub(super) persona: Persona,
    pub(super) memory: Memory,
    pub(super) options: NpcOptions,
    /// The tools that the game gives it.
    game_tools: Vec<Tool>,
    /// What the turn in progress is about to change in the memory.
    pub(super) staged: MemoryChanges,
    /// How many fallback lines were used.
    fallbacks: usize,
}

impl Character {
    pub(super) fn new(persona: Persona, memory: Memory, options: NpcOptions, game_tools: Vec<Tool>) -> Self {
        Self { persona, memory, options, game_tools, staged: MemoryChanges::default(), fallbacks: 0 }
    }

    pub(super) fn draft(&self) -> NpcDraft {
        NpcDraft {
            persona: self.persona.clone(),
            memory: self.memory.clone(),
            options: self.options.clone(),
            tools: self.game_tools.clone(),
        }
    }

    /// The same character, revised.
    pub(super) fn revised(&self, draft: NpcDraft) -> Self {
        let NpcDraft { persona, memory, options, tools } = draft;
        Self {
            persona,
            memory,
            options,
            game_tools: tools,
            staged: self.staged.clone(),
            fallbacks: self.fallbacks,
        }
    }

    /// The game's tools, then the world's, then the memory's. `shared` is where this character lies.
    pub(super) fn all_tools(&self, world: Option<&World>, shared: &SharedCharacter) -> Vec<Tool> {
        let mut tools = self.game_tools.clone();
        if let Some(world) = world {
            let Self { options, .. } = self;
            tools.extend(world.tools(&paths(&options.world_readable), &paths(&options.world_writable)));
        }
        tools.extend(memory_tools::tools(&self.options, shared));
        tools
    }

    /// Fails when `tools`, all of the character's, share names, or lack one that the options name.
    pub(super) fn check(&self, tools: &[Tool]) -> Result<(), NpcError> {
        let is_reserved = |tool: &Tool| tool.name().as_str() == RESPOND_DIRECTLY;
        let (reserved, others): (Vec<Tool>, Vec<Tool>) = tools.iter().cloned().partition(is_reserved);
        let tools_error = |error: oam_agent::AgentError| NpcError::Tools(error.to_string());
        oam_agent::check_tool_names(&others).map_err(tools_error)?;
        let named = [
            ("groundingTool", self.options.grounding_tool.as_deref()),
            (
                "toolChoice",
                match &self.options.tool_choice {
                    ToolChoice::Tool(tool) => Some(tool.as_str()),
                    _ => None,
                },
            ),
        ];
        for (option, tool) in named {
            if let Some(tool) = tool.filter(|tool| !tools.iter().any(|known| *known.name() == **tool)) {
                let (tool, name) = (tool.to_owned(), self.persona.name.clone());
                return Err(NpcError::UnknownTool { option, tool, name, available: available(tools) });
            }
        }
        oam_agent::check_tool_names(&reserved).map_err(tools_error)
    }

    /// What the agent has to know of the character. `tools` are all of the character's.
    pub(super) fn briefing(&self, tools: Vec<Tool>) -> Briefing {
        let has_fact_tools = tools.iter().any(|tool| !memory_tools::is_memory_tool(tool));
        let secrets = Secrets::of(&self.options, self.memory.relationship);
        let offers_relationship = self.options.memory_tools.change_relationship;
        let instructions = instructions(&self.persona, &self.options, secrets, has_fact_tools);
        Briefing {
            instructions: instructions.into(),
            memory_note: memory_note(&self.memory, offers_relationship).map(Into::into),
            tools,
        }
    }

    /// The world's state that every prompt tells of.
    pub(super) fn game_state(&self, world: Option<&World>) -> String {
        world.map(|world| world.summary(&paths(&self.options.world_context_paths))).unwrap_or_default()
    }

    /// The next of the fallback lines, in rotation.
    pub(super) fn next_fallback_line(&mut self) -> String {
        let own: Vec<_> = self
            .options
            .fallback_lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect();
        let lines = if own.is_empty() { &wording::FALLBACK_LINES[..] } else { &own };
        let line = lines[self.fallbacks % lines.len()].to_owned();
        self.fallbacks = self.fallbacks.wrapping_add(1);
        line
    }
}

/// The paths that are paths.
fn paths(texts: &[String]) -> Vec<WorldPath> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

fn available(tools: &[Tool]) -> String {
    if tools.is_empty() {
        return "It has no tools.".to_owned();
    }
    let names: Vec<_> = tools.iter().map(|tool| tool.name().as_str()).collect();
    format!("Its tools are: {}.", names.join(", "))
}
