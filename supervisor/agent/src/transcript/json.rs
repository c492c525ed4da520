//! The saved form of a transcript (placeholder: being written).

use std::sync::Arc;

use serde_json::Value;

use super::Transcript;
use crate::tool::ToolDefinition;

/// A transcript as it is saved: the conversation with its instructions and tools.
#[derive(Debug, Clone)]
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
    pub id: super::EntryId,
    /// The instructions; `None` when the entry only carries tools.
    pub instructions: Option<Arc<str>>,
    /// The tools, or why one could not be rebuilt.
    pub tools: Vec<Result<Arc<ToolDefinition>, UnreadableTool>>,
}

/// A saved tool that could not be rebuilt.
#[derive(Debug, Clone)]
pub struct UnreadableTool {
    /// Its name, as far as it has one.
    pub name: String,
    /// Why not.
    pub reason: String,
}

impl SavedTranscript {
    /// Reads a saved transcript. Errors say what is wrong and where.
    pub fn from_json(_value: &Value) -> Result<Self, String> {
        unimplemented!()
    }

    /// The saved form.
    pub fn to_json(&self) -> Value {
        unimplemented!()
    }
}
