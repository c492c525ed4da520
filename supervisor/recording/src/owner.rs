//! Whose questions a model answers.

use std::fmt;

/// Whose questions a model answers. Ordered as in a file: sessions, NPCs, requests, each by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The session with this id, or several one after another.
    Session(String),
    /// The NPC with this id, or several one after another: conversations and barks.
    Npc(String),
    /// Requests of this method that ask something outside of any conversation.
    Request(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session '{id}'"),
            Self::Npc(id) => write!(f, "NPC '{id}'"),
            Self::Request(method) => write!(f, "request {method}"),
        }
    }
}
