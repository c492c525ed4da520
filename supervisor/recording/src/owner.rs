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

impl Owner {
    /// The member that names it in a file, and its name.
    pub(crate) fn kind_and_name(&self) -> (&'static str, &str) {
        match self {
            Self::Session(id) => ("session", id),
            Self::Npc(id) => ("npc", id),
            Self::Request(method) => ("request", method),
        }
    }
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
