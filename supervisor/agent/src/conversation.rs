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
    /// How it was before the turn in progress.
    before_turn: Option<BeforeTurn>,
}

#[derive(Debug)]
struct BeforeTurn {
    setup: Setup,
    len: usize,
}

/// What a host sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) context_note: Option<Arc<str>>,
    pub(crate) tools: Arc<[Tool]>,
}

/// The settings in force: those of the turn in progress, else of the last one that completed.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Instructions and context note together.
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) tools: Arc<[Tool]>,
    entry_id: EntryId,
}

impl Settings {
    /// Instructions and context note together. Empty ones are none, as they are when a transcript is read.
    fn effective_instructions(&self) -> Option<Arc<str>> {
        let said = |text: &Option<Arc<str>>| text.clone().filter(|text| !text.is_empty());
        match (said(&self.instructions), said(&self.context_note)) {
            (Some(instructions), Some(note)) => Some(format!("{instructions}\n\n{note}").into()),
            (one, None) | (None, one) => one,
        }
    }
}

impl Setup {
    /// Becomes what was saved, and keeps its tools when they are the same: then no turn has to bring others into force.
    fn restore(&mut self, saved: Option<SavedSetup>) {
        let nothing = || SavedSetup { id: EntryId::random(), instructions: None, tools: Vec::new() };
        let SavedSetup { id, instructions, tools } = saved.unwrap_or_else(nothing);
        let tools: Vec<_> = tools.into_iter().flatten().collect();
        let is_same = |(tool, saved): (&Tool, &Arc<ToolDefinition>)| tool.definition.is_same(saved);
        if tools.len() != self.tools.len() || !self.tools.iter().zip(&tools).all(is_same) {
            self.tools = tools.into_iter().map(|tool| Tool::client(Arc::unwrap_or_clone(tool))).collect();
        }
        self.instructions = instructions;
        self.entry_id = id;
    }

    fn saved(&self) -> Option<SavedSetup> {
        let tools = self.tools.iter().map(|tool| Ok(Arc::clone(&tool.definition)));
        (self.instructions.is_some() || !self.tools.is_empty()).then(|| SavedSetup {
            id: self.entry_id.clone(),
            instructions: self.instructions.clone(),
            tools: tools.collect(),
        })
    }
}

impl Conversation {
    pub(crate) fn new(settings: Settings, transcript: Transcript) -> Self {
        let setup = Setup {
            instructions: settings.effective_instructions(),
            tools: Arc::clone(&settings.tools),
            entry_id: EntryId::random(),
        };
        Self { settings, setup, transcript, before_turn: None }
    }

    /// A conversation to go on with, in which `in_force` was in force; `None` is nothing.
    pub(crate) fn restored(settings: Settings, transcript: Transcript, in_force: Option<SavedSetup>) -> Self {
        let mut conversation = Self::new(settings, transcript);
        conversation.setup.restore(in_force);
        conversation
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
        SavedTranscript { setup: self.saved_setup(), transcript: self.public_transcript() }
    }

    /// The settings in force as they are saved.
    pub(crate) fn saved_setup(&self) -> Option<SavedSetup> {
        self.setup.saved()
    }

    /// The conversation as it is saved without a turn in progress.
    pub(crate) fn settled(&self) -> SavedTranscript {
        let Some(BeforeTurn { setup, len }) = &self.before_turn else { return self.saved() };
        let mut transcript = self.transcript.clone();
        transcript.truncate(*len);
        SavedTranscript { setup: setup.saved(), transcript }
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

/// A conversation in which nothing else happens.
#[derive(Debug)]
pub struct IdleConversation<'a>(pub(crate) &'a SharedConversation);

impl IdleConversation<'_> {
    /// Clears the conversation; the context note becomes `note`. Instructions and tools stay. Locks the agent's settings
    /// for a moment.
    pub fn clear(self, note: Option<Arc<str>>) {
        let mut conversation = self.0.lock();
        conversation.settings.context_note = note;
        conversation.transcript.truncate(0);
        conversation.apply_settings();
    }
}

/// A turn being recorded. Dropped before [`commit`](Self::commit), it leaves the conversation as it was.
#[derive(Debug)]
pub(crate) struct TurnRecord<'a> {
    conversation: &'a SharedConversation,
    start: usize,
}

impl<'a> TurnRecord<'a> {
    /// Brings the settings into force and begins a turn under them.
    pub(crate) fn begin(shared: &'a SharedConversation) -> (Self, Setup) {
        let mut conversation = shared.lock();
        let start = conversation.transcript.len();
        let before = BeforeTurn { setup: conversation.setup.clone(), len: start };
        conversation.before_turn = Some(before);
        let setup = conversation.apply_settings();
        (Self { conversation: shared, start }, setup)
    }

    /// How many entries there were before the turn.
    pub(crate) fn start(&self) -> usize {
        self.start
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
    pub(crate) fn commit(self, response: Entry) {
        let mut conversation = self.conversation.lock();
        drop_respond_directly(&mut conversation.transcript, self.start);
        conversation.transcript.push(response);
        conversation.before_turn = None;
    }
}

impl Drop for TurnRecord<'_> {
    fn drop(&mut self) {
        let mut conversation = self.conversation.lock();
        // Unless the turn was committed.
        if let Some(BeforeTurn { setup, len }) = conversation.before_turn.take() {
            conversation.setup = setup;
            conversation.transcript.truncate(len);
        }
    }
}
