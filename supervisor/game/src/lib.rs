//! Game characters and the world they act in, on top of the agents of [`oam_agent`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod content;
mod decision;
mod emotion;
mod instructions;
mod line;
mod local_tool;
mod memory;
mod npc;
mod one_off;
mod persona;
mod prompt;
mod reply;
mod reply_stream;
mod sentences;
#[cfg(test)]
mod test_model;
mod wording;
pub mod world;

pub use content::{ContentGenerator, ContentRequest};
pub use decision::{
    Decision, DecisionEngine, DecisionOption, DecisionOptions, DecisionRequest, InvalidOptions, OptionId,
};
pub use emotion::{AllowedEmotions, Emotion};
pub use memory::{Memory, Relationship};
pub use npc::{
    DialogueHost, DialogueTurn, MemoryTools, Npc, NpcChange, NpcDraft, NpcError, NpcKeeper, NpcOptions,
    NpcOverview, NpcSetup, NpcState, PlayerLine, ReplyFormat,
};
pub use persona::Persona;
pub use reply_stream::DialogueEvent;
