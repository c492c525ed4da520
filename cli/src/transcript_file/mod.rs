//! Conversations in files (docs/CLI.md, Transcript files).
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
    /// The instructions and the tools' definitions, if the conversation has any.
    pub(crate) fn setup(&self) -> Option<&SavedSetup> {
        match &self.conversation {
            Conversation::Idle(transcript) => transcript.setup.as_ref(),
            Conversation::Waiting(turn) => turn.transcript.setup(),
        }
    }
}
