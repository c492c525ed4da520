//! One completion: a turn of an agent that lives as long as the turn.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, CallIds, ErrorCode, NoHost, Tool, ToolPolicy, TurnEnd,
    TurnOptions, Usage,
};
use tokio::sync::mpsc;

use super::{
    answer::Answer,
    catalog::Catalog,
    completed::{Call, Completed, Output, TokenUsage},
    config::ServedModel,
    history::History,
    json_answer,
    listener::Listener,
};
use crate::{
    api_error::ApiError,
    request::{AnswerFormat, CompletionRequest, Dialect},
};

/// How many characters are taken for a token where nobody counts.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// Where the pieces of an answer go, in a streamed completion.
pub(super) type Pieces = mpsc::UnboundedSender<String>;

/// Generates the completion. With `pieces`, all text of the answer goes there as soon as it is certain. Dropping the future
/// cancels it.
pub(super) async fn generate(
    request: Box<CompletionRequest>,
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
    } = *request;
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
        // Twice the size of all else here, where each connection keeps room for it.
        Box::pin(listener.run(&agent, &history.prompt, &options)).await
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
pub(super) enum End {
    /// With an answer. Its usage, and that of its last step; none when it was cut by us.
    Text {
        text: String,
        usage: Option<(Usage, Usage)>,
    },
    ToolCalls(Vec<Call>),
}

pub(super) enum Failure {
    Agent(AgentError),
    Other(ApiError),
}

impl End {
    pub(super) fn of(end: TurnEnd) -> Self {
        match end {
            TurnEnd::Completed(response) => {
                Self::Text { text: response.text, usage: Some((response.usage, response.answer_usage)) }
            }
            TurnEnd::Suspended(turn) => Self::ToolCalls(turn.pending().map(|call| Call::of(call)).collect()),
        }
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
