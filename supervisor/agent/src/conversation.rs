//! The state of a conversation, and the guard that keeps only complete turns in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    tool::{RESPOND_DIRECTLY, Tool, ToolDefinition},
    transcript::{
        Entry, EntryContent, EntryId, ToolCallEntry, Transcript, TranscriptView,
        json::{OpenTranscript, SavedSetup, SavedTranscript},
    },
};

/// What a conversation consists of. Settings changed while a turn runs wait in `settings` until the next turn
/// brings `setup` up to date.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) settings: Settings,
    setup: Setup,
    transcript: Transcript,
}

/// What a host sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) context_note: Option<Arc<str>>,
    pub(crate) tools: Arc<[Tool]>,
}

/// The settings in force: those of the last turn that started.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Instructions and context note together.
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) tools: Arc<[Tool]>,
    entry_id: EntryId,
}

impl Settings {
    fn effective_instructions(&self) -> Option<Arc<str>> {
        match (&self.instructions, &self.context_note) {
            (Some(instructions), Some(note)) => Some(format!("{instructions}\n\n{note}").into()),
            (one, None) | (None, one) => one.clone(),
        }
    }
}

impl Conversation {
    pub(crate) fn new(settings: Settings, transcript: Transcript) -> Self {
        let setup = Setup {
            instructions: settings.effective_instructions(),
            tools: Arc::clone(&settings.tools),
            entry_id: EntryId::random(),
        };
        Self { settings, setup, transcript }
    }

    /// Brings the settings into force and returns them.
    pub(crate) fn apply_settings(&mut self) -> Setup {
        let unchanged = Arc::ptr_eq(&self.setup.tools, &self.settings.tools)
            && self.setup.instructions == self.settings.effective_instructions();
        if !unchanged {
            self.setup.instructions = self.settings.effective_instructions();
            self.setup.tools = Arc::clone(&self.settings.tools);
            self.setup.entry_id = EntryId::random();
        }
        self.setup.clone()
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(crate) fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// The conversation as hosts and clients see it: a turn in progress without its calls of `respond_directly`.
    pub(crate) fn public_transcript(&self) -> Transcript {
        let mut transcript = self.transcript.clone();
        let turn_start = transcript.len() - transcript.current_turn().len();
        drop_respond_directly(&mut transcript, turn_start);
        transcript
    }

    /// The conversation as it is saved.
    pub(crate) fn saved(&self) -> SavedTranscript {
        let tools: Vec<Arc<ToolDefinition>> =
            self.setup.tools.iter().map(|tool| Arc::clone(&tool.definition)).collect();
        let setup = (self.setup.instructions.is_some() || !tools.is_empty()).then(|| SavedSetup {
            id: self.setup.entry_id.clone(),
            instructions: self.setup.instructions.clone(),
            tools: tools.into_iter().map(Ok).collect(),
        });
        SavedTranscript { setup, transcript: self.public_transcript() }
    }
}

/// Removes the calls of `respond_directly` and their outputs from `start` on.
fn drop_respond_directly(transcript: &mut Transcript, start: usize) {
    let is_hidden = |entry: &Entry| match &entry.content {
        EntryContent::ToolCalls(calls) => calls.iter().any(|call| call.name == RESPOND_DIRECTLY),
        EntryContent::ToolOutput(output) => output.tool_name == RESPOND_DIRECTLY,
        _ => false,
    };
    if !transcript[start.min(transcript.len())..].iter().any(|entry| is_hidden(entry)) {
        return;
    }
    transcript.filter_map_from(start, |entry| match &entry.content {
        _ if !is_hidden(&entry) => Some(entry),
        EntryContent::ToolCalls(calls) => {
            let kept: Vec<_> = calls.iter().filter(|call| call.name != RESPOND_DIRECTLY).cloned().collect();
            let content = EntryContent::ToolCalls(kept);
            match &content {
                EntryContent::ToolCalls(kept) if kept.is_empty() => None,
                _ => Some(Arc::new(Entry { id: entry.id.clone(), content })),
            }
        }
        _ => None,
    });
}

/// A conversation behind its lock. Locks are held for moments only, never across a wait.
#[derive(Debug)]
pub(crate) struct SharedConversation(Mutex<Conversation>);

impl SharedConversation {
    pub(crate) fn new(conversation: Conversation) -> Self {
        Self(Mutex::new(conversation))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Conversation> {
        // Every change under the lock is complete in itself, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn being recorded. Dropped before [`commit`](Self::commit), it takes all its entries back.
#[derive(Debug)]
pub(crate) struct TurnRecord<'a> {
    conversation: &'a SharedConversation,
    start: usize,
    is_committed: bool,
}

impl<'a> TurnRecord<'a> {
    pub(crate) fn begin(conversation: &'a SharedConversation) -> Self {
        let start = conversation.lock().transcript.len();
        Self { conversation, start, is_committed: false }
    }

    /// Takes the turn's entries back and starts it over with `prompt`.
    pub(crate) fn restart(&mut self, prompt: Entry) {
        let mut conversation = self.conversation.lock();
        conversation.transcript.truncate(self.start);
        conversation.transcript.push(prompt);
    }

    pub(crate) fn extend(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let mut conversation = self.conversation.lock();
        for entry in entries {
            conversation.transcript.push(entry);
        }
    }

    pub(crate) fn transcript(&self) -> Transcript {
        self.conversation.lock().transcript.clone()
    }

    /// The conversation as it is saved when the turn is suspended in the round of these calls.
    pub(crate) fn suspended(&self, mut calls: Vec<ToolCallEntry>) -> OpenTranscript {
        calls.retain(|call| call.name != RESPOND_DIRECTLY);
        OpenTranscript::new(self.conversation.lock().saved(), EntryId::random(), calls)
    }

    pub(crate) fn view(&self) -> TranscriptView {
        self.conversation.lock().transcript.view_from(0)
    }

    /// Ends the turn with its answer.
    pub(crate) fn commit(mut self, response: Entry) {
        let mut conversation = self.conversation.lock();
        drop_respond_directly(&mut conversation.transcript, self.start);
        conversation.transcript.push(response);
        self.is_committed = true;
    }
}

impl Drop for TurnRecord<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            self.conversation.lock().transcript.truncate(self.start);
        }
    }
}
