//! One entry of a transcript and its parts.

use std::{fmt::Write, path::Path};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Identifies an entry or a segment: a random UUID, or whatever text a restored transcript had. Ids are equal when
/// their texts are.
#[derive(Debug, Clone)]
pub enum EntryId {
    /// Made here.
    Random(Uuid),
    /// Kept from a restored transcript, or the model's id of a tool call.
    Given(Box<str>),
}

impl EntryId {
    /// A new random id.
    pub fn random() -> Self {
        Self::Random(uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid())
    }

    /// The id with this text. One that was made here is kept as compactly as when it was new.
    pub fn from_text(text: &str) -> Self {
        let id = Uuid::try_parse(text).map(Self::Random);
        id.ok()
            .filter(|id| id.with_text(|canonical| canonical == text))
            .unwrap_or_else(|| Self::Given(text.into()))
    }

    fn with_text<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        match self {
            Self::Random(uuid) => read(uuid.hyphenated().encode_upper(&mut Uuid::encode_buffer())),
            Self::Given(text) => read(text),
        }
    }
}

impl PartialEq for EntryId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Random(one), Self::Random(other)) => one == other,
            _ => self.with_text(|one| other.with_text(|other| one == other)),
        }
    }
}

impl Eq for EntryId {}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl std::fmt::Display for EntryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

/// One entry: an id and what it records.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The entry's id; of a tool output, the id of its call.
    pub id: EntryId,
    /// What the entry records.
    pub content: EntryContent,
}

/// What an entry records.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryContent {
    /// What was asked: the start of a turn.
    Prompt(Prompt),
    /// The tool calls of one step.
    ToolCalls(Vec<ToolCallEntry>),
    /// What one call returned.
    ToolOutput(ToolOutputEntry),
    /// The answer: the end of a turn.
    Response(Response),
    /// A kind that is kept as it was but not looked into (a model's reasoning).
    Opaque(Map<String, Value>),
}

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The parts of the prompt.
    pub segments: Vec<Segment>,
    /// Generation options saved with the prompt, in the saved form.
    pub options: Map<String, Value>,
    /// Context options saved with the prompt, in the saved form.
    pub context_options: Option<Map<String, Value>>,
    /// The form asked for, if the answer was to be structured.
    pub response_format: Option<ResponseFormat>,
    /// Whatever else was saved with the prompt.
    pub metadata: Option<Value>,
}

/// The form that a prompt asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseFormat {
    /// The schema's name.
    pub name: String,
    /// What the schema is for.
    pub description: Option<String>,
    /// The generation schema.
    pub schema: Value,
}

/// A tool call as the transcript keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallEntry {
    /// The model's id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as an object.
    pub arguments: Map<String, Value>,
}

/// What a call returned, as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutputEntry {
    /// The tool's name.
    pub tool_name: String,
    /// The output; errors begin with `Error: `.
    pub segments: Vec<Segment>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The parts of the answer.
    pub segments: Vec<Segment>,
    /// Names of the model assets that made it, if saved.
    pub assets: Option<Value>,
    /// Whatever else was saved with the answer.
    pub metadata: Option<Value>,
}

/// A part of a prompt, an output or an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The segment's id.
    pub id: EntryId,
    /// What it holds.
    pub content: SegmentContent,
}

/// What a segment holds.
#[derive(Debug, Clone, PartialEq)]
pub enum SegmentContent {
    /// Plain text.
    Text(String),
    /// A structured value and the name of its schema.
    Structure {
        /// The schema's name.
        source: String,
        /// The value.
        content: Value,
    },
    /// An attachment (an image), kept as it was saved: the whole segment object.
    Attachment(Map<String, Value>),
}

impl Segment {
    /// A text segment with a new id.
    pub fn text(text: impl Into<String>) -> Self {
        Self { id: EntryId::random(), content: SegmentContent::Text(text.into()) }
    }

    /// A segment that shows the image in the file at this absolute path.
    pub fn image(path: &Path) -> Self {
        let id = EntryId::random();
        let mut object = Map::new();
        object.insert("type".into(), "image".into());
        object.insert("id".into(), id.to_string().into());
        object.insert("url".into(), file_url(path).into());
        Self { id, content: SegmentContent::Attachment(object) }
    }

    /// A structured segment with a new id.
    pub fn structure(source: impl Into<String>, content: Value) -> Self {
        Self { id: EntryId::random(), content: SegmentContent::Structure { source: source.into(), content } }
    }
}

/// The `file:` URL of an absolute path (RFC 8089).
fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            url.push(char::from(*byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// The text of segments: texts as they are, structures as compact JSON, attachments left out.
pub(crate) fn joined_text(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        match &segment.content {
            SegmentContent::Text(part) => text.push_str(part),
            SegmentContent::Structure { content, .. } => text.push_str(&crate::json_text::compact(content)),
            SegmentContent::Attachment(_) => {}
        }
    }
    text
}

impl Entry {
    /// An entry with a new id.
    pub fn new(content: EntryContent) -> Self {
        Self { id: EntryId::random(), content }
    }

    /// A prompt of one text.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::new(EntryContent::Prompt(Prompt {
            segments: vec![Segment::text(text)],
            options: Map::new(),
            context_options: None,
            response_format: None,
            metadata: None,
        }))
    }

    /// An answer of one segment.
    pub fn response(segment: Segment) -> Self {
        Self::new(EntryContent::Response(Response { segments: vec![segment], assets: None, metadata: None }))
    }

    /// A call's output as the model sees it. Its id is the id of the call.
    pub fn tool_output(call_id: &str, tool_name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: EntryId::Given(call_id.into()),
            content: EntryContent::ToolOutput(ToolOutputEntry {
                tool_name: tool_name.into(),
                segments: vec![Segment::text(text)],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_an_image_is_escaped() {
        let Segment { id, content } = Segment::image(Path::new("/maps/Höhle 7%.png"));
        let SegmentContent::Attachment(object) = content else { panic!("an image is an attachment") };
        let expected =
            serde_json::json!({"type": "image", "id": id, "url": "file:///maps/H%C3%B6hle%207%25.png"});
        assert_eq!(Value::Object(object), expected);
    }
}
