//! A conversation that stops at tool calls: what is saved of a suspended turn.
//!
//! A model cannot go on from it, so it is a type of its own that becomes a [`SavedTranscript`] by getting its outputs.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{SavedSetup, SavedTranscript, read};
use crate::transcript::{Entry, EntryContent, EntryId, ToolCallEntry};

/// A saved conversation that ends with the tool calls of one step, none of which has its output yet. Its `Serialize` is the
/// saved form.
#[derive(Debug, Clone)]
pub struct OpenTranscript {
    /// Everything before the calls.
    before: SavedTranscript,
    /// The id of the entry of the calls.
    id: EntryId,
    calls: Vec<ToolCallEntry>,
}

impl OpenTranscript {
    pub(crate) fn new(before: SavedTranscript, id: EntryId, calls: Vec<ToolCallEntry>) -> Self {
        Self { before, id, calls }
    }

    /// Reads what [`SavedTranscript::from_json`] refuses: a conversation whose last entry is tool calls without any
    /// output. Everything else must be as it is there.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        read::open_transcript(value).map_err(|problem| problem.to_string())
    }

    /// The instructions entry, if there is one.
    pub fn setup(&self) -> Option<&SavedSetup> {
        self.before.setup.as_ref()
    }

    /// The calls that the conversation ends with.
    pub fn calls(&self) -> &[ToolCallEntry] {
        &self.calls
    }

    /// The conversation with an output behind its calls for each of them, in their order: `output` gives the text that the
    /// model sees.
    pub fn answered(self, mut output: impl FnMut(&ToolCallEntry) -> String) -> SavedTranscript {
        let outputs: Vec<_> = self
            .calls
            .iter()
            .map(|call| Entry::tool_output(&call.id, call.name.clone(), output(call)))
            .collect();
        let mut whole = self.unanswered();
        for output in outputs {
            whole.transcript.push(output);
        }
        whole
    }

    fn unanswered(self) -> SavedTranscript {
        let Self { mut before, id, calls } = self;
        before.transcript.push(Entry { id, content: EntryContent::ToolCalls(calls) });
        before
    }
}

impl Serialize for OpenTranscript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.clone().unanswered().serialize(serializer)
    }
}
