//! What a character is at a moment, and what follows from it: instructions, memory note, tools.

use std::{collections::HashSet, sync::Arc};

use oam_agent::{Tool, ToolChoice, ToolName, check_tool_names, schema::GenerationSchema};

use super::{NpcDraft, memory_tools, mind::Mind, options::NpcOptions};
use crate::{
    instructions::{Secrets, instructions, memory_note},
    persona::Persona,
    reply::reply_schema,
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
    #[error("{name} does not have tool '{tool}'. {available}")]
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
    pub(super) tools: Arc<[Tool]>,
}

#[derive(Debug)]
pub(super) struct Character {
    pub(super) persona: Persona,
    pub(super) options: Arc<NpcOptions>,
    pub(super) mind: Mind,
    /// The tools that the game gives it.
    game_tools: Vec<Tool>,
    /// The game's tools, then the world's, then the memory's.
    pub(super) tools: Arc<[Tool]>,
    /// Some tool tells facts: any but the memory tools.
    has_fact_tools: bool,
    pub(super) reply_schema: Arc<GenerationSchema>,
    /// How many fallback lines were used.
    fallbacks: usize,
}

impl Character {
    /// Fails when tools share a name, or one that the options name is missing.
    pub(super) fn new(draft: NpcDraft, world: Option<&World>) -> Result<Self, NpcError> {
        let NpcDraft { persona, memory, options, tools: game_tools } = draft;
        let mind = Mind::new(memory);
        Self::with_mind(persona, options, mind, game_tools, world)
    }

    fn with_mind(
        persona: Persona,
        options: NpcOptions,
        mind: Mind,
        game_tools: Vec<Tool>,
        world: Option<&World>,
    ) -> Result<Self, NpcError> {
        let mut tools = game_tools.clone();
        if let Some(world) = world {
            tools.extend(world.tools(&paths(&options.world_readable), &paths(&options.world_writable)));
        }
        tools.extend(memory_tools::tools(&options, &mind));
        check(&tools, &persona.name, &options)?;
        let has_fact_tools = tools.iter().any(|tool| !memory_tools::is_memory_tool(tool));
        let reply_schema = Arc::new(reply_schema(&persona, &options, has_fact_tools));
        let tools = tools.into();
        let options = Arc::new(options);
        Ok(Self { persona, options, mind, game_tools, tools, has_fact_tools, reply_schema, fallbacks: 0 })
    }

    pub(super) fn draft(&self) -> NpcDraft {
        NpcDraft {
            persona: self.persona.clone(),
            memory: self.mind.memory(),
            options: NpcOptions::clone(&self.options),
            tools: self.game_tools.clone(),
        }
    }

    /// Makes the character what the draft says. Fails like [`new`](Self::new), and then changes nothing.
    pub(super) fn revise(&mut self, draft: NpcDraft, world: Option<&World>) -> Result<(), NpcError> {
        let NpcDraft { persona, memory, options, tools } = draft;
        let revised = Self::with_mind(persona, options, self.mind.clone(), tools, world)?;
        *self = Self { fallbacks: self.fallbacks, ..revised };
        self.mind.set_memory(memory);
        Ok(())
    }

    pub(super) fn briefing(&self) -> Briefing {
        let secrets = Secrets::of(&self.options, self.mind.relationship());
        let instructions = instructions(&self.persona, &self.options, secrets, self.has_fact_tools);
        Briefing {
            instructions: instructions.into(),
            memory_note: self.memory_note(),
            tools: Arc::clone(&self.tools),
        }
    }

    /// What the memory adds to the instructions.
    pub(super) fn memory_note(&self) -> Option<Arc<str>> {
        let offers_relationship = self.options.memory_tools.change_relationship;
        memory_note(&self.mind.memory(), offers_relationship).map(Into::into)
    }

    /// The names of the tools that the game gives it.
    pub(super) fn game_tool_names(&self) -> Vec<ToolName> {
        self.game_tools.iter().map(|tool| tool.name().clone()).collect()
    }

    /// The next of these fallback lines, in rotation.
    pub(super) fn next_fallback_line(&mut self, own: &[String]) -> String {
        let own: Vec<_> = own.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let lines = if own.is_empty() { &wording::FALLBACK_LINES[..] } else { &own };
        let line = lines[self.fallbacks % lines.len()].to_owned();
        self.fallbacks = self.fallbacks.wrapping_add(1);
        line
    }
}

fn check(tools: &[Tool], name: &str, options: &NpcOptions) -> Result<(), NpcError> {
    check_tool_names(tools).map_err(|error| NpcError::Tools(error.to_string()))?;
    let chosen = match &options.tool_choice {
        ToolChoice::Tool(tool) => Some(tool),
        _ => None,
    };
    for (option, tool) in [("groundingTool", options.grounding_tool.as_ref()), ("toolChoice", chosen)] {
        if let Some(tool) = tool.filter(|tool| !tools.iter().any(|known| *known.name() == ***tool)) {
            let (tool, name, available) = (tool.clone(), name.to_owned(), available(tools));
            return Err(NpcError::UnknownTool { option, tool, name, available });
        }
    }
    Ok(())
}

/// The paths that are paths, each once.
pub(super) fn paths(texts: &[String]) -> Vec<WorldPath> {
    let mut seen = HashSet::new();
    let paths = texts.iter().filter_map(|text| text.parse::<WorldPath>().ok());
    paths.filter(|path| seen.insert(path.to_string())).collect()
}

fn available(tools: &[Tool]) -> String {
    if tools.is_empty() {
        return "It has no tools.".to_owned();
    }
    let names: Vec<_> = tools.iter().map(|tool| tool.name().as_str()).collect();
    format!("Its tools are: {}.", names.join(", "))
}
