//! Reading: the envelope, then each entry by its role, while keeping account of calls that still lack an output.
//!
//! Games keep these files for years and other tools write them too, so reading forgives what has one sensible
//! meaning (a missing entry id, `null` for absent, arguments as an object) and names the place of anything else.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value, json};

use super::{ENVELOPE_TYPE, OpenTranscript, SavedSetup, SavedTranscript, UnreadableTool, VERSION};
use crate::{
    json_text,
    schema::GenerationSchema,
    tool::{RESPOND_DIRECTLY, ToolDefinition, ToolName, arguments_type_name},
    transcript::{
        Entry, EntryContent, EntryId, Prompt, Response, ResponseFormat, Segment, SegmentContent,
        ToolCallEntry, ToolOutputEntry, Transcript, joined_text,
    },
};

type Object = Map<String, Value>;
type Result<T> = std::result::Result<T, Problem>;

/// What is wrong, and where. The place grows from the inside out while the error travels up.
#[derive(Debug)]
pub(super) struct Problem {
    place: String,
    text: String,
}

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self { place: String::new(), text: text.into() }
    }

    fn at(mut self, outer: impl fmt::Display) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{outer}{dot}{}", self.place);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.place, self.text)
    }
}

pub(super) fn saved_transcript(value: &Value) -> Result<SavedTranscript> {
    let (setup, Reader { entries, calls }) = entries(value)?;
    calls.expect_none()?;
    Ok(SavedTranscript { setup, transcript: Transcript::new(entries) })
}

pub(super) fn open_transcript(value: &Value) -> Result<OpenTranscript> {
    let (setup, Reader { mut entries, calls }) = entries(value)?;
    let last = entries.pop().map(Arc::unwrap_or_clone);
    let Some(Entry { id, content: EntryContent::ToolCalls(last_calls) }) = last else {
        calls.expect_none()?;
        return Err(Problem::new("the conversation does not end with tool calls"));
    };
    // All of them are open. If more are, an earlier one is: those before come first.
    if calls.open > last_calls.len() {
        calls.expect_none()?;
    }
    let before = SavedTranscript { setup, transcript: Transcript::new(entries) };
    Ok(OpenTranscript::new(before, id, last_calls))
}

fn entries(value: &Value) -> Result<(Option<SavedSetup>, Reader)> {
    let envelope = envelope(value)?;
    match envelope.get("version") {
        Some(Value::String(version)) if version == VERSION || version == "1" => {}
        Some(Value::Number(version)) if version.as_f64() == Some(1.0) => {}
        version => {
            let found = version.map_or("none".into(), shown);
            return Err(Problem::new(format!("must be \"{VERSION}\" or 1; found {found}")).at("version"));
        }
    }
    let body = required(envelope, "transcript", object)?;
    let saved = required(body, "entries", array).map_err(|problem| problem.at("transcript"))?;

    let mut reader = Reader { entries: Vec::with_capacity(saved.len()), calls: OpenCalls::default() };
    let mut setup = None;
    for (index, entry) in saved.iter().enumerate() {
        let place = format_args!("entries[{index}]");
        let entry = object(entry).map_err(|problem| problem.at(place))?;
        let role = required(entry, "role", string).map_err(|problem| problem.at(place))?;
        if role != "instructions" {
            reader.entry(index, role, entry).map_err(|problem| problem.at(place))?;
        } else if index == 0 {
            setup = Some(read_setup(entry).map_err(|problem| problem.at(place))?);
        }
    }
    Ok((setup, reader))
}

/// The envelope: the value itself, or its `transcript` member.
fn envelope(value: &Value) -> Result<&Object> {
    let is_envelope = |value: &&Value| value.get("type").is_some_and(|text| text == ENVELOPE_TYPE);
    [Some(value), value.get("transcript")]
        .into_iter()
        .flatten()
        .find(is_envelope)
        .and_then(Value::as_object)
        .ok_or_else(|| {
            Problem::new(format!("not a transcript: expected an object with \"type\": \"{ENVELOPE_TYPE}\""))
        })
}

/// The entries so far.
struct Reader {
    entries: Vec<Arc<Entry>>,
    calls: OpenCalls,
}

impl Reader {
    fn entry(&mut self, index: usize, role: &str, entry: &Object) -> Result<()> {
        let (id, content) = match role {
            "user" => {
                self.calls.expect_none()?;
                (entry_id(entry)?, EntryContent::Prompt(prompt(entry)?))
            }
            "response" if member(entry, "toolCalls").is_some() => {
                let calls = tool_calls(entry)?;
                if calls.is_empty() {
                    return Ok(());
                }
                self.calls.open(index, &calls);
                (entry_id(entry)?, EntryContent::ToolCalls(calls))
            }
            "response" => {
                self.calls.expect_none()?;
                (entry_id(entry)?, EntryContent::Response(response(entry)?))
            }
            "tool" => {
                let tool_name = required(entry, "toolName", string)?;
                if tool_name == RESPOND_DIRECTLY {
                    return Ok(());
                }
                let call = match optional(entry, "toolCallID", string)? {
                    Some(call) => call,
                    None => required(entry, "id", string)?,
                };
                self.calls.close(call)?;
                let output = ToolOutputEntry { tool_name: tool_name.into(), segments: contents(entry)? };
                (EntryId::Given(call.into()), EntryContent::ToolOutput(output))
            }
            "reasoning" => (entry_id(entry)?, EntryContent::Opaque(entry.clone())),
            _ => return Err(Problem::new(format!("unknown role {}", shown(&role.into())))),
        };
        self.entries.push(Arc::new(Entry { id, content }));
        Ok(())
    }
}

/// The calls that still lack an output. Ids may repeat, within a round and across rounds.
#[derive(Default)]
struct OpenCalls {
    /// How many open calls have this id.
    counts: HashMap<String, usize>,
    /// The calls since there was last none open, with the index of their entry.
    calls: Vec<(usize, String)>,
    open: usize,
}

impl OpenCalls {
    fn open(&mut self, entry: usize, calls: &[ToolCallEntry]) {
        for ToolCallEntry { id, .. } in calls {
            *self.counts.entry(id.clone()).or_default() += 1;
            self.calls.push((entry, id.clone()));
            self.open += 1;
        }
    }

    fn close(&mut self, id: &str) -> Result<()> {
        let count =
            self.counts.get_mut(id).filter(|count| **count > 0).ok_or_else(|| {
                Problem::new(format!("no call {} waits for this output", shown(&id.into())))
            })?;
        *count -= 1;
        self.open -= 1;
        if self.open == 0 {
            self.counts.clear();
            self.calls.clear();
        }
        Ok(())
    }

    /// A model cannot go on from a call without its output.
    fn expect_none(&self) -> Result<()> {
        match self.calls.iter().find(|(_, id)| self.counts.get(id).is_some_and(|count| *count > 0)) {
            None => Ok(()),
            Some((entry, id)) => Err(Problem::new(format!(
                "the toolCalls entry at entries[{entry}] has no output for call {}",
                shown(&id.as_str().into())
            ))),
        }
    }
}

fn read_setup(entry: &Object) -> Result<SavedSetup> {
    let text = joined_text(&contents(entry)?);
    let mut names = HashSet::new();
    let tools = optional(entry, "tools", array)?
        .into_iter()
        .flatten()
        .map(tool)
        .filter(|tool| match tool {
            Ok(tool) => tool.name.as_str() != RESPOND_DIRECTLY && names.insert(tool.name.as_str().to_owned()),
            Err(tool) => tool.name.is_empty() || names.insert(tool.name.clone()),
        })
        .collect();
    Ok(SavedSetup { id: entry_id(entry)?, instructions: (!text.is_empty()).then(|| text.into()), tools })
}

fn tool(value: &Value) -> std::result::Result<Arc<ToolDefinition>, UnreadableTool> {
    let function = value.get("function");
    let member = |key| function.and_then(|function| function.get(key)).filter(|value| !value.is_null());
    let name = member("name").and_then(Value::as_str).unwrap_or_default();
    let unreadable = |reason: String| UnreadableTool { name: name.into(), reason };

    let tool_name = ToolName::new(name).ok_or_else(|| {
        unreadable(format!("a tool's name is 1-{} of A-Z a-z 0-9 _ - .", ToolName::MAX_LEN))
    })?;
    let description = match member("description") {
        None => "",
        Some(text) => text.as_str().ok_or_else(|| unreadable("its description is not a string".into()))?,
    };
    let no_arguments = json!({"type": "object", "properties": {}});
    let parameters = member("parameters").unwrap_or(&no_arguments);
    let parameters = GenerationSchema::from_generation_schema(parameters, &arguments_type_name(name))
        .map_err(|error| unreadable(error.to_string()))?;
    if !parameters.is_object() {
        return Err(unreadable("its parameters are not an object".into()));
    }
    Ok(Arc::new(ToolDefinition {
        name: tool_name,
        description: description.into(),
        parameters: Arc::new(parameters),
    }))
}

fn prompt(entry: &Object) -> Result<Prompt> {
    let response_format = match optional(entry, "responseFormat", object)? {
        None => None,
        Some(format) => Some(response_format(format).map_err(|problem| problem.at("responseFormat"))?),
    };
    Ok(Prompt {
        segments: contents(entry)?,
        options: optional(entry, "options", object)?.cloned().unwrap_or_default(),
        context_options: optional(entry, "contextOptions", object)?.cloned(),
        response_format,
        metadata: member(entry, "metadata").cloned(),
    })
}

fn response_format(format: &Object) -> Result<ResponseFormat> {
    let kind = required(format, "type", string)?;
    if kind != "jsonSchema" {
        return Err(Problem::new(format!("unknown response format {}", shown(&kind.into()))));
    }
    let schema = required(format, "jsonSchema", object)?;
    let read = || {
        Ok(ResponseFormat {
            name: required(schema, "name", string)?.into(),
            description: optional(schema, "description", string)?.map(Into::into),
            schema: required(schema, "schema", object)?.clone().into(),
        })
    };
    read().map_err(|problem: Problem| problem.at("jsonSchema"))
}

/// The calls of an entry, without those of the built-in tool that no client knows of.
fn tool_calls(entry: &Object) -> Result<Vec<ToolCallEntry>> {
    if optional(entry, "contents", array)?.is_some_and(|contents| !contents.is_empty()) {
        return Err(Problem::new("has both 'contents' and 'toolCalls'"));
    }
    let mut calls = Vec::new();
    for (index, call) in required(entry, "toolCalls", array)?.iter().enumerate() {
        let call = object(call)
            .and_then(tool_call)
            .map_err(|problem| problem.at(format_args!("toolCalls[{index}]")))?;
        calls.extend((call.name != RESPOND_DIRECTLY).then_some(call));
    }
    Ok(calls)
}

fn tool_call(call: &Object) -> Result<ToolCallEntry> {
    let arguments = match member(call, "arguments") {
        None => Some(Object::new()),
        Some(Value::Object(arguments)) => Some(arguments.clone()),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(_) => None,
    };
    Ok(ToolCallEntry {
        id: required(call, "id", string)?.into(),
        name: required(call, "name", string)?.into(),
        arguments: arguments
            .ok_or_else(|| Problem::new("must be the JSON text of an object").at("arguments"))?,
    })
}

fn response(entry: &Object) -> Result<Response> {
    Ok(Response {
        segments: contents(entry)?,
        assets: member(entry, "assets").cloned(),
        metadata: member(entry, "metadata").cloned(),
    })
}

fn contents(entry: &Object) -> Result<Vec<Segment>> {
    required(entry, "contents", array)?
        .iter()
        .enumerate()
        .map(|(index, value)| {
            object(value).and_then(segment).map_err(|problem| problem.at(format_args!("contents[{index}]")))
        })
        .collect()
}

fn segment(segment: &Object) -> Result<Segment> {
    let content = match required(segment, "type", string)? {
        "text" => SegmentContent::Text(required(segment, "text", string)?.into()),
        "structure" => {
            let structure = required(segment, "structure", object)?;
            let source = required(structure, "source", string).map_err(|problem| problem.at("structure"))?;
            // `null` is a value here.
            let content = structure.get("content").ok_or_else(|| missing("content").at("structure"))?;
            SegmentContent::Structure { source: source.into(), content: content.clone() }
        }
        "attachment" | "image" => SegmentContent::Attachment(segment.clone()),
        other => return Err(Problem::new(format!("unknown segment type {}", shown(&other.into())))),
    };
    Ok(Segment { id: entry_id(segment)?, content })
}

fn entry_id(object: &Object) -> Result<EntryId> {
    Ok(optional(object, "id", string)?.map_or_else(EntryId::random, EntryId::from_text))
}

fn member<'a>(object: &'a Object, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

fn optional<'a, T: ?Sized>(
    object: &'a Object,
    key: &str,
    read: fn(&'a Value) -> Result<&'a T>,
) -> Result<Option<&'a T>> {
    member(object, key).map(|value| read(value).map_err(|problem| problem.at(key))).transpose()
}

fn required<'a, T: ?Sized>(
    object: &'a Object,
    key: &str,
    read: fn(&'a Value) -> Result<&'a T>,
) -> Result<&'a T> {
    optional(object, key, read)?.ok_or_else(|| missing(key))
}

fn missing(key: &str) -> Problem {
    Problem::new(format!("has no '{key}'"))
}

fn object(value: &Value) -> Result<&Object> {
    value.as_object().ok_or_else(|| Problem::new("must be an object"))
}

fn array(value: &Value) -> Result<&[Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| Problem::new("must be an array"))
}

fn string(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| Problem::new("must be a string"))
}

/// A value as an error shows it: its JSON text, cut where it gets long.
fn shown(value: &Value) -> String {
    json_text::abridged(value)
}
