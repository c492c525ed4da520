//! A turn: steps until the model answers, attempts until an answer stands, then the record.
//!
//! Everything a turn does is undone unless it ends in [`TurnRecord::commit`]: a failed attempt, an error and a
//! dropped (cancelled) turn leave the conversation as it was.

use std::{sync::Arc, time::SystemTime};

use serde_json::{Map, Value, json};

use crate::{
    agent::AgentOptions,
    context,
    conversation::{Setup, SharedConversation, TurnRecord},
    error::{AgentError, ErrorCode, ModelError},
    event::{StepInfo, TextEvent, TurnEvent, TurnResponse},
    host::TurnHost,
    json_text,
    model::{
        GenerationOptions, Model, Sampling, StepContent, StepOutcome, StepRequest, StepSink, ToolMode, Usage,
    },
    retry::{self, Attempts},
    schema::GenerationSchema,
    steering::{self, StepPlan, ToolChoice, ToolPolicy, ToolProgress},
    tool::ToolRecord,
    tool_round::Round,
    transcript::{Entry, EntryContent, Prompt, ResponseFormat, Segment, Transcript},
};

/// Rounds of refused calls after tools are off, before the turn fails: a model that does not stop calling must not
/// keep the game waiting for ever.
const REFUSED_ROUNDS: u32 = 2;

/// How one turn differs from the agent's settings.
#[derive(Debug, Clone, Default)]
pub struct TurnOptions {
    /// How the turn may use tools; `None` takes the agent's policy.
    pub policy: Option<ToolPolicy>,
    /// The form of the answer, if it is to be structured. Tools may be called first.
    pub schema: Option<Arc<GenerationSchema>>,
    /// Whether the host hears the answer grow.
    pub stream: bool,
}

/// What stays the same during a turn.
pub(crate) struct Turn<'a> {
    pub(crate) model: &'a dyn Model,
    pub(crate) options: &'a AgentOptions,
    pub(crate) cache_key: u64,
    pub(crate) conversation: &'a SharedConversation,
    pub(crate) prompt: &'a str,
    pub(crate) policy: &'a ToolPolicy,
    pub(crate) schema: Option<&'a Arc<GenerationSchema>>,
    pub(crate) stream: bool,
}

/// What adds up over the attempts of a turn.
#[derive(Default)]
struct Tally {
    records: Vec<Arc<ToolRecord>>,
    steps: Vec<Arc<StepInfo>>,
    called_tools: bool,
}

struct Answer {
    text: String,
    structured: Option<Value>,
    usage: Usage,
}

impl Turn<'_> {
    /// Runs the turn. Dropping the future cancels it without trace.
    pub(crate) async fn run(&self, host: &mut dyn TurnHost) -> Result<TurnResponse, AgentError> {
        let setup = self.conversation.lock().apply_settings();
        if let ToolChoice::Tool(name) = &self.policy.choice
            && !setup.tools.iter().any(|tool| *tool.name() == **name)
        {
            return Err(AgentError::UnknownToolChoice { tool: name.clone() });
        }
        let mut record = TurnRecord::begin(self.conversation);
        let mut tally = Tally::default();
        let mut voice = Voice::new(self.stream && self.schema.is_none());
        let mut attempts = 0;
        let answer = loop {
            attempts += 1;
            record.restart(self.prompt_entry());
            voice.start_attempt();
            let error = match self.attempt(&setup, &mut record, &mut tally, &mut voice, host).await {
                Ok(answer) => break answer,
                Err(error) => error,
            };
            let so_far =
                Attempts { made: attempts, max: self.options.max_attempts, called_tools: tally.called_tools };
            let Some(delay) = retry::delay(&error, so_far, SystemTime::now()) else {
                return Err(error.into());
            };
            tracing::info!(code = %error.code, attempt = attempts, "a model step failed; trying again: {error}");
            tokio::time::sleep(delay).await;
        };
        if !host.commit() {
            return Err(AgentError::Cancelled);
        }
        record.commit(Entry::response(match (&answer.structured, self.schema) {
            (Some(value), Some(schema)) => Segment::structure(schema.name(), value.clone()),
            _ => Segment::text(answer.text.clone()),
        }));
        Ok(TurnResponse {
            text: answer.text,
            structured: answer.structured,
            tool_calls: tally.records,
            usage: answer.usage,
            steps: tally.steps,
        })
    }

    async fn attempt(
        &self,
        setup: &Setup,
        record: &mut TurnRecord<'_>,
        tally: &mut Tally,
        voice: &mut Voice,
        host: &mut dyn TurnHost,
    ) -> Result<Answer, ModelError> {
        let mut progress = ToolProgress::default();
        let mut usage = Usage::default();
        let mut refused_rounds = 0;
        for index in 0.. {
            // A model and tools that never wait must not keep the thread from everything else.
            tokio::task::coop::consume_budget().await;
            let plan = steering::plan(self.policy, &setup.tools, progress);
            let outcome = self.step(index, setup, &plan, progress, record, tally, voice, host).await?;
            usage += outcome.usage;
            let calls = match outcome.content {
                StepContent::ToolCalls(calls) if !calls.is_empty() => calls,
                content => return self.answer(content, usage, voice, host),
            };
            let round = Round { policy: self.policy, tools: &setup.tools, plan: &plan, progress };
            let result = round.play(calls, host, &mut tally.records).await;
            tally.called_tools |= result.progress.calls > progress.calls;
            progress = result.progress;
            record.extend(result.entries);
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

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a turn that a step reads and writes, each by name"
    )]
    async fn step(
        &self,
        index: u32,
        setup: &Setup,
        plan: &StepPlan,
        progress: ToolProgress,
        record: &TurnRecord<'_>,
        tally: &mut Tally,
        voice: &mut Voice,
        host: &mut dyn TurnHost,
    ) -> Result<StepOutcome, ModelError> {
        let mut request = StepRequest {
            instructions: setup.instructions.clone(),
            transcript: record.view(),
            tools: plan.model_tools(),
            tool_mode: plan.mode,
            schema: self.schema.cloned(),
            options: self.options.generation.clone(),
            stream: self.stream,
            cache_key: self.cache_key,
        };
        let trimmed_entries = self.fit(&mut request, || record.transcript()).await;
        let info = Arc::new(StepInfo {
            index,
            completed_tool_rounds: progress.rounds,
            tool_calling_mode: plan.mode,
            enabled_tools: plan.tools.iter().map(|tool| tool.name.clone()).collect(),
            trimmed_entries,
        });
        tally.steps.push(Arc::clone(&info));
        host.event(TurnEvent::ModelStep { step: info });
        voice.start_step();
        let mut sink = HostSink { voice, host, is_structured: self.schema.is_some(), stream: self.stream };
        self.model.step(request, &mut sink).await
    }

    async fn fit(&self, request: &mut StepRequest, transcript: impl FnOnce() -> Transcript) -> usize {
        if !self.options.trim_history || self.model.context_size().is_none() {
            return 0;
        }
        let transcript = transcript();
        let first = context::first_visible_entry(
            self.model,
            &transcript,
            request,
            self.options.reserved_response_tokens,
        )
        .await;
        request.transcript = transcript.view_from(first);
        first
    }

    /// Turns the last step's content into the turn's answer, checked against the schema.
    fn answer(
        &self,
        content: StepContent,
        usage: Usage,
        voice: &mut Voice,
        host: &mut dyn TurnHost,
    ) -> Result<Answer, ModelError> {
        let Some(schema) = self.schema else {
            let text = match content {
                StepContent::Text(text) => text,
                StepContent::Structured(value) => json_text::compact(&value),
                StepContent::ToolCalls(_) => String::new(),
            };
            voice.settle(&text, host);
            return Ok(Answer { text, structured: None, usage });
        };
        let failed = |message: String| ModelError::new(ErrorCode::GenerationFailed, message);
        let value = match content {
            StepContent::Structured(value) => value,
            StepContent::Text(text) => serde_json::from_str(text.trim()).map_err(|_| {
                failed("The model answered in prose where the schema asks for JSON.".to_owned())
            })?,
            StepContent::ToolCalls(_) => return Err(failed("The model gave no answer.".to_owned())),
        };
        schema
            .validate(&value)
            .map_err(|reason| failed(format!("The model's answer does not fit the schema: {reason}")))?;
        let value = schema.reorder(value);
        Ok(Answer { text: json_text::compact(&value), structured: Some(value), usage })
    }

    fn prompt_entry(&self) -> Entry {
        Entry::new(EntryContent::Prompt(Prompt {
            segments: vec![Segment::text(self.prompt)],
            options: saved_options(&self.options.generation),
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

/// What the host has heard of the answer, and what the model has said of it in this step. The two differ after a
/// retry or a step whose text was not the answer; then the host is told to start over.
struct Voice {
    is_heard: bool,
    shown: String,
    said: String,
    /// The host must be told to start over, whatever the model says next.
    must_reset: bool,
}

impl Voice {
    fn new(is_heard: bool) -> Self {
        Self { is_heard, shown: String::new(), said: String::new(), must_reset: false }
    }

    fn start_attempt(&mut self) {
        self.must_reset = !self.shown.is_empty();
    }

    fn start_step(&mut self) {
        self.said.clear();
    }

    fn say(&mut self, delta: &str, host: &mut dyn TurnHost) {
        if self.is_heard && !delta.is_empty() {
            self.said.push_str(delta);
            self.show(host);
        }
    }

    fn rewrite(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard {
            text.clone_into(&mut self.said);
            self.show(host);
        }
    }

    /// Makes what the host has heard equal the final answer.
    fn settle(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard && (self.must_reset || self.shown != text) {
            text.clone_into(&mut self.said);
            self.show(host);
        }
    }

    fn show(&mut self, host: &mut dyn TurnHost) {
        let (delta, is_reset) = match self.said.strip_prefix(&*self.shown) {
            Some("") if !self.must_reset => return,
            Some(rest) if !self.must_reset => (rest.to_owned(), false),
            _ => (self.said.clone(), true),
        };
        self.must_reset = false;
        if is_reset {
            self.shown.clone_from(&self.said);
        } else {
            self.shown.push_str(&delta);
        }
        host.event(TurnEvent::Text(TextEvent { delta, text: self.said.as_str().into(), is_reset }));
    }
}

struct HostSink<'a> {
    voice: &'a mut Voice,
    host: &'a mut dyn TurnHost,
    is_structured: bool,
    stream: bool,
}

impl StepSink for HostSink<'_> {
    fn text(&mut self, delta: &str) {
        self.voice.say(delta, self.host);
    }

    fn reset(&mut self, text: &str) {
        self.voice.rewrite(text, self.host);
    }

    fn partial(&mut self, value: Value) {
        if self.is_structured && self.stream {
            self.host.event(TurnEvent::Partial { value });
        }
    }
}
