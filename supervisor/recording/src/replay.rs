//! Models that answer as it was recorded.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, ErrorCode, Model, ModelError, Script, ScriptedModel, StepOutcome,
    StepRequest, StepSink,
};

use crate::{
    facts::ModelFacts,
    matching::{Found, Matching, Recorded},
    missing::{Instead, Missing},
    owner::Owner,
    question::{self, Question, StepKey},
    recording::{Counts, Otherwise, Recording},
    step::{End, Piece, RecordedStep},
};

/// How long a step takes at least: long enough that what was sent along with its request is handled while it runs, as with a
/// model that has to think.
const STEP_TIME: Duration = Duration::from_millis(2);

/// How long a step that was cancelled in the recording waits for it.
const CANCELLATION_LIMIT: Duration = Duration::from_secs(30);

/// A recording that is played. Cloning refers to the same play: each recorded step is played once.
#[derive(Debug, Clone)]
pub struct Replay {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    matching: Matching,
    model: ModelFacts,
    counts: Counts,
    otherwise: Otherwise,
    recorded: Mutex<BTreeMap<Owner, Recorded>>,
    next_handle: AtomicU64,
}

impl Replay {
    /// Plays `recording` from its start.
    pub fn new(recording: Recording, matching: Matching) -> Self {
        let Recording { model, counts, conversations, otherwise } = recording;
        let recorded = conversations.into_iter().map(|(owner, steps)| (owner, Recorded::new(steps)));
        Self {
            shared: Arc::new(Shared {
                matching,
                model,
                counts: HashMap::from_iter(counts),
                otherwise,
                recorded: Mutex::new(recorded.collect()),
                next_handle: AtomicU64::new(0),
            }),
        }
    }

    /// A model that answers what `owner` asks as it was recorded.
    ///
    /// What was not recorded fails with `invalid_request` and a message that tells what was asked and what is recorded
    /// instead, unless the file has `steps` or a `fallback` for it.
    pub fn model(&self, owner: Owner) -> Arc<dyn Model> {
        Arc::new(ReplayedModel {
            shared: Arc::clone(&self.shared),
            handle: self.shared.next_handle.fetch_add(1, Ordering::Relaxed),
            script: self.shared.otherwise.script.clone().map(ScriptedModel::new),
            owner,
        })
    }
}

impl Shared {
    fn recorded(&self) -> MutexGuard<'_, BTreeMap<Owner, Recorded>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ReplayedModel {
    shared: Arc<Shared>,
    owner: Owner,
    handle: u64,
    /// For an owner of which nothing is recorded.
    script: Option<ScriptedModel>,
}

/// What answers a step.
enum Answer<'a> {
    Recorded(Box<RecordedStep>),
    /// The script, from its next step on.
    Script(&'a ScriptedModel),
    /// The script's fallback.
    Fallback(Script),
}

impl ReplayedModel {
    fn answer(&self, request: &StepRequest) -> Result<Answer<'_>, ModelError> {
        let Self { owner, shared, .. } = self;
        let key = StepKey::of(request);
        let mut all = shared.recorded();
        let missing = |instead: Instead<'_>| {
            let missing = Missing { owner, question: &Question::of(request), key: &key, instead };
            missing.message()
        };
        let Some(recorded) = all.get_mut(owner) else {
            return match &self.script {
                Some(script) => Ok(Answer::Script(script)),
                None => Err(not_recorded(&missing(Instead::Others(all.keys().collect())))),
            };
        };
        let conversation = (self.handle, question::conversation(request));
        let message = match recorded.find(conversation, &key, shared.matching) {
            Found::Same(place) => return Ok(Answer::Recorded(Box::new(recorded.step(place).clone()))),
            Found::Next(place) => {
                let step = recorded.step(place);
                tracing::warn!("{}", missing(Instead::Step { number: place.step + 1, step }));
                return Ok(Answer::Recorded(Box::new(step.clone())));
            }
            Found::Nothing(Some(place)) => {
                missing(Instead::Step { number: place.step + 1, step: recorded.step(place) })
            }
            Found::Nothing(None) => {
                if let Some(script) = shared.otherwise.script.as_ref().filter(|_| shared.otherwise.continues)
                {
                    return Ok(Answer::Fallback(script.clone()));
                }
                missing(match recorded.taken_by(conversation) {
                    Some(index) => Instead::AllStepsPlayed(recorded.len(index)),
                    None => Instead::AllPlayed(recorded.count()),
                })
            }
        };
        Err(not_recorded(&message))
    }

    async fn play(&self, step: RecordedStep, sink: &mut dyn StepSink) -> Result<StepOutcome, ModelError> {
        tokio::time::sleep(step.delay.max(STEP_TIME)).await;
        for piece in step.said {
            match piece {
                Piece::Text(text) => sink.text(&text),
                Piece::Reset(text) => sink.reset(&text),
                Piece::Partial(value) => sink.partial(value),
            }
        }
        match step.end {
            End::Answered(outcome) => Ok(outcome),
            End::Failed(failure) => Err(failure.into_error(SystemTime::now())),
            End::Unfinished => {
                tokio::time::sleep(CANCELLATION_LIMIT).await;
                let message = format!(
                    "The recorded step of {} was cancelled, or was the last one of a recording that broke off; \
                     nobody has cancelled it for {} s now.",
                    self.owner,
                    CANCELLATION_LIMIT.as_secs()
                );
                Err(not_recorded(&message))
            }
        }
    }
}

fn not_recorded(message: &str) -> ModelError {
    let message = format!("{message} Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient).");
    tracing::warn!("{message}");
    ModelError::new(ErrorCode::InvalidRequest, message)
}

impl Model for ReplayedModel {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            match self.answer(&request)? {
                Answer::Recorded(step) => self.play(*step, sink).await,
                Answer::Script(script) => script.step(request, sink).await,
                Answer::Fallback(script) => {
                    ScriptedModel::starting_at(script, usize::MAX).step(request, sink).await
                }
            }
        })
    }

    fn availability(&self) -> Availability {
        self.shared.model.availability()
    }

    fn context_size(&self) -> Option<u32> {
        self.shared.model.context_limit()
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        let count = self.shared.counts.get(&question::whole(request)).copied();
        Box::pin(std::future::ready(count))
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.model.capabilities()
    }
}
