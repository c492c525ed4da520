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

use super::{EntryContent, EntryId, Transcript};
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

impl SavedTranscript {
    /// Reads a saved transcript: the envelope in version 1 or 1.1, or an object that holds it as `transcript` (a
    /// whole `session/transcript` result, a file of `fm respond --save-transcript`).
    ///
    /// Every call must have its output and every output its call, or no model could go on. Errors say what is wrong
    /// and where, as in `entries[3].contents[0]: unknown segment type "sound"`.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        read::saved_transcript(value).map_err(|problem| problem.to_string())
    }

    /// The same without a turn that has no answer yet.
    #[must_use]
    pub fn without_unfinished_turn(mut self) -> Self {
        let transcript = &mut self.transcript;
        let last_prompt = (0..transcript.len()).rev().find(|index| transcript.starts_turn(*index));
        if let Some(prompt) = last_prompt
            && !transcript[prompt..].iter().any(|entry| matches!(entry.content, EntryContent::Response(_)))
        {
            transcript.truncate(prompt);
        }
        self
    }

    /// The saved form as a value. To write it as text, serialize the transcript itself.
    ///
    /// # Panics
    /// Never: all keys of the form are strings.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every key of the form is a string")
    }
}
