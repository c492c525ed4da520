//! Noting what models answer.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, Model, ModelError, StepOutcome, StepRequest, StepSink,
};
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};

use crate::{
    facts::ModelFacts,
    notes::{Note, Notes, StepPlace},
    owner::Owner,
    question::{self, Question, StepKey},
    recording::{MEMBER, Recording, RecordingError},
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
        Self::with(detail, Notes::default())
    }

    /// A recorder that goes on with a file: what was recorded there, and what stands beside it, stays. Conversations
    /// come behind those that the file has of the same owner. What the model tells of itself now counts.
    ///
    /// `None` when the file has no member `recording`.
    pub fn going_on(file: &Value, detail: RecordingDetail) -> Result<Option<Self>, RecordingError> {
        let Some(recording) = Recording::from_json(file)? else { return Ok(None) };
        let mut beside = file.as_object().cloned().unwrap_or_default();
        beside.shift_remove(MEMBER);
        Ok(Some(Self::with(detail, Notes::of_file(recording, beside))))
    }

    fn with(detail: RecordingDetail, notes: Notes) -> Self {
        let (notes, changed, next_handle) = (Mutex::new(notes), Notify::new(), AtomicU64::new(0));
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

    /// Whether nothing has been asked yet, beyond what was in the file that it goes on with.
    pub fn is_empty(&self) -> bool {
        self.shared.notes().is_empty()
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
