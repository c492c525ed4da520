//! The record of a conversation: what was asked, called, returned and answered.
//!
//! [`Transcript`] grows at its end and is cut at its end (rollback) or front (compaction). Its entries are shared:
//! a [`TranscriptView`] costs one reference count however long the conversation is, and the transcript copies its
//! list only while somebody still holds a view. [`json`] is the form that is saved and restored.

mod entry;
pub mod json;

use std::{ops::Deref, sync::Arc};

pub(crate) use entry::joined_text;
pub use entry::{
    Entry, EntryContent, EntryId, Prompt, Response, ResponseFormat, Segment, SegmentContent, ToolCallEntry,
    ToolOutputEntry,
};

/// The entries of a conversation, without its instructions. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    entries: Arc<Vec<Arc<Entry>>>,
}

impl Transcript {
    /// A transcript of these entries.
    pub fn new(entries: Vec<Arc<Entry>>) -> Self {
        Self { entries: Arc::new(entries) }
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        Arc::make_mut(&mut self.entries).push(Arc::new(entry));
    }

    /// Appends these entries.
    pub fn extend(&mut self, entries: &[Arc<Entry>]) {
        Arc::make_mut(&mut self.entries).extend_from_slice(entries);
    }

    /// Drops all entries from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.entries.len() {
            Arc::make_mut(&mut self.entries).truncate(len);
        }
    }

    /// Drops the first `count` entries.
    pub fn drop_front(&mut self, count: usize) {
        Arc::make_mut(&mut self.entries).drain(..count);
    }

    /// Keeps, from `start` on, the entries that `keep` maps to something.
    pub(crate) fn filter_map_from(
        &mut self,
        start: usize,
        keep: impl FnMut(Arc<Entry>) -> Option<Arc<Entry>>,
    ) {
        let entries = Arc::make_mut(&mut self.entries);
        let tail = entries.split_off(start.min(entries.len()));
        entries.extend(tail.into_iter().filter_map(keep));
    }

    /// The entries from `start` on, as a model may see them.
    pub fn view_from(&self, start: usize) -> TranscriptView {
        TranscriptView { entries: Arc::clone(&self.entries), start: start.min(self.entries.len()) }
    }

    /// The entries after the prompt of the turn in progress.
    pub(crate) fn current_turn(&self) -> &[Arc<Entry>] {
        current_turn(self)
    }

    /// Whether the entry at `index` is the prompt of a new turn. An empty prompt right behind tool outputs starts
    /// none: it continues the turn that the outputs belong to.
    pub(crate) fn starts_turn(&self, index: usize) -> bool {
        starts_turn(self, index)
    }

    /// The indices of the prompts.
    pub(crate) fn prompts(&self) -> Vec<usize> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| matches!(entry.content, EntryContent::Prompt(_)))
            .map(|(index, _)| index)
            .collect()
    }
}

impl Deref for Transcript {
    type Target = [Arc<Entry>];

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

/// A shared look at a transcript from some entry on. It does not change when the transcript does.
#[derive(Debug, Clone, Default)]
pub struct TranscriptView {
    entries: Arc<Vec<Arc<Entry>>>,
    start: usize,
}

impl TranscriptView {
    /// The text of the last prompt, or nothing when there is none.
    pub fn last_prompt_text(&self) -> String {
        self.iter()
            .rev()
            .find_map(|entry| match &entry.content {
                EntryContent::Prompt(prompt) => Some(entry::joined_text(&prompt.segments)),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The entries after the prompt of the turn in progress. An empty prompt right behind tool outputs continues
    /// the turn that the outputs belong to, so it starts none.
    pub fn current_turn(&self) -> &[Arc<Entry>] {
        current_turn(self)
    }
}

impl Deref for TranscriptView {
    type Target = [Arc<Entry>];

    fn deref(&self) -> &Self::Target {
        &self.entries[self.start..]
    }
}

fn starts_turn(entries: &[Arc<Entry>], index: usize) -> bool {
    let EntryContent::Prompt(prompt) = &entries[index].content else { return false };
    let before = index.checked_sub(1).map(|before| &entries[before].content);
    !matches!(before, Some(EntryContent::ToolOutput(_))) || !joined_text(&prompt.segments).is_empty()
}

fn current_turn(entries: &[Arc<Entry>]) -> &[Arc<Entry>] {
    let start = (0..entries.len()).rev().find(|index| starts_turn(entries, *index));
    &entries[start.map_or(0, |prompt| prompt + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_prompt_behind_tool_outputs_continues_their_turn() {
        let mut transcript = Transcript::default();
        transcript.push(Entry::prompt("Open the gate."));
        transcript.push(Entry::tool_output("c", "open_gate", "done"));
        transcript.push(Entry::prompt(""));
        assert_eq!(transcript.view_from(0).current_turn().len(), 2);
        transcript.push(Entry::response(Segment::text("It is open.")));
        transcript.push(Entry::prompt(""));
        assert_eq!(transcript.view_from(0).current_turn().len(), 0);
    }
}
