//! A model that plays a script: deterministic answers for engine development and tests (docs/PROTOCOL.md,
//! "Scripted model").
//!
//! A [`Script`] is read once and never changes; a [`ScriptedModel`] is one run through it. Each inference takes the
//! next step, whoever asks: turns, their retries, summaries. [`script`] holds the steps and [`parse`] reads them,
//! [`pieces`] cuts a text for streaming, [`template`] fills one in.

mod parse;
mod pieces;
mod script;
mod template;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use pieces::Pieces;
use script::{Action, ScriptedCall, Step, TEMPLATE_CHUNKS};
pub use script::{SCRIPT_LINE, Script, ScriptError};

use serde_json::Value;

use crate::{
    error::ModelError,
    json_text,
    model::{
        Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, Model, ModelToolCall, StepContent,
        StepOutcome, StepRequest, StepSink, Usage,
    },
    partial_json::PartialJson,
};

/// What a JSON answer costs, in tokens.
const JSON_TOKENS: u64 = 8;
/// What a tool call costs, in tokens.
const CALL_TOKENS: u64 = 4;
/// How many characters of a text make a token.
const CHARACTERS_PER_TOKEN: usize = 4;

/// One run through a [`Script`].
///
/// A step is taken when its inference starts, before its delay: an inference that is cancelled in the delay has used
/// its step. The model plays what is written, whatever the request's tool mode and schema ask for. It has no context
/// limit, so its conversations are never trimmed.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Script,
    next: AtomicUsize,
    availability: Availability,
}

impl ScriptedModel {
    /// A run from the script's first step. The model is always available.
    pub fn new(script: Script) -> Self {
        Self::with_availability(
            script,
            Availability {
                unavailable: None,
                context_size: DEFAULT_CONTEXT_SIZE,
                variant: None,
                supported_languages: Vec::new(),
            },
        )
    }

    /// A run from the step at `position`, counted from 0; from the fallback when there is no such step.
    pub fn starting_at(script: Script, position: usize) -> Self {
        Self { next: AtomicUsize::new(position), ..Self::new(script) }
    }

    /// How many steps have been taken: from there a run [goes on](Self::starting_at).
    pub fn position(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// A run that stands in for another model: it tells this availability and plays all the same.
    pub fn with_availability(script: Script, availability: Availability) -> Self {
        Self { script, next: AtomicUsize::new(0), availability }
    }
}

impl Model for ScriptedModel {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let Step { delay, action } = self.script.step(self.next.fetch_add(1, Ordering::Relaxed));
            if !delay.is_zero() {
                tokio::time::sleep(*delay).await;
            }
            play(action, &request, sink).await
        })
    }

    fn availability(&self) -> Availability {
        self.availability.clone()
    }

    fn context_size(&self) -> Option<u32> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            native_tools: true,
            guided_generation: false,
            token_count: false,
            // A script does not look at them.
            images: true,
        }
    }
}

async fn play(
    action: &Action,
    request: &StepRequest,
    sink: &mut dyn StepSink,
) -> Result<StepOutcome, ModelError> {
    let structured = request.schema.is_some();
    match action {
        Action::Text { text, chunks } => Ok(say(text.clone(), *chunks, structured, sink).await),
        Action::Template(template) => {
            let text = template::fill_in(template, &request.transcript)?;
            Ok(say(text, TEMPLATE_CHUNKS, structured, sink).await)
        }
        Action::Json(value) if structured => {
            sink.partial(value.clone());
            Ok(outcome(StepContent::Structured(value.clone()), JSON_TOKENS))
        }
        Action::Json(value) => {
            let text = json_text::compact(value);
            sink.text(&text);
            Ok(outcome(StepContent::Text(text), JSON_TOKENS))
        }
        Action::ToolCalls(calls) => {
            let tokens = CALL_TOKENS * calls.len() as u64;
            let calls = calls.iter().enumerate().map(|(index, call)| model_call(index, call)).collect();
            Ok(outcome(StepContent::ToolCalls(calls), tokens))
        }
        Action::Error { code, message } => Err(ModelError::new(*code, message.clone())),
    }
}

/// Answers with a text, piece by piece: as text, or as the growing value that the text is the JSON of.
async fn say(text: String, chunks: usize, structured: bool, sink: &mut dyn StepSink) -> StepOutcome {
    let mut tokens = 0;
    let mut json = PartialJson::default();
    let mut last = None;
    let mut hear = |value: Value, sink: &mut dyn StepSink| {
        if last.as_ref() != Some(&value) {
            sink.partial(value.clone());
            last = Some(value);
        }
    };
    for (piece, characters) in Pieces::new(&text, chunks) {
        // Many pieces must not keep the thread from everything else.
        tokio::task::coop::consume_budget().await;
        tokens += (characters / CHARACTERS_PER_TOKEN).max(1) as u64;
        if !structured {
            sink.text(piece);
        } else if let Some(value) = json.push(piece) {
            hear(value, sink);
        }
    }
    if let Some(value) = json.finish() {
        hear(value, sink);
    }
    outcome(StepContent::Text(text), tokens)
}

fn model_call(index: usize, ScriptedCall { id, name, arguments }: &ScriptedCall) -> ModelToolCall {
    let id = id.clone().unwrap_or_else(|| format!("scripted_call_{index}_{:08x}", fastrand::u32(..)));
    ModelToolCall { id, name: name.clone(), arguments: arguments.clone() }
}

fn outcome(content: StepContent, output_tokens: u64) -> StepOutcome {
    StepOutcome { content, usage: Usage { output_tokens, ..Usage::default() } }
}
