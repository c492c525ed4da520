//! Reading a transcript file. What `oam.pending` says is matched with the calls that the conversation ends with: the
//! conversation is what the model goes on from, so it has the last word.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use oam_agent::{
    CallId, RoundCall, ToolCall, ToolOutput, ToolRecord,
    transcript::{
        ToolCallEntry,
        json::{OpenTranscript, SavedTranscript},
    },
};
use serde_json::{Map, Value};

use super::{Conversation, TranscriptFile, WaitingTurn, write::VERSION};
use crate::{failure::Failure, files::InputPath};

type Object = Map<String, Value>;

impl TranscriptFile {
    /// Reads a file. The failure names it and what is wrong.
    pub(crate) fn read(path: &InputPath) -> Result<Self, Failure> {
        let value = path.read_json()?;
        Self::from_json(&value).map_err(|reason| Failure::invalid_input(format!("{path}: {reason}")))
    }

    /// Reads what a file holds. The error names the place.
    pub(super) fn from_json(value: &Value) -> Result<Self, String> {
        let oam = optional(value.as_object(), "oam", "", object)?;
        let version = optional(oam, "version", "oam.", number)?;
        if let Some(version) = version.filter(|version| *version != VERSION) {
            return Err(format!("is of version {version}, which this oam does not read"));
        }
        let pending = optional(oam, "pending", "oam.", object)?;
        let conversation = match SavedTranscript::from_json(value) {
            Ok(transcript) if pending.is_none() => Conversation::Idle(transcript),
            idle => match OpenTranscript::from_json(value) {
                Ok(transcript) => {
                    let schema = optional(oam, "schema", "oam.", any)?.cloned();
                    Conversation::Waiting(Box::new(waiting(transcript, pending, schema)?))
                }
                Err(reason) => return Err(idle.err().unwrap_or(reason)),
            },
        };
        let tools = optional(oam, "tools", "oam.", any)?.cloned();
        Ok(Self { conversation, tools })
    }
}

fn waiting(
    transcript: OpenTranscript,
    pending: Option<&Object>,
    schema: Option<Value>,
) -> Result<WaitingTurn, String> {
    let records = records(pending)?;
    let mut ids = HashSet::new();
    if let Some(call) = transcript.calls().iter().find(|call| !ids.insert(&call.id)) {
        return Err(format!("two calls that wait for an output have the id '{}'", call.id));
    }
    let completed = optional(pending, "completed", "oam.pending.", array)?.unwrap_or_default();
    let completed: HashMap<_, _> =
        completed.iter().filter_map(|call| Some((call.get("id")?.as_str()?, call))).collect();
    // The latest one: an id of an earlier turn may come again.
    let recorded: HashMap<_, _> = records.iter().map(|record| (record.call.id.as_str(), record)).collect();
    let mut round = Vec::with_capacity(transcript.calls().len());
    for call in transcript.calls() {
        round.push(match (completed.get(&*call.id), recorded.get(&*call.id)) {
            (None, _) => RoundCall::Pending(Arc::new(called(call))),
            (Some(_), Some(record)) => RoundCall::Completed(Arc::clone(record)),
            (Some(completed), None) => RoundCall::Completed(Arc::new(ToolRecord {
                call: Arc::new(called(call)),
                output: output(completed.as_object(), "oam.pending.completed[].")?,
                duration: Duration::ZERO,
            })),
        });
    }
    if round.iter().all(|call| call.pending().is_none()) {
        return Err("oam.pending: all calls are completed, so none waits for an output".to_owned());
    }
    let count = |name| {
        let count = optional(pending, name, "oam.pending.", number)?;
        Ok::<_, String>(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    };
    let calls = u32::try_from(round.len()).unwrap_or(u32::MAX);
    Ok(WaitingTurn {
        transcript,
        tool_calls: records,
        rounds_used: count("roundsUsed")?.unwrap_or(1),
        calls_used: count("callsUsed")?.unwrap_or(calls),
        round,
        schema,
    })
}

fn called(ToolCallEntry { id, name, arguments }: &ToolCallEntry) -> ToolCall {
    ToolCall { id: CallId::from_text(id), name: name.clone(), arguments: arguments.clone() }
}

fn records(pending: Option<&Object>) -> Result<Vec<Arc<ToolRecord>>, String> {
    let saved = optional(pending, "toolCalls", "oam.pending.", array)?.unwrap_or_default();
    saved
        .iter()
        .enumerate()
        .map(|(index, value)| record(value, &format!("oam.pending.toolCalls[{index}].")).map(Arc::new))
        .collect()
}

fn record(value: &Value, place: &str) -> Result<ToolRecord, String> {
    let record = value.as_object();
    let call = optional(record, "call", place, object)?;
    let call_place = format!("{place}call.");
    let text = |name| {
        let text = optional(call, name, &call_place, string)?;
        text.ok_or_else(|| format!("{call_place}{name} is missing"))
    };
    let seconds = optional(record, "durationSeconds", place, any)?.and_then(Value::as_f64).unwrap_or(0.0);
    Ok(ToolRecord {
        call: Arc::new(ToolCall {
            id: CallId::from_text(text("id")?),
            name: text("name")?.to_owned(),
            arguments: optional(call, "arguments", &call_place, object)?.cloned().unwrap_or_default(),
        }),
        output: output(record, place)?,
        duration: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
    })
}

/// The members `output` and `isError`.
fn output(object: Option<&Object>, place: &str) -> Result<ToolOutput, String> {
    let is_error = optional(object, "isError", place, boolean)?.unwrap_or(false);
    Ok(match object.and_then(|object| object.get("output")) {
        None => return Err(format!("{place}output is missing")),
        Some(Value::String(text)) if is_error => ToolOutput::Error(text.clone()),
        Some(Value::String(text)) => ToolOutput::Text(text.clone()),
        Some(_) if is_error => return Err(format!("{place}output must be text: it is an error")),
        Some(value) => ToolOutput::Json(value.clone()),
    })
}

/// A reader of one kind of value, with the name of the kind.
type Kind<'a, T> = (fn(&'a Value) -> Option<T>, &'static str);

fn optional<'a, T>(
    object: Option<&'a Object>,
    name: &str,
    place: &str,
    kind: fn() -> Kind<'a, T>,
) -> Result<Option<T>, String> {
    let Some(value) = object.and_then(|object| object.get(name)).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let (read, what) = kind();
    read(value).map(Some).ok_or_else(|| format!("{place}{name} must be {what}"))
}

fn any<'a>() -> Kind<'a, &'a Value> {
    (|value| Some(value), "anything")
}

fn object<'a>() -> Kind<'a, &'a Object> {
    (Value::as_object, "an object")
}

fn array<'a>() -> Kind<'a, &'a [Value]> {
    (|value| value.as_array().map(Vec::as_slice), "an array")
}

fn string<'a>() -> Kind<'a, &'a str> {
    (Value::as_str, "a text")
}

fn number<'a>() -> Kind<'a, u64> {
    (Value::as_u64, "a whole number")
}

fn boolean<'a>() -> Kind<'a, bool> {
    (Value::as_bool, "true or false")
}
