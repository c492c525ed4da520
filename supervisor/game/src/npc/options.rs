//! How an NPC behaves: the options of `npc/create` (docs/PROTOCOL.md).

use std::time::Duration;

use oam_agent::{GenerationOptions, Tool, ToolChoice, ToolPolicy};
use serde::{Serialize, Serializer};

use crate::emotion::AllowedEmotions;

/// In which form a character answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyFormat {
    /// Structured; what guardrails block is tried once more as text.
    #[default]
    Automatic,
    /// Structured only.
    Structured,
    /// `[emotion] line`: fastest, blocked least, without suggested replies.
    Text,
}

impl ReplyFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::Structured, Self::Text];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Structured => "structured",
            Self::Text => "text",
        }
    }
}

impl Serialize for ReplyFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Which tools let a character change its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryTools {
    /// `remember_fact`
    pub remember_fact: bool,
    /// `change_relationship`
    pub change_relationship: bool,
}

impl MemoryTools {
    /// No memory tool.
    pub const NONE: Self = Self { remember_fact: false, change_relationship: false };
    /// Every memory tool.
    pub const ALL: Self = Self { remember_fact: true, change_relationship: true };
}

impl Serialize for MemoryTools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = [("rememberFact", self.remember_fact), ("changeRelationship", self.change_relationship)];
        serializer.collect_seq(names.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name))
    }
}

/// How an NPC behaves. Its `Serialize` is the form in save states: every option, unset ones left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NpcOptions {
    /// In which form it answers.
    pub reply_format: ReplyFormat,
    /// A tool it must call first in every turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grounding_tool: Option<String>,
    /// What is asked of the first step when there is no grounding tool.
    pub tool_choice: ToolChoice,
    /// Rounds of tool calls in a turn; what is below 0 counts as 0.
    pub max_tool_rounds: i64,
    /// Tool calls in a turn; what is below 0 counts as 0.
    pub max_tool_calls: i64,
    /// How long the game has to answer a tool call; `None` is no limit, which is saved as 0.
    #[serde(rename = "toolTimeoutSeconds", serialize_with = "seconds")]
    pub tool_timeout: Option<Duration>,
    /// World paths it may read; none means no tool for it.
    pub world_readable: Vec<String>,
    /// World paths it may change; none means no tool for it.
    pub world_writable: Vec<String>,
    /// World paths that every prompt tells of.
    pub world_context_paths: Vec<String>,
    /// Which tools change its memory.
    pub memory_tools: MemoryTools,
    /// How many facts it remembers; what is below 0 counts as 0.
    pub max_facts: i64,
    /// How much one call may change the relationship; what is below 1 counts as 1.
    pub max_relationship_change: i64,
    /// From which relationship on secrets may be told; `None` puts them into the prompt, guarded.
    pub secrets_unlock_at_relationship: Option<i64>,
    /// The emotions it may choose from.
    pub emotions: AllowedEmotions,
    /// How many replies it suggests to the player, 0 to 4.
    pub player_option_count: u8,
    /// Whether it may end the conversation.
    pub can_end_conversation: bool,
    /// Appended to its instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_instructions: Option<String>,
    /// From how many turns on older ones are summarized; 0 or less never.
    pub compact_after_turns: i64,
    /// How many turns a summary leaves as they are; what is below 0 counts as 0.
    pub keep_recent_turns: i64,
    /// Whether a blocked turn gives a fallback line instead of an error.
    pub fallback_on_guardrail: bool,
    /// Used in rotation; blank ones are skipped, none means the built-in ones.
    pub fallback_lines: Vec<String>,
    /// What is below 0 counts as 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The length of a reply, in tokens; what is below 1 counts as 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_response_tokens: Option<i64>,
    /// The length of a bark, in tokens; what is below 1 counts as 1.
    pub bark_maximum_tokens: i64,
}

impl Default for NpcOptions {
    fn default() -> Self {
        Self {
            reply_format: ReplyFormat::Automatic,
            grounding_tool: None,
            tool_choice: ToolChoice::Explicit,
            max_tool_rounds: 2,
            max_tool_calls: 6,
            tool_timeout: Some(Tool::CLIENT_TIMEOUT),
            world_readable: vec![String::new()],
            world_writable: Vec::new(),
            world_context_paths: Vec::new(),
            memory_tools: MemoryTools::NONE,
            max_facts: 12,
            max_relationship_change: 10,
            secrets_unlock_at_relationship: Some(50),
            emotions: AllowedEmotions::default(),
            player_option_count: 3,
            can_end_conversation: true,
            extra_instructions: None,
            compact_after_turns: 8,
            keep_recent_turns: 2,
            fallback_on_guardrail: true,
            fallback_lines: Vec::new(),
            temperature: None,
            maximum_response_tokens: None,
            bark_maximum_tokens: 48,
        }
    }
}

impl NpcOptions {
    /// How turns generate.
    pub(crate) fn generation(&self) -> GenerationOptions {
        GenerationOptions {
            temperature: self.temperature.map(|temperature| temperature.max(0.0)),
            max_response_tokens: self.maximum_response_tokens.map(token_limit),
            sampling: None,
        }
    }

    /// How barks generate.
    pub(crate) fn bark_generation(&self) -> GenerationOptions {
        GenerationOptions {
            max_response_tokens: Some(token_limit(self.bark_maximum_tokens)),
            ..self.generation()
        }
    }

    /// How a turn may use tools that is not told otherwise.
    pub(crate) fn policy(&self) -> ToolPolicy {
        let choice = match &self.grounding_tool {
            Some(tool) => ToolChoice::Tool(tool.clone()),
            None => self.tool_choice.clone(),
        };
        ToolPolicy {
            choice,
            max_tool_rounds: count(self.max_tool_rounds),
            max_tool_calls: count(self.max_tool_calls),
            enabled_tools: None,
        }
    }
}

/// A count in which nothing is less than none, and more than any run reaches is all.
fn count(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

fn token_limit(number: i64) -> u32 {
    count(number).max(1)
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn seconds<S: Serializer>(limit: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(limit.unwrap_or_default().as_secs_f64())
}
