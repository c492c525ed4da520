//! Writing: each kind of entry as the form spells it, straight into the serializer. Absent members are left out,
//! never `null`.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{ENVELOPE_TYPE, SavedSetup, SavedTranscript, VERSION};
use crate::{
    json_text,
    tool::ToolDefinition,
    transcript::{
        Entry, EntryContent, EntryId, Prompt, ResponseFormat, Segment, SegmentContent, ToolCallEntry,
    },
};

/// A part of the form: borrows what it writes.
struct Form<'a, T: ?Sized>(&'a T);

impl Serialize for SavedTranscript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            entries: Entries<'a>,
        }
        let mut envelope = serializer.serialize_map(Some(3))?;
        envelope.serialize_entry("type", ENVELOPE_TYPE)?;
        envelope.serialize_entry("version", VERSION)?;
        envelope.serialize_entry("transcript", &Body { entries: Entries(self) })?;
        envelope.end()
    }
}

struct Entries<'a>(&'a SavedTranscript);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Item<'a> {
            Setup(Form<'a, SavedSetup>),
            Entry(Form<'a, Entry>),
        }
        let setup = self.0.setup.iter().map(|setup| Item::Setup(Form(setup)));
        let entries = self.0.transcript.iter().map(|entry| Item::Entry(Form(entry)));
        serializer.collect_seq(setup.chain(entries))
    }
}

impl Serialize for Form<'_, SavedSetup> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SavedSetup { id, instructions, tools } = self.0;
        // The one segment has the entry's id, so that saving twice gives the same text.
        let segment = |text: &str| Segment { id: id.clone(), content: SegmentContent::Text(text.into()) };
        let segments: Vec<_> = instructions.as_deref().map(segment).into_iter().collect();
        let tools: Vec<_> = tools.iter().flatten().map(|tool| Form(&**tool)).collect();

        let mut entry = serializer.serialize_map(None)?;
        entry.serialize_entry("id", id)?;
        entry.serialize_entry("role", "instructions")?;
        entry.serialize_entry("contents", &Form(&*segments))?;
        if !tools.is_empty() {
            entry.serialize_entry("tools", &tools)?;
        }
        entry.end()
    }
}

impl Serialize for Form<'_, ToolDefinition> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let ToolDefinition { name, description, parameters } = self.0;
        let function = Function { name: name.as_str(), description, parameters: parameters.json() };
        Tool { r#type: "function", function }.serialize(serializer)
    }
}

impl Serialize for Form<'_, Entry> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry { id, content } = self.0;
        if let EntryContent::Opaque(object) = content {
            return object.serialize(serializer);
        }
        let mut entry = serializer.serialize_map(None)?;
        entry.serialize_entry("id", id)?;
        match content {
            EntryContent::Prompt(prompt) => write_prompt(&mut entry, prompt)?,
            EntryContent::ToolCalls(calls) => {
                entry.serialize_entry("role", "response")?;
                entry.serialize_entry("toolCalls", &Form(&**calls))?;
            }
            EntryContent::ToolOutput(output) => {
                entry.serialize_entry("role", "tool")?;
                entry.serialize_entry("toolCallID", id)?;
                entry.serialize_entry("toolName", &output.tool_name)?;
                entry.serialize_entry("contents", &Form(&*output.segments))?;
            }
            EntryContent::Response(response) => {
                entry.serialize_entry("role", "response")?;
                entry.serialize_entry("contents", &Form(&*response.segments))?;
                optional(&mut entry, "assets", response.assets.as_ref())?;
                optional(&mut entry, "metadata", response.metadata.as_ref())?;
            }
            EntryContent::Opaque(_) => unreachable!("written as it was"),
        }
        entry.end()
    }
}

fn write_prompt<M: SerializeMap>(entry: &mut M, prompt: &Prompt) -> Result<(), M::Error> {
    entry.serialize_entry("role", "user")?;
    entry.serialize_entry("contents", &Form(&*prompt.segments))?;
    entry.serialize_entry("options", &prompt.options)?;
    optional(entry, "contextOptions", prompt.context_options.as_ref())?;
    optional(entry, "responseFormat", prompt.response_format.as_ref().map(Form).as_ref())?;
    optional(entry, "metadata", prompt.metadata.as_ref())
}

fn optional<M: SerializeMap, T: Serialize>(
    map: &mut M,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

impl Serialize for Form<'_, ResponseFormat> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Format<'a> {
            r#type: &'static str,
            json_schema: JsonSchema<'a>,
        }
        #[derive(Serialize)]
        struct JsonSchema<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            description: Option<&'a str>,
            schema: &'a Value,
        }
        let ResponseFormat { name, description, schema } = self.0;
        let json_schema = JsonSchema { name, description: description.as_deref(), schema };
        Format { r#type: "jsonSchema", json_schema }.serialize(serializer)
    }
}

impl Serialize for Form<'_, [ToolCallEntry]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Call<'a> {
            id: &'a str,
            name: &'a str,
            arguments: String,
        }
        serializer.collect_seq(self.0.iter().map(|ToolCallEntry { id, name, arguments }| Call {
            id,
            name,
            arguments: json_text::compact(arguments),
        }))
    }
}

impl Serialize for Form<'_, [Segment]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Item<'a> {
            Text { id: &'a EntryId, r#type: &'static str, text: &'a str },
            Structure { id: &'a EntryId, r#type: &'static str, structure: Structure<'a> },
            Attachment(&'a Map<String, Value>),
        }
        #[derive(Serialize)]
        struct Structure<'a> {
            source: &'a str,
            content: &'a Value,
        }
        serializer.collect_seq(self.0.iter().map(|Segment { id, content }| match content {
            SegmentContent::Text(text) => Item::Text { id, r#type: "text", text },
            SegmentContent::Structure { source, content } => {
                Item::Structure { id, r#type: "structure", structure: Structure { source, content } }
            }
            SegmentContent::Attachment(object) => Item::Attachment(object),
        }))
    }
}
