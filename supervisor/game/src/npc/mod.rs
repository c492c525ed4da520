//! Characters that converse.

mod options;

pub use options::{MemoryTools, NpcOptions, ReplyFormat};
