//! Noting what models answer.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, Model, ModelError, StepOutcome, StepRequest, StepSink, json_text,
};
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};

use crate::{
    facts::ModelFacts,
    fingerprint::Fingerprint,
    form::{self, Before, VERSION},
    owner::Owner,
    question::{self, Question, StepKey},
    step::{End, Failure, Piece, RecordedStep},
};

/// Notes what models answer. Cloning refers to the same recording.
///
/// A recording depends on the exchange alone: it holds no times and nothing random, but for what the models made
/// themselves, such as ids of tool calls. The same exchange gives the same bytes.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    detail: RecordingDetail,
    notes: Mutex<Notes>,
    changed: Notify,
    next_handle: AtomicU64,
}

#[derive(Debug, Default)]
struct Notes {
    model: Option<ModelFacts>,
    counts: BTreeMap<Fingerprint, u32>,
    /// In the order of their first steps.
    conversations: Vec<Conversation>,
    by_key: HashMap<ConversationKey, usize>,
}

/// One model that was made, and what its steps have in common.
type ConversationKey = (u64, u64);

#[derive(Debug)]
struct Conversation {
    owner: Owner,
    first: StepKey,
    before: Before,
    steps: Vec<Note>,
}

#[derive(Debug)]
enum Note {
    /// With what its line leaves out.
    Running(Box<(RecordedStep, Before)>),
    /// Its line.
    Ended(String),
}

/// What is noted beyond what a replay needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingDetail {
    /// Instructions, prompts and tool outputs, for people who read the recording. Without them it has only what steps are
    /// recognized by; answers and calls of tools are noted as ever.
    pub questions: bool,
    /// How long steps take. A recording that has it is not the same from run to run.
    pub pace: bool,
}

impl Default for RecordingDetail {
    fn default() -> Self {
        Self { questions: true, pace: false }
    }
}

impl Recorder {
    /// A recorder of nothing yet.
    pub fn new(detail: RecordingDetail) -> Self {
        let (notes, changed, next_handle) = (Mutex::default(), Notify::new(), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { detail, notes, changed, next_handle }) }
    }

    /// A model that answers as `model` does, and has it noted for `owner`.
    pub fn model(&self, owner: Owner, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let handle = self.shared.next_handle.fetch_add(1, Ordering::Relaxed);
        let recorded = RecordedModel { shared: Arc::clone(&self.shared), owner, handle, model };
        recorded.note_facts();
        Arc::new(recorded)
    }

    /// Resolves when something was noted since it last did.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Whether nothing has been asked.
    pub fn is_empty(&self) -> bool {
        self.shared.notes().conversations.is_empty()
    }

    /// The recording as it is now: the text of a file, a step a line. Steps that have not ended are noted as
    /// unfinished.
    pub fn document(&self) -> String {
        self.shared.notes().document()
    }
}

impl Shared {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn begin(&mut self, owner: &Owner, key: ConversationKey, step: RecordedStep) -> StepPlace {
        let conversation = *self.by_key.entry(key).or_insert_with(|| {
            self.conversations.push(Conversation {
                owner: owner.clone(),
                first: step.key,
                before: Before::default(),
                steps: Vec::new(),
            });
            self.conversations.len() - 1
        });
        let Conversation { before, steps, .. } = &mut self.conversations[conversation];
        let left_out = before.clone();
        before.step(&step);
        steps.push(Note::Running(Box::new((step, left_out))));
        StepPlace { conversation, step: steps.len() - 1 }
    }

    fn document(&self) -> String {
        let mut text = format!("{{\"recording\":{{\"version\":{VERSION}");
        if let Some(model) = &self.model {
            let _ = write!(text, ",\n\"model\":{}", json_text::compact(model));
        }
        if !self.counts.is_empty() {
            let counts = self.counts.iter().map(|(of, count)| format!("\"{of}\":{count}"));
            text.push_str(",\n\"counts\":{");
            push_lines(&mut text, counts);
            text.push('}');
        }
        let mut conversations: Vec<_> = self.conversations.iter().collect();
        // What has no id of its own is told apart by what it asks; the sort keeps the order of all else.
        conversations
            .sort_by_key(|it| (&it.owner, matches!(it.owner, Owner::Request(_)).then_some(it.first)));
        for (section, member) in [("sessions", "session"), ("npcs", "npc"), ("requests", "request")] {
            let _ = write!(text, ",\n\"{section}\":[");
            let conversations = conversations.iter().filter_map(|conversation| {
                let (kind, name) = conversation.owner.kind_and_name();
                (kind == member).then(|| {
                    let mut text = format!("{{\"{member}\":{},\"steps\":[", json_text::compact(name));
                    push_lines(&mut text, conversation.steps.iter().map(Note::line));
                    text.push_str("]}");
                    text
                })
            });
            push_lines(&mut text, conversations);
            text.push(']');
        }
        text.push_str("}}\n");
        text
    }
}

/// Appends elements, each on lines of its own.
fn push_lines(text: &mut String, elements: impl Iterator<Item = impl AsRef<str>>) {
    let mut is_empty = true;
    for element in elements {
        text.push_str(if is_empty { "\n" } else { ",\n" });
        text.push_str(element.as_ref());
        is_empty = false;
    }
    if !is_empty {
        text.push('\n');
    }
}

impl Note {
    fn line(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Running(running) => form::line(&running.0, &running.1).into(),
            Self::Ended(line) => line.into(),
        }
    }
}

/// Where a step is noted.
#[derive(Debug, Clone, Copy)]
struct StepPlace {
    conversation: usize,
    step: usize,
}

/// A step that is being noted.
struct Notebook<'a> {
    shared: &'a Shared,
    place: StepPlace,
    since: Instant,
}

impl Notebook<'_> {
    fn said(&self, piece: Piece) {
        self.shared.notes().change(self.place, |step| step.said.push(piece));
        self.shared.changed.notify_one();
    }

    fn ended(&self, end: End) {
        let mut notes = self.shared.notes();
        notes.change(self.place, |step| {
            step.end = end;
            if self.shared.detail.pace {
                step.delay = self.since.elapsed();
            }
        });
        let note = notes.note(self.place);
        *note = Note::Ended(note.line().into_owned());
        drop(notes);
        self.shared.changed.notify_one();
    }
}

impl Notes {
    fn note(&mut self, place: StepPlace) -> &mut Note {
        &mut self.conversations[place.conversation].steps[place.step]
    }

    fn change(&mut self, place: StepPlace, change: impl FnOnce(&mut RecordedStep)) {
        if let Note::Running(running) = self.note(place) {
            change(&mut running.0);
        }
    }
}

/// A model whose answers are noted.
struct RecordedModel {
    shared: Arc<Shared>,
    owner: Owner,
    handle: u64,
    model: Arc<dyn Model>,
}

impl RecordedModel {
    /// Notes what the model tells of itself. What it said last while it could be asked counts.
    fn note_facts(&self) {
        let facts = ModelFacts::of(&*self.model);
        let known = &mut self.shared.notes().model;
        if facts.is_available() || !known.as_ref().is_some_and(ModelFacts::is_available) {
            *known = Some(facts);
        }
    }

    fn begin(&self, request: &StepRequest) -> Notebook<'_> {
        let step = RecordedStep {
            question: self.shared.detail.questions.then(|| Question::of(request)),
            key: StepKey::of(request),
            delay: Duration::ZERO,
            said: Vec::new(),
            end: End::Unfinished,
        };
        let key = (self.handle, question::conversation(request));
        let place = self.shared.notes().begin(&self.owner, key, step);
        self.shared.changed.notify_one();
        Notebook { shared: &self.shared, place, since: Instant::now() }
    }
}

impl Model for RecordedModel {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let notebook = self.begin(&request);
            let result = self.model.step(request, &mut Listener { sink, notebook: &notebook }).await;
            notebook.ended(match &result {
                Ok(outcome) => End::Answered(outcome.clone()),
                Err(error) => End::Failed(Failure::of(error, SystemTime::now())),
            });
            self.note_facts();
            result
        })
    }

    fn availability(&self) -> Availability {
        self.note_facts();
        self.model.availability()
    }

    fn context_size(&self) -> Option<u32> {
        self.model.context_size()
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        Box::pin(async move {
            let count = self.model.count_tokens(request).await;
            if let Some(count) = count {
                self.shared.notes().counts.insert(question::whole(request), count);
                self.shared.changed.notify_one();
            }
            count
        })
    }

    fn prewarm(&self, instructions: Option<&str>) {
        self.model.prewarm(instructions);
    }

    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }
}

/// Passes on what is said, and has it noted.
struct Listener<'a> {
    sink: &'a mut dyn StepSink,
    notebook: &'a Notebook<'a>,
}

impl StepSink for Listener<'_> {
    fn text(&mut self, delta: &str) {
        self.notebook.said(Piece::Text(delta.to_owned()));
        self.sink.text(delta);
    }

    fn reset(&mut self, text: &str) {
        self.notebook.said(Piece::Reset(text.to_owned()));
        self.sink.reset(text);
    }

    fn partial(&mut self, value: Value) {
        self.notebook.said(Piece::Partial(value.clone()));
        self.sink.partial(value);
    }

    fn interrupted(&mut self, why: &str) {
        self.sink.interrupted(why);
    }
}
