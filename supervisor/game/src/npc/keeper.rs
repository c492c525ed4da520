//! Writing down what becomes of a character, so that it can be had again after the process has ended.
//!
//! A character has at most one keeper. It is told of each change in the moment of the change, with the character locked,
//! so what it writes down has the order of the changes, and [`Npc::save_with`] gives a state that has exactly the changes
//! told of before. What is told is what the character has become, not how: told twice, it is the same.

use oam_agent::transcript::{
    EntryId,
    json::{SavedSetup, SavedTranscript},
};

use super::{Npc, NpcDraft, NpcState};
use crate::memory::Memory;

/// Hears what becomes of a character. Called with the character locked: it must touch neither the NPC nor its world, nor
/// wait for anything.
pub trait NpcKeeper: std::fmt::Debug + Send + Sync {
    /// Something changed.
    fn changed(&self, change: NpcChange<'_>);
}

/// What became of a character.
#[derive(Debug)]
pub enum NpcChange<'a> {
    /// A turn completed.
    Turn {
        /// How many entries the conversation had before the turn.
        start: usize,
        /// The entries of the turn, with instructions and tools in force. It [follows](SavedTranscript::follow) what was
        /// saved before.
        said: SavedTranscript,
        /// What the character remembers now, if that changed.
        memory: Option<Memory>,
    },
    /// Older turns became the summary.
    Compacted {
        /// The first entry that stays, if one does. The saved transcript is [compacted](SavedTranscript::compact) to it.
        first_kept: Option<EntryId>,
        /// The instructions and tools in force.
        setup: Option<SavedSetup>,
        /// The summary in its memory.
        summary: &'a str,
    },
    /// The game revised it.
    Revised(&'a NpcDraft),
    /// The conversation was cleared.
    Reset {
        /// The instructions and tools in force.
        setup: Option<SavedSetup>,
        /// Whether its memory was cleared, too.
        clear_memory: bool,
    },
}

impl Npc {
    /// Reads the character as [`save`](Self::save) does, while nothing becomes of it. `read` must touch neither this NPC
    /// nor its world, nor wait for anything.
    pub fn save_with<T>(&self, read: impl FnOnce(NpcState) -> T) -> T {
        let character = self.character();
        read(self.state(&character))
    }

    /// Tells the keeper, if there is one. Called with the character locked.
    pub(super) fn tell<'a>(&self, change: impl FnOnce() -> NpcChange<'a>) {
        if let Some(keeper) = &self.inner.keeper {
            keeper.changed(change());
        }
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
