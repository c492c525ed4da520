//! The form of a recording in its file (docs/RECORDING.md), as serde reads and writes it.
//!
//! A step says only what is new: instructions and parts of the key that are as in the step before are left out.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use oam_agent::{ErrorCode, ModelToolCall, StepContent, StepOutcome, Usage, json_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    facts::ModelFacts,
    fingerprint::Fingerprint,
    question::{News, Question, StepKey},
    step::{End, Failure, Piece, RecordedStep},
};

/// The version of the form.
pub(crate) const VERSION: u32 = 1;

/// How deep a value may nest that is kept whole. Readers of files stop at 100 levels, and the file around a value has
/// eight.
const DEEPEST: usize = 80;

#[derive(Debug, Deserialize)]
pub(crate) struct RecordingForm {
    pub(crate) model: Option<ModelFacts>,
    #[serde(default)]
    pub(crate) counts: BTreeMap<Fingerprint, u32>,
    #[serde(default)]
    pub(crate) sessions: Vec<SessionForm>,
    #[serde(default)]
    pub(crate) npcs: Vec<NpcForm>,
    #[serde(default)]
    pub(crate) requests: Vec<RequestForm>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionForm {
    pub(crate) session: String,
    pub(crate) steps: Vec<StepForm>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NpcForm {
    pub(crate) npc: String,
    pub(crate) steps: Vec<StepForm>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RequestForm {
    pub(crate) request: String,
    pub(crate) steps: Vec<StepForm>,
}

/// A recorded step.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<QuestionForm>,
    key: KeyForm,
    #[serde(default, rename = "delayMs", skip_serializing_if = "is_zero")]
    delay_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    said: Vec<PieceForm>,
    #[serde(flatten)]
    end: EndForm,
}

#[derive(Debug, Serialize, Deserialize)]
struct QuestionForm {
    #[serde(default, skip_serializing_if = "Change::is_none")]
    instructions: Change<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeyForm {
    turn: Fingerprint,
    #[serde(default, skip_serializing_if = "Change::is_none")]
    instructions: Change<Fingerprint>,
    #[serde(default, skip_serializing_if = "Change::is_none")]
    tools: Change<Fingerprint>,
    #[serde(default, skip_serializing_if = "Change::is_none")]
    schema: Change<Fingerprint>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum PieceForm {
    Text(String),
    Reset { reset: String },
    Partial { partial: Value },
}

/// Exactly one of the first five members is there.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EndForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    json: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<CallForm>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished: Option<bool>,

    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<f64>,
    #[serde(skip_serializing_if = "is_false")]
    is_final: bool,
    #[serde(skip_serializing_if = "Map::is_empty")]
    data: Map<String, Value>,

    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageForm>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CallForm {
    id: String,
    name: String,
    arguments: Map<String, Value>,
}

#[expect(clippy::struct_field_names, reason = "the names that the protocol has")]
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageForm {
    #[serde(skip_serializing_if = "is_zero")]
    input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cached_input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    output_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A member of a step that may have changed since the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Change<T> {
    /// It is as before; not written.
    #[default]
    None,
    /// It is this now, or not there any more; then it is `null`.
    To(Option<T>),
}

impl<T> Change<T> {
    fn between(before: Option<&T>, now: Option<T>) -> Self
    where
        T: PartialEq,
    {
        if before == now.as_ref() { Self::None } else { Self::To(now) }
    }

    fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::None => before,
            Self::To(now) => now,
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::To(now) => now.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::To)
    }
}

/// Reads a member that is there, also as `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What a step leaves unsaid because the one before it has said so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    instructions: Option<Arc<str>>,
    key: Option<StepKey>,
}

impl Before {
    /// Of instructions, tools and schema.
    fn key_parts(&self) -> [Option<Fingerprint>; 3] {
        self.key.map_or([None; 3], |key| [key.instructions, key.tools, key.schema])
    }

    pub(crate) fn step(&mut self, step: &RecordedStep) {
        self.key = Some(step.key);
        if let Some(question) = &step.question {
            self.instructions.clone_from(&question.instructions);
        }
    }
}

/// A step as a line of the file.
pub(crate) fn line(step: &RecordedStep, before: &Before) -> String {
    json_text::compact(&StepForm::new(step, before))
}

impl StepForm {
    fn new(step: &RecordedStep, before: &Before) -> Self {
        let asked = step.question.as_ref().map(|question| {
            let (prompt, outputs) = match &question.news {
                News::Prompt(text) => (Some(text.clone()), None),
                News::Outputs(texts) => (None, Some(texts.clone())),
            };
            let instructions = Change::between(before.instructions.as_ref(), question.instructions.clone());
            QuestionForm { instructions, prompt, outputs }
        });
        let StepKey { turn, instructions, tools, schema } = step.key;
        let [instructions_before, tools_before, schema_before] = before.key_parts();
        let key = KeyForm {
            turn,
            instructions: Change::between(instructions_before.as_ref(), instructions),
            tools: Change::between(tools_before.as_ref(), tools),
            schema: Change::between(schema_before.as_ref(), schema),
        };
        let said = step.said.iter().map(|piece| match piece {
            Piece::Text(text) => PieceForm::Text(text.clone()),
            Piece::Reset(text) => PieceForm::Reset { reset: text.clone() },
            Piece::Partial(value) => PieceForm::Partial { partial: pruned(value) },
        });
        let delay_ms = u64::try_from(step.delay.as_millis()).unwrap_or(u64::MAX);
        Self { asked, key, delay_ms, said: said.collect(), end: EndForm::new(&step.end) }
    }

    /// The step that this says. The error is what is wrong with it.
    pub(crate) fn read(self, before: &Before) -> Result<RecordedStep, String> {
        let question = self.asked.map(|asked| {
            let news = match (asked.outputs, asked.prompt) {
                (Some(outputs), _) => News::Outputs(outputs),
                (None, prompt) => News::Prompt(prompt.unwrap_or_default()),
            };
            let instructions = asked.instructions.apply(before.instructions.clone());
            Question { instructions, news }
        });
        let [instructions_before, tools_before, schema_before] = before.key_parts();
        let key = StepKey {
            turn: self.key.turn,
            instructions: self.key.instructions.apply(instructions_before),
            tools: self.key.tools.apply(tools_before),
            schema: self.key.schema.apply(schema_before),
        };
        let said = self.said.into_iter().map(|piece| match piece {
            PieceForm::Text(text) => Piece::Text(text),
            PieceForm::Reset { reset } => Piece::Reset(reset),
            PieceForm::Partial { partial } => Piece::Partial(partial),
        });
        let delay = Duration::from_millis(self.delay_ms);
        Ok(RecordedStep { question, key, delay, said: said.collect(), end: self.end.read()? })
    }
}

impl EndForm {
    fn new(end: &End) -> Self {
        match end {
            End::Answered(StepOutcome { content, usage }) => {
                let usage = (*usage != Usage::default()).then_some(UsageForm {
                    input_tokens: usage.input_tokens,
                    cached_input_tokens: usage.cached_input_tokens,
                    output_tokens: usage.output_tokens,
                });
                let rest = Self { usage, ..Self::default() };
                match content {
                    StepContent::Text(text) => Self { text: Some(text.clone()), ..rest },
                    StepContent::Structured(value) => Self { json: Some(pruned(value)), ..rest },
                    StepContent::ToolCalls(calls) => {
                        let call = |call: &ModelToolCall| CallForm {
                            id: call.id.clone(),
                            name: call.name.clone(),
                            arguments: pruned_members(&call.arguments),
                        };
                        Self { tool_calls: Some(calls.iter().map(call).collect()), ..rest }
                    }
                }
            }
            End::Failed(failure) => Self {
                error: Some(failure.code.as_str().to_owned()),
                message: Some(failure.message.clone()),
                retry_after_seconds: failure.retry_after.map(|wait| wait.as_secs_f64()),
                is_final: failure.is_final,
                data: pruned_members(&failure.data),
                ..Self::default()
            },
            End::Unfinished => Self { unfinished: Some(true), ..Self::default() },
        }
    }

    fn read(self) -> Result<End, String> {
        let Self { text, json, tool_calls, error, unfinished, usage, .. } = self;
        let usage = usage.unwrap_or_default();
        let answered = |content| {
            let usage = Usage {
                input_tokens: usage.input_tokens,
                cached_input_tokens: usage.cached_input_tokens,
                output_tokens: usage.output_tokens,
            };
            Ok(End::Answered(StepOutcome { content, usage }))
        };
        match (text, json, tool_calls, error, unfinished) {
            (Some(text), None, None, None, None) => answered(StepContent::Text(text)),
            (None, Some(value), None, None, None) => answered(StepContent::Structured(value)),
            (None, None, Some(calls), None, None) => {
                let call = |CallForm { id, name, arguments }| ModelToolCall { id, name, arguments };
                answered(StepContent::ToolCalls(calls.into_iter().map(call).collect()))
            }
            (None, None, None, Some(name), None) => {
                let code = ErrorCode::from_name(&name).ok_or_else(|| {
                    let names = ErrorCode::ALL.map(ErrorCode::as_str).join(", ");
                    format!("'error' must be one of {names}; got {}", json_text::abridged(&name))
                })?;
                let wait = |seconds| {
                    Duration::try_from_secs_f64(seconds)
                        .map_err(|_| "'retryAfterSeconds' must be a number of seconds, at least 0".to_owned())
                };
                Ok(End::Failed(Failure {
                    code,
                    message: self.message.unwrap_or_else(|| format!("Recorded {code}.")),
                    retry_after: self.retry_after_seconds.map(wait).transpose()?,
                    is_final: self.is_final,
                    data: self.data,
                }))
            }
            (None, None, None, None, Some(true)) => Ok(End::Unfinished),
            _ => Err("must have one of 'text', 'json', 'toolCalls', 'error', 'unfinished' (true)".to_owned()),
        }
    }
}

/// The value without what nests too deep to be read again. What remains still nests deeper than any answer may.
fn pruned(value: &Value) -> Value {
    if !json_text::nests_deeper(value, DEEPEST) {
        return value.clone();
    }
    tracing::warn!(
        "a value of the model nests deeper than {DEEPEST} levels; the rest of it is recorded as null"
    );
    pruned_to(value, DEEPEST)
}

fn pruned_to(value: &Value, depth: usize) -> Value {
    match (value, depth.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => Value::Null,
        (Value::Array(items), Some(depth)) => items.iter().map(|item| pruned_to(item, depth)).collect(),
        (Value::Object(members), Some(depth)) => Value::Object(
            members.iter().map(|(name, value)| (name.clone(), pruned_to(value, depth))).collect(),
        ),
        (simple, _) => simple.clone(),
    }
}

fn pruned_members(members: &Map<String, Value>) -> Map<String, Value> {
    members.iter().map(|(name, value)| (name.clone(), pruned(value))).collect()
}
