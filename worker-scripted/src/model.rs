//! What is said in a step: by a script, or without one.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use oam_agent::{
    ErrorCode, Model as _, ModelToolCall, SCRIPT_LINE, Script, ScriptedModel, StepContent, StepOutcome,
    StepSink, json_text,
};
use oam_ipc::{Generate, Outcome, TokenUsage, ToolCall};
use serde_json::Value;

use crate::{arguments::ScriptPosition, conversation, request};

/// What answers steps.
#[derive(Debug)]
pub(crate) struct Model {
    /// Without one, and without one in the instructions, a conversation is made up.
    script: Option<Script>,
    positions: Positions,
    /// Many models say something before they call a tool.
    say_before_calls: Option<String>,
}

/// A step that was played: the pieces to stream, if it is to be streamed, and its end.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) end: Result<(Outcome, TokenUsage), Failure>,
}

/// A piece of a streamed answer.
#[derive(Debug)]
pub(crate) enum Piece {
    Delta(String),
    Reset(String),
    Partial(Value),
}

/// A step that came to nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Model {
    pub(crate) fn new(
        script: Option<Script>,
        position: ScriptPosition,
        say_before_calls: Option<String>,
    ) -> Self {
        let positions = match position {
            ScriptPosition::Transcript => Positions::Told,
            ScriptPosition::Process => Positions::Counted(Mutex::default()),
        };
        Self { script, positions, say_before_calls }
    }

    /// Answering takes no time worth mentioning. What is made from a schema, or is read as a value again with each
    /// piece, may take some; a script of the request's own is not looked into.
    pub(crate) fn is_instant(&self, request: &Generate<'_>) -> bool {
        self.script.as_ref().is_some_and(Script::is_instant)
            && request.schema.is_none()
            && request.instructions.as_deref().and_then(script_line).is_none()
    }

    pub(crate) async fn play(&self, request: &Generate<'_>) -> Played {
        let script = match request.instructions.as_deref().and_then(script_in) {
            Some(Ok(script)) => Some(script),
            Some(Err(failure)) => return Played { pieces: Vec::new(), end: Err(failure) },
            None => self.script.clone(),
        };
        let mut played = match script {
            Some(script) => play_script(script, self.positions.next(request), request).await,
            None => converse(request),
        };
        if request.stream
            && let Some(text) = &self.say_before_calls
            && let Ok((Outcome::ToolCalls { .. }, _)) = played.end
        {
            played.pieces.push(Piece::Delta(text.clone()));
        }
        played
    }
}

/// Which step of a script comes next.
#[derive(Debug)]
enum Positions {
    /// Told by the transcript.
    Told,
    /// Counted here, for each cache key.
    Counted(Mutex<HashMap<Option<String>, usize>>),
}

impl Positions {
    fn next(&self, request: &Generate<'_>) -> usize {
        match self {
            Self::Told => request::inferences(request),
            Self::Counted(counts) => {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let count = counts.entry(request.cache_key.as_deref().map(str::to_owned)).or_default();
                *count += 1;
                *count - 1
            }
        }
    }
}

fn script_line(instructions: &str) -> Option<&str> {
    instructions.lines().find_map(|line| line.strip_prefix(SCRIPT_LINE))
}

fn script_in(instructions: &str) -> Option<Result<Script, Failure>> {
    let script = serde_json::from_str(script_line(instructions)?)
        .map_err(|error| error.to_string())
        .and_then(|value| Script::from_steps_or_object(&value, "").map_err(|error| error.message));
    Some(script.map_err(|reason| {
        Failure::new(
            ErrorCode::InvalidRequest,
            format!("The script in the instructions cannot be used: {reason}"),
        )
    }))
}

async fn play_script(script: Script, position: usize, request: &Generate<'_>) -> Played {
    let mut heard = Heard { is_streamed: request.stream, pieces: Vec::new() };
    let end = match request::for_script(request) {
        Ok(step) => ScriptedModel::starting_at(script, position)
            .step(step, &mut heard)
            .await
            .map(translate)
            .map_err(|error| Failure::new(error.code, error.message)),
        Err(error) => Err(Failure::new(ErrorCode::InvalidSchema, error.to_string())),
    };
    Played { pieces: heard.pieces, end }
}

#[derive(Debug)]
struct Heard {
    is_streamed: bool,
    pieces: Vec<Piece>,
}

impl Heard {
    fn keep(&mut self, piece: impl FnOnce() -> Piece) {
        if self.is_streamed {
            self.pieces.push(piece());
        }
    }
}

impl StepSink for Heard {
    fn text(&mut self, delta: &str) {
        self.keep(|| Piece::Delta(delta.to_owned()));
    }

    fn reset(&mut self, text: &str) {
        self.keep(|| Piece::Reset(text.to_owned()));
    }

    fn partial(&mut self, value: Value) {
        self.keep(|| Piece::Partial(value));
    }
}

fn translate(StepOutcome { content, usage }: StepOutcome) -> (Outcome, TokenUsage) {
    let call = |ModelToolCall { id, name, arguments }| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: Cow::Owned(arguments),
    };
    let outcome = match content {
        StepContent::Text(text) => Outcome::Text { text },
        StepContent::Structured(value) => Outcome::Structured { value },
        StepContent::ToolCalls(calls) => Outcome::ToolCalls { calls: calls.into_iter().map(call).collect() },
    };
    let usage = TokenUsage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        output_tokens: usage.output_tokens,
    };
    (outcome, usage)
}

/// Answers without a script, word by word.
fn converse(request: &Generate<'_>) -> Played {
    let outcome = conversation::outcome(request);
    let (pieces, said) = match &outcome {
        Outcome::Text { text } => {
            let words = text.split_inclusive(' ').map(|word| Piece::Delta(word.to_owned()));
            (words.collect(), text.len())
        }
        Outcome::Structured { value } => {
            (vec![Piece::Partial(value.clone())], json_text::compact(value).len())
        }
        Outcome::ToolCalls { .. } => (Vec::new(), 0),
    };
    let usage = TokenUsage {
        input_tokens: request::tokens(request).into(),
        cached_input_tokens: 0,
        output_tokens: request::tokens_of(said).into(),
    };
    let pieces = if request.stream { pieces } else { Vec::new() };
    Played { pieces, end: Ok((outcome, usage)) }
}
