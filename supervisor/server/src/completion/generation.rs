//! One completion: a turn of an agent that lives as long as the turn.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, CallId, CallIds, ErrorCode, NoHost, Tool, ToolCall,
    ToolOutput, ToolPolicy, TurnClient, TurnEnd, TurnEvent, TurnHost, TurnOptions, Usage, json_text,
};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, Restarted},
    catalog::Catalog,
    config::ServedModel,
    history::History,
    json_answer,
};
use crate::{
    api_error::ApiError,
    request::{AnswerFormat, CompletionRequest, Dialect},
};

/// How many characters are taken for a token where nobody counts.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// What a completion comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Completed {
    pub(crate) output: Output,
    pub(crate) usage: TokenUsage,
}

/// What the model gave.
#[derive(Debug, PartialEq)]
pub(crate) enum Output {
    /// An answer.
    Text { text: String, is_cut: bool },
    /// Calls that the client is to execute; at least one.
    ToolCalls(Vec<Call>),
    /// Why it will not answer.
    Refusal(String),
}

/// A call that the client is to execute.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// The JSON text of an object.
    pub(crate) arguments: String,
}

/// Why an answer ends where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

/// Tokens that a completion used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenUsage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    /// Those of the prompt that the model had cached.
    pub(crate) cached: u64,
}

impl Output {
    pub(crate) fn finish(&self) -> Finish {
        match self {
            Self::Text { is_cut: true, .. } => Finish::Length,
            Self::Text { .. } | Self::Refusal(_) => Finish::Stop,
            Self::ToolCalls(_) => Finish::ToolCalls,
        }
    }
}

impl TokenUsage {
    pub(crate) fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, cached_input_tokens, output_tokens } = usage;
        Self { prompt: input_tokens, completion: output_tokens, cached: cached_input_tokens }
    }
}

/// Where the pieces of an answer go, in a streamed completion.
pub(super) type Pieces = mpsc::UnboundedSender<String>;

/// Generates the completion. With `pieces`, all text of the answer goes there as soon as it is certain. Dropping the future
/// cancels it.
pub(super) async fn generate(
    request: CompletionRequest,
    catalog: &Catalog,
    served: &ServedModel,
    pieces: Option<Pieces>,
) -> Result<Completed, ApiError> {
    let CompletionRequest {
        dialect,
        model: _,
        conversation,
        tools,
        tool_use,
        parallel_tool_calls,
        format,
        generation,
        stop,
        trim_history,
    } = request;
    let instructions = instructions(
        catalog.config.instructions.as_deref(),
        conversation.instructions.as_deref(),
        (format == AnswerFormat::JsonObject).then_some(json_answer::INSTRUCTION),
    );
    let history = History::of(conversation.history, conversation.prompt).await?;
    let prompt_characters = characters(instructions.as_deref().unwrap_or_default()) + history.characters;
    let server_tools = catalog.config.tools.iter().cloned();
    let is_wanted =
        |tool: &Tool| tool_use.only.as_ref().is_none_or(|only| only.contains(tool.name().as_str()));
    let longest = generation.max_response_tokens;
    let setup = AgentSetup {
        instructions: instructions.map(Into::into),
        tools: tools.into_iter().chain(server_tools).filter(is_wanted).collect(),
        history: history.transcript,
        options: AgentOptions {
            policy: ToolPolicy { choice: tool_use.choice, ..ToolPolicy::default() },
            generation,
            trim_history,
            max_attempts: catalog.config.limits.retries.saturating_add(1),
            call_ids: CallIds::OfConversation,
            ..AgentOptions::default()
        },
        ..AgentSetup::default()
    };
    let agent = Agent::new(Arc::clone(&served.model), setup)
        .map_err(|error| ApiError::of_turn(&error, dialect.conversation()))?;
    let is_text = format == AnswerFormat::Text;
    let options = TurnOptions {
        schema: match &format {
            AnswerFormat::Schema(schema) => Some(Arc::clone(schema)),
            AnswerFormat::Text | AnswerFormat::JsonObject => None,
        },
        stream: is_text && (pieces.is_some() || !stop.is_empty()),
        images: history.images,
        ..TurnOptions::default()
    };
    let end = if options.stream {
        let listener = Listener::new(Answer::new(&stop, pieces.is_some()), pieces);
        listener.run(&agent, &history.prompt, &options).await
    } else {
        let end = agent.respond_or_suspend(&history.prompt, &options, &mut NoHost).await;
        end.map_err(Failure::Agent).map(End::of).and_then(|end| in_format(end, &format, pieces.as_ref()))
    };
    Outcome { dialect, prompt_characters, longest, parallel_tool_calls }.completed(end)
}

/// What it takes to tell how a turn ended.
struct Outcome {
    dialect: Dialect,
    prompt_characters: u64,
    /// The longest answer that was asked for, in tokens.
    longest: Option<u32>,
    parallel_tool_calls: bool,
}

impl Outcome {
    fn completed(&self, end: Result<End, Failure>) -> Result<Completed, ApiError> {
        let (output, usage) = match end {
            Ok(End::Text { text, usage: Some((usage, of_answer)) }) => {
                let is_cut = self.longest.is_some_and(|longest| of_answer.output_tokens >= longest.into());
                (Output::Text { text, is_cut }, usage.into())
            }
            Ok(End::Text { text, usage: None }) => {
                let usage = self.estimate(&text);
                (Output::Text { text, is_cut: false }, usage)
            }
            Ok(End::ToolCalls(mut calls)) => {
                if !self.parallel_tool_calls {
                    calls.truncate(1);
                }
                let text: String = calls.iter().flat_map(|call| [&*call.name, &*call.arguments]).collect();
                (Output::ToolCalls(calls), self.estimate(&text))
            }
            Err(Failure::Agent(error)) if error.code() == ErrorCode::Refusal => {
                let refusal = error.to_string();
                let usage = self.estimate(&refusal);
                (Output::Refusal(refusal), usage)
            }
            Err(Failure::Agent(error)) => {
                return Err(ApiError::of_turn(&error, self.dialect.conversation()));
            }
            Err(Failure::Other(error)) => return Err(error),
        };
        Ok(Completed { output, usage })
    }

    /// The usage where the model has not told it.
    fn estimate(&self, completion: &str) -> TokenUsage {
        TokenUsage {
            prompt: self.prompt_characters.div_ceil(CHARACTERS_PER_TOKEN),
            completion: characters(completion).div_ceil(CHARACTERS_PER_TOKEN),
            cached: 0,
        }
    }
}

/// Those there are, with a blank line between them.
fn instructions(servers: Option<&str>, clients: Option<&str>, formats: Option<&str>) -> Option<String> {
    let all: Vec<_> =
        [servers, clients, formats].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

pub(super) fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}

/// How a turn ended.
enum End {
    /// With an answer. Its usage, and that of its last step; none when it was cut by us.
    Text {
        text: String,
        usage: Option<(Usage, Usage)>,
    },
    ToolCalls(Vec<Call>),
}

enum Failure {
    Agent(AgentError),
    Other(ApiError),
}

impl End {
    fn of(end: TurnEnd) -> Self {
        match end {
            TurnEnd::Completed(response) => {
                Self::Text { text: response.text, usage: Some((response.usage, response.answer_usage)) }
            }
            TurnEnd::Suspended(turn) => Self::ToolCalls(turn.pending().map(|call| Call::of(call)).collect()),
        }
    }
}

impl Call {
    fn of(call: &ToolCall) -> Self {
        // The conversation knows it by the model's own id; the client gets one that it can use for ever.
        Self { id: CallId::random(), name: call.name.clone(), arguments: json_text::compact(&call.arguments) }
    }
}

/// An answer that is JSON, which goes out in one piece.
fn in_format(end: End, format: &AnswerFormat, pieces: Option<&Pieces>) -> Result<End, Failure> {
    let End::Text { mut text, usage } = end else { return Ok(end) };
    if *format == AnswerFormat::JsonObject {
        let object = json_answer::object_in(&text);
        text = object.ok_or_else(|| Failure::Other(ApiError::invalid_json_output()))?.to_owned();
    }
    if let Some(pieces) = pieces {
        // Nobody listens any more when the completion is about to be cancelled.
        let _ = pieces.send(text.clone());
    }
    Ok(End::Text { text, usage })
}

/// Hears an answer in prose grow, and ends the turn when no more of it is wanted.
struct Listener {
    answer: Answer,
    pieces: Option<Pieces>,
    /// What was sent does not hold any more.
    is_restarted: bool,
    /// Cancelled when no more is wanted.
    enough: CancellationToken,
}

impl Listener {
    fn new(answer: Answer, pieces: Option<Pieces>) -> Self {
        Self { answer, pieces, is_restarted: false, enough: CancellationToken::new() }
    }

    async fn run(mut self, agent: &Agent, prompt: &str, options: &TurnOptions) -> Result<End, Failure> {
        let enough = self.enough.clone();
        let turn = agent.respond_or_suspend(prompt, options, &mut self);
        let end = enough.run_until_cancelled(turn).await;
        let rest = match &end {
            _ if self.is_restarted || self.answer.is_stopped() => Ok(String::new()),
            Some(Ok(TurnEnd::Completed(response))) => self.answer.finish(&response.text),
            Some(Ok(TurnEnd::Suspended(_))) => self.answer.end_step(),
            Some(Err(_)) | None => Ok(String::new()),
        };
        self.send(rest);
        if self.is_restarted {
            return Err(Failure::Other(ApiError::generation_restarted()));
        }
        if self.answer.is_stopped() {
            return Ok(End::Text { text: self.answer.step_text().to_owned(), usage: None });
        }
        end.unwrap_or(Err(AgentError::Cancelled)).map(End::of).map_err(Failure::Agent)
    }

    fn send(&mut self, text: Result<String, Restarted>) {
        match text {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                if let Some(pieces) = &self.pieces {
                    // Nobody listens any more when the completion is about to be cancelled.
                    let _ = pieces.send(text);
                }
            }
            Err(Restarted) => self.is_restarted = true,
        }
        if self.is_restarted || self.answer.is_stopped() {
            self.enough.cancel();
        }
    }
}

impl TurnClient for Listener {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        NoHost.call_client(call)
    }

    fn step_interrupted(&mut self, why: &str) {
        tracing::debug!("a step was interrupted and played again: {why}");
    }
}

impl TurnHost for Listener {
    fn event(&mut self, event: TurnEvent) {
        if self.is_restarted {
            return;
        }
        let text = match event {
            TurnEvent::ModelStep { step } => self.answer.begin_step(step.index),
            TurnEvent::Text(event) => self.answer.hear(&event),
            _ => return,
        };
        self.send(text);
    }
}
