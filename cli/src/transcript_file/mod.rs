//! Conversations in files (docs/CLI.md, Conversations).
//!
//! A file is an object whose `transcript` is the conversation in the form that games save too, with what only a command
//! line needs beside it in `oam`: the tools with their commands and, while a turn waits for outputs of external tools, what
//! it takes to go on. [`read`] also takes what other programs save: the same without `oam`, or the conversation alone.

mod read;
#[cfg(test)]
mod tests;
mod waiting;
mod write;

use oam_agent::transcript::json::{SavedSetup, SavedTranscript};
use serde_json::Value;

pub(crate) use waiting::{Progress, WaitingTurn};

use crate::{failure::Failure, tools::ToolSet};

/// What a file holds.
#[derive(Debug, Clone)]
pub(crate) struct TranscriptFile {
    pub(crate) conversation: Conversation,
    /// The tools with their commands, as saved. None in files of other programs, and where there are no tools; then those
    /// of the conversation's setup count.
    pub(crate) tools: Option<Value>,
}

/// A conversation between two invocations.
#[derive(Debug, Clone)]
pub(crate) enum Conversation {
    /// Ready for the next prompt.
    Idle(SavedTranscript),
    /// In the middle of a turn.
    Waiting(Box<WaitingTurn>),
}

impl TranscriptFile {
    /// A conversation with these tools.
    pub(crate) fn new(conversation: Conversation, tools: &ToolSet) -> Self {
        Self { conversation, tools: (!tools.tools().is_empty()).then(|| tools.to_saved()) }
    }

    /// The tools. Failures name `source`, the file. Without commands of their own, those of the conversation are external.
    pub(crate) fn tool_set(&self, source: &str) -> Result<ToolSet, Failure> {
        if let Some(saved) = &self.tools {
            return ToolSet::from_saved(saved, source);
        }
        let definitions = self.setup().into_iter().flat_map(|setup| &setup.tools);
        let definitions = definitions.cloned().collect::<Result<Vec<_>, _>>().map_err(|tool| {
            Failure::invalid_input(format!(
                "{source}: the tool '{}' of the conversation cannot be used: {}. Define the tools with --tools.",
                tool.name, tool.reason
            ))
        })?;
        Ok(ToolSet::external(definitions))
    }

    /// The instructions and the tools' definitions, if the conversation has any.
    pub(crate) fn setup(&self) -> Option<&SavedSetup> {
        match &self.conversation {
            Conversation::Idle(transcript) => transcript.setup.as_ref(),
            Conversation::Waiting(turn) => turn.transcript.setup(),
        }
    }
}
