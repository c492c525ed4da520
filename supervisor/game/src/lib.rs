//! Game characters and the world they act in, on top of the agents of [`oam_agent`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod emotion;
mod instructions;
mod line;
mod memory;
mod npc;
mod persona;
mod prompt;
mod reply;
mod reply_stream;
mod wording;
pub mod world;

pub use emotion::Emotion;
pub use memory::{Memory, MemoryChanges, Relationship, Remembered};
pub use npc::{MemoryTools, NpcOptions, ReplyFormat};
pub use persona::Persona;
pub use reply_stream::DialogueEvent;
