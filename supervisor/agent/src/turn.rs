//! A turn: steps until the model answers, attempts until an answer stands, then the record.
//!
//! Everything a turn does is undone unless it ends in [`TurnRecord::commit`]: a failed attempt, an error and a
//! dropped (cancelled) turn leave the conversation as it was.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use serde_json::{Map, Value, json};

use crate::{
    agent::AgentOptions,
    call_ids::CallIds,
    context,
    conversation::{Setup, SharedConversation, TurnRecord},
    error::{AgentError, ErrorCode, ModelError},
    event::{StepInfo, TurnEvent, TurnResponse},
    host::TurnHost,
    json_text::{self, MAX_VALUE_DEPTH},
    model::{GenerationOptions, Model, Sampling, StepContent, StepOutcome, StepRequest, ToolMode, Usage},
    retry::{self, Attempts},
    schema::GenerationSchema,
    steering::{self, StepPlan, ToolChoice, ToolPolicy, ToolProgress},
    structured_answer,
    suspension::{RoundCall, SuspendedTurn, TurnEnd},
    tool::ToolRecord,
    tool_round::{ClientCalls, Round, RoundEnd, RoundResult},
    transcript::{Entry, EntryContent, Prompt, ResponseFormat, Segment, ToolCallEntry},
    voice::{HostSink, Voice},
};

/// Rounds of refused calls after tools are off, before the turn fails: a model that does not stop calling must not
/// keep the game waiting for ever.
const REFUSED_ROUNDS: u32 = 2;

/// How one turn differs from the agent's settings.
#[derive(Debug, Clone, Default)]
pub struct TurnOptions {
    /// How the turn may use tools; `None` takes the agent's policy.
    pub policy: Option<ToolPolicy>,
    /// How to generate; `None` takes the agent's options.
    pub generation: Option<GenerationOptions>,
    /// The form of the answer, if it is to be structured. Tools may be called first.
    pub schema: Option<Arc<GenerationSchema>>,
    /// Whether the host hears the answer grow.
    pub stream: bool,
    /// Whether structured answers that do not fit the schema count too: for a host that reads them leniently.
    pub is_lenient: bool,
    /// Image files that come before the text of the prompt, by absolute paths. The turn fails with `invalid_request` when
    /// the model cannot do with images.
    pub images: Vec<PathBuf>,
}

/// What stays the same during a turn.
pub(crate) struct Turn<'a> {
    pub(crate) model: &'a dyn Model,
    pub(crate) options: &'a AgentOptions,
    pub(crate) cache_key: u64,
    pub(crate) conversation: &'a SharedConversation,
    pub(crate) prompt: &'a str,
    pub(crate) images: &'a [PathBuf],
    pub(crate) policy: &'a ToolPolicy,
    pub(crate) generation: &'a GenerationOptions,
    pub(crate) schema: Option<&'a Arc<GenerationSchema>>,
    pub(crate) stream: bool,
    pub(crate) is_lenient: bool,
    pub(crate) client_calls: ClientCalls,
    pub(crate) call_ids: CallIds,
}

/// A turn that stands, about to become part of its conversation. Dropped, it leaves the conversation as it was.
#[must_use = "the turn is not part of its conversation before it is kept"]
#[derive(Debug)]
pub struct FinishedTurn<'a> {
    record: TurnRecord<'a>,
    response: Entry,
}

impl FinishedTurn<'_> {
    /// How many entries the conversation had before the turn. The turn's own come behind them.
    pub fn start(&self) -> usize {
        self.record.start()
    }

    /// Makes the turn part of its conversation. Locks the agent's settings for a moment.
    pub fn keep(self) {
        self.record.commit(self.response);
    }
}

/// What a turn that runs reads and writes.
struct Course<'a> {
    turn: &'a Turn<'a>,
    setup: Setup,
    record: TurnRecord<'a>,
    voice: Voice,
    host: &'a mut dyn TurnHost,
    /// All calls of all attempts, in the order of their completion.
    records: Vec<Arc<ToolRecord>>,
    /// All steps of all attempts.
    steps: Vec<Arc<StepInfo>>,
    called_tools: bool,
}

/// How an attempt ended that did not fail.
enum AttemptEnd {
    Answered(Answer),
    Suspended(Suspension),
}

struct Answer {
    text: String,
    structured: Option<Value>,
    usage: Usage,
    /// Of the step that gave it alone.
    own_usage: Usage,
}

/// A round with pending calls, and how far the attempt had come.
struct Suspension {
    calls: Vec<ToolCallEntry>,
    round: Vec<RoundCall>,
    progress: ToolProgress,
    usage: Usage,
}

impl Turn<'_> {
    /// Runs the turn. Dropping the future cancels it without trace.
    pub(crate) async fn run(&self, host: &mut dyn TurnHost) -> Result<TurnEnd, AgentError> {
        if !self.images.is_empty() && !self.model.capabilities().images {
            return Err(AgentError::InvalidRequest("The model cannot do with images.".into()));
        }
        let (record, setup) = TurnRecord::begin(self.conversation);
        if let ToolChoice::Tool(name) = &self.policy.choice
            && !setup.tools.iter().any(|tool| *tool.name() == **name)
        {
            return Err(AgentError::UnknownToolChoice { tool: name.clone() });
        }
        let mut course = Course {
            turn: self,
            setup,
            record,
            voice: Voice::new(self.stream && self.schema.is_none()),
            host,
            records: Vec::new(),
            steps: Vec::new(),
            called_tools: false,
        };
        match course.attempt_until_done().await? {
            AttemptEnd::Answered(answer) => course.commit(answer).map(TurnEnd::Completed),
            AttemptEnd::Suspended(suspension) => Ok(TurnEnd::Suspended(course.suspend(suspension).into())),
        }
    }

    /// Hides from the request what does not fit the model's context; returns how many entries.
    async fn fit(&self, request: &mut StepRequest, record: &TurnRecord<'_>) -> usize {
        let Turn { model, options, .. } = self;
        if !options.trim_history || model.context_size().is_none() {
            return 0;
        }
        let transcript = record.transcript();
        let reserved = options.reserved_response_tokens;
        let first = context::first_visible_entry(*model, &transcript, request, reserved).await;
        request.transcript = transcript.view_from(first);
        first
    }

    fn prompt_entry(&self) -> Entry {
        Entry::new(EntryContent::Prompt(Prompt {
            segments: self
                .images
                .iter()
                .map(|path| Segment::image(path))
                .chain([Segment::text(self.prompt)])
                .collect(),
            options: saved_options(self.generation),
            context_options: None,
            response_format: self.schema.map(|schema| ResponseFormat {
                name: schema.name().to_owned(),
                description: None,
                schema: schema.json().clone(),
            }),
            metadata: None,
        }))
    }
}

impl Course<'_> {
    async fn attempt_until_done(&mut self) -> Result<AttemptEnd, ModelError> {
        let max = self.turn.options.max_attempts;
        let mut made = 0;
        loop {
            made += 1;
            self.record.restart(self.turn.prompt_entry());
            self.voice.start_attempt();
            let error = match self.attempt().await {
                Ok(end) => return Ok(end),
                Err(error) => error,
            };
            let so_far = Attempts { made, max, called_tools: self.called_tools };
            let Some(delay) = retry::delay(&error, so_far, SystemTime::now()) else { return Err(error) };
            tracing::info!(code = %error.code, attempt = made, "a model step failed; trying again: {error}");
            tokio::time::sleep(delay).await;
        }
    }

    fn commit(self, answer: Answer) -> Result<TurnResponse, AgentError> {
        if !self.host.commit() {
            return Err(AgentError::Cancelled);
        }
        let Answer { text, structured, usage, own_usage } = answer;
        let response = Entry::response(match (&structured, self.turn.schema) {
            (Some(value), Some(schema)) => Segment::structure(schema.name(), value.clone()),
            _ => Segment::text(text.clone()),
        });
        self.host.record(FinishedTurn { record: self.record, response });
        Ok(TurnResponse {
            text,
            structured,
            tool_calls: self.records,
            usage,
            answer_usage: own_usage,
            steps: self.steps,
        })
    }

    /// Dropping the record takes back what the conversation has of the turn.
    fn suspend(self, suspension: Suspension) -> SuspendedTurn {
        let Suspension { calls, round, progress, usage } = suspension;
        SuspendedTurn {
            conversation: self.record.suspended(calls),
            round,
            tool_calls: self.records,
            usage,
            steps: self.steps,
            rounds_used: progress.rounds,
            calls_used: progress.calls,
        }
    }

    /// Plays steps until the model answers, or calls that stay pending.
    async fn attempt(&mut self) -> Result<AttemptEnd, ModelError> {
        let mut progress = ToolProgress::default();
        let mut usage = Usage::default();
        let mut refused_rounds = 0;
        for index in 0.. {
            // A model and tools that never wait must not keep the thread from everything else.
            tokio::task::coop::consume_budget().await;
            let plan = steering::plan(self.turn.policy, &self.setup.tools, progress);
            let outcome = self.step(index, &plan, progress).await?;
            let own_usage = outcome.usage;
            usage += own_usage;
            let mut calls = match outcome.content {
                StepContent::ToolCalls(calls) if !calls.is_empty() => calls,
                content => {
                    let (text, structured) = self.answer(content).await?;
                    return Ok(AttemptEnd::Answered(Answer { text, structured, usage, own_usage }));
                }
            };
            let nests_too_deep = |value: &Value| json_text::nests_deeper(value, MAX_VALUE_DEPTH - 1);
            if calls.iter().any(|call| call.arguments.values().any(nests_too_deep)) {
                let message = format!(
                    "The model called a tool with arguments that nest deeper than {MAX_VALUE_DEPTH}."
                );
                return Err(ModelError::new(ErrorCode::GenerationFailed, message));
            }
            let Turn { policy, call_ids, client_calls, .. } = *self.turn;
            call_ids.settle(&mut calls, self.record.transcript().iter().map(|entry| &**entry));
            let round =
                Round { policy, tools: &self.setup.tools, plan: &plan, progress, call_ids, client_calls };
            let RoundResult { calls, end, progress: after } =
                round.play(calls, self.host, &mut self.records).await;
            self.called_tools |= after.calls > progress.calls;
            progress = after;
            match end {
                RoundEnd::Complete(outputs) => {
                    let calls = Entry::new(EntryContent::ToolCalls(calls));
                    self.record.extend(std::iter::once(calls).chain(outputs));
                }
                RoundEnd::Pending(round) => {
                    return Ok(AttemptEnd::Suspended(Suspension { calls, round, progress, usage }));
                }
            }
            if plan.mode == ToolMode::Disallowed {
                refused_rounds += 1;
                if refused_rounds > REFUSED_ROUNDS {
                    break;
                }
            }
        }
        Err(ModelError::new(
            ErrorCode::GenerationFailed,
            "The model kept calling tools although they were off, and gave no answer.",
        ))
    }

    async fn step(
        &mut self,
        index: u32,
        plan: &StepPlan,
        progress: ToolProgress,
    ) -> Result<StepOutcome, ModelError> {
        let turn = self.turn;
        let mut request = StepRequest {
            instructions: self.setup.instructions.clone(),
            transcript: self.record.view(),
            tools: plan.model_tools(),
            tool_mode: plan.mode,
            schema: turn.schema.cloned(),
            options: turn.generation.clone(),
            stream: turn.stream,
            cache_key: turn.cache_key,
        };
        let trimmed_entries = turn.fit(&mut request, &self.record).await;
        let info = Arc::new(StepInfo {
            index,
            completed_tool_rounds: progress.rounds,
            tool_calling_mode: plan.mode,
            enabled_tools: plan.tools.iter().map(|tool| tool.name.clone()).collect(),
            trimmed_entries,
        });
        self.steps.push(Arc::clone(&info));
        self.host.event(TurnEvent::ModelStep { step: info });
        self.voice.start_step();
        let hears_partials = turn.stream && turn.schema.is_some();
        let mut sink = HostSink { voice: &mut self.voice, host: self.host, hears_partials };
        turn.model.step(request, &mut sink).await
    }

    /// Turns the last step's content into the turn's answer, checked against the schema unless the turn is lenient.
    async fn answer(&mut self, content: StepContent) -> Result<(String, Option<Value>), ModelError> {
        if let Some(schema) = self.turn.schema {
            let (text, value) = structured_answer::read(content, schema, self.turn.is_lenient).await?;
            return Ok((text, Some(value)));
        }
        let text = match content {
            StepContent::Text(text) => text,
            StepContent::Structured(value) => json_text::compact(&value),
            StepContent::ToolCalls(_) => String::new(),
        };
        self.voice.settle(&text, self.host);
        Ok((text, None))
    }
}

/// Generation options in the form that transcripts keep.
fn saved_options(options: &GenerationOptions) -> Map<String, Value> {
    let mut saved = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            saved.insert(name.to_owned(), value);
        }
    };
    put("temperature", options.temperature.map(|value| json!(value)));
    put("maximumResponseTokens", options.max_response_tokens.map(|value| json!(value)));
    match options.sampling {
        Some(Sampling::TopK { k, seed }) => {
            put("topK", Some(json!(k)));
            put("randomSeed", seed.map(|seed| json!(seed)));
        }
        Some(Sampling::TopP { p, seed }) => {
            put("probabilityThreshold", Some(json!(p)));
            put("randomSeed", seed.map(|seed| json!(seed)));
        }
        Some(Sampling::Greedy) | None => {}
    }
    saved
}
