//! The saved form of a conversation: the `Codable` form of Apple's own transcripts (docs/PROTOCOL.md,
//! `session/transcript`).
//!
//! An envelope with a version holds a flat list of entries. The first one may carry the instructions and the tools;
//! it becomes the [`SavedSetup`], everything else the [`Transcript`]. [`read`] takes what games saved, also from
//! other tools that write the form, and refuses what no model could go on from. [`mod@write`] streams the form, so a
//! long conversation is never built a second time in memory.

mod open;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use serde_json::Value;

pub use open::OpenTranscript;

use super::{EntryId, Transcript};
use crate::tool::ToolDefinition;

/// What the envelope's `type` says.
const ENVELOPE_TYPE: &str = "FoundationModels.Transcript";
/// The version that is written.
const VERSION: &str = "1.1";

/// A transcript as it is saved: the conversation with its instructions and tools. Its `Serialize` is the saved form.
#[derive(Debug, Clone, Default)]
pub struct SavedTranscript {
    /// The instructions entry, if there is one.
    pub setup: Option<SavedSetup>,
    /// All other entries.
    pub transcript: Transcript,
}

/// The instructions entry of a saved transcript.
#[derive(Debug, Clone)]
pub struct SavedSetup {
    /// The entry's id.
    pub id: EntryId,
    /// The instructions; `None` when the entry only carries tools.
    pub instructions: Option<Arc<str>>,
    /// The tools, or why one could not be rebuilt. Those that could not are not saved again.
    pub tools: Vec<Result<Arc<ToolDefinition>, UnreadableTool>>,
}

/// A saved tool that could not be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableTool {
    /// Its name, as far as it has one.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// What was said cannot follow: entries before it are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The transcript has {len} entries, so what begins at entry {start} cannot follow.")]
pub struct MissingEntries {
    /// Where it begins.
    pub start: usize,
    /// How many entries there are.
    pub len: usize,
}

impl SavedTranscript {
    /// Reads a saved transcript: the envelope in version 1 or 1.1, or an object that holds it as `transcript` (a
    /// whole `session/transcript` result, a file of `fm respond --save-transcript`).
    ///
    /// Every call must have its output and every output its call, or no model could go on. Errors say what is wrong
    /// and where, as in `entries[3].contents[0]: unknown segment type "sound"`.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        read::saved_transcript(value).map_err(|problem| problem.to_string())
    }

    /// Says again what an agent [said](crate::Agent::saved_since) from the entry at `start` on. Fails when entries before it
    /// are missing.
    pub fn follow(&mut self, start: usize, said: Self) -> Result<(), MissingEntries> {
        if start > self.transcript.len() {
            return Err(MissingEntries { start, len: self.transcript.len() });
        }
        self.setup = said.setup;
        self.transcript.truncate(start);
        self.transcript.extend(&said.transcript);
        Ok(())
    }

    /// Drops the entries before the first one that a compaction kept, as it did; all of them when it kept none.
    pub fn compact(&mut self, first_kept: Option<&EntryId>, setup: Option<SavedSetup>) {
        self.setup = setup;
        let len = self.transcript.len();
        let cut = match first_kept {
            Some(id) => self.transcript.iter().position(|entry| entry.id == *id).unwrap_or(0),
            None => len,
        };
        self.transcript.drop_front(cut);
    }

    /// The saved form as a value. To write it as text, serialize the transcript itself.
    ///
    /// # Panics
    /// Never: all keys of the form are strings.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every key of the form is a string")
    }
}
