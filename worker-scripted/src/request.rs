//! What a request says of the conversation, and the same request as the scripted model takes it.

use std::sync::Arc;

use oam_agent::{
    GenerationOptions, StepRequest, json_text,
    schema::{GenerationSchema, SchemaError},
    transcript::{self, EntryContent, EntryId, Prompt, Response, ToolCallEntry, ToolOutputEntry, Transcript},
};
use oam_ipc::{Entry, Generate, Segment, ToolMode};
use serde_json::Map;

/// The text of the last prompt; nothing when there is none.
pub(crate) fn last_prompt(request: &Generate<'_>) -> String {
    let prompt = request.transcript.iter().rev().find_map(|entry| match entry {
        Entry::Prompt { segments } => Some(text_of(segments)),
        _ => None,
    });
    prompt.unwrap_or_default()
}

/// The texts as they are, values as JSON.
pub(crate) fn text_of(segments: &[Segment]) -> String {
    let text = |segment: &Segment| match segment {
        Segment::Text { text } => text.to_string(),
        Segment::Structure { content, .. } => json_text::compact(content),
        Segment::Attachment { .. } | Segment::Unknown => String::new(),
    };
    segments.iter().map(text).collect()
}

/// How many inferences the conversation is made of.
pub(crate) fn inferences(request: &Generate<'_>) -> usize {
    let is_inference = |entry: &&Entry| matches!(entry, Entry::Response { .. } | Entry::ToolCalls { .. });
    request.transcript.iter().filter(is_inference).count()
}

/// An estimate of what instructions and conversation cost.
pub(crate) fn tokens(request: &Generate<'_>) -> u32 {
    let text = |entry: &Entry| match entry {
        Entry::Prompt { segments } | Entry::Response { segments } | Entry::ToolOutput { segments, .. } => {
            text_of(segments).len()
        }
        Entry::ToolCalls { .. } | Entry::Opaque { .. } | Entry::Unknown => 0,
    };
    let instructions = request.instructions.as_deref().map_or(0, str::len);
    tokens_of(instructions + request.transcript.iter().map(text).sum::<usize>())
}

/// An estimate of the tokens that so many bytes of text are.
pub(crate) fn tokens_of(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX)
}

/// The request with all that a script looks at: the conversation, and whether the answer is structured.
pub(crate) fn for_script(request: &Generate<'_>) -> Result<StepRequest, SchemaError> {
    let schema =
        request.schema.as_ref().map(|schema| GenerationSchema::from_generation_schema(schema, "Response"));
    Ok(StepRequest {
        instructions: request.instructions.as_deref().map(Arc::from),
        transcript: Transcript::new(request.transcript.iter().filter_map(entry).map(Arc::new).collect())
            .view_from(0),
        tools: Vec::new(),
        tool_mode: match request.tool_mode {
            ToolMode::Allowed => oam_agent::ToolMode::Allowed,
            ToolMode::Required => oam_agent::ToolMode::Required,
            ToolMode::Disallowed => oam_agent::ToolMode::Disallowed,
        },
        schema: schema.transpose()?.map(Arc::new),
        options: GenerationOptions::default(),
        stream: request.stream,
        cache_key: 0,
    })
}

fn entry(entry: &Entry) -> Option<transcript::Entry> {
    let content = match entry {
        Entry::Prompt { segments } => EntryContent::Prompt(Prompt {
            segments: self::segments(segments),
            options: Map::new(),
            context_options: None,
            response_format: None,
            metadata: None,
        }),
        Entry::ToolCalls { calls } => EntryContent::ToolCalls(
            calls
                .iter()
                .map(|call| ToolCallEntry {
                    id: call.id.to_string(),
                    name: call.name.to_string(),
                    arguments: call.arguments.clone().into_owned(),
                })
                .collect(),
        ),
        Entry::ToolOutput { call_id, tool_name, segments } => {
            let output =
                ToolOutputEntry { tool_name: tool_name.to_string(), segments: self::segments(segments) };
            let id = EntryId::Given((**call_id).into());
            return Some(transcript::Entry { id, content: EntryContent::ToolOutput(output) });
        }
        Entry::Response { segments } => EntryContent::Response(Response {
            segments: self::segments(segments),
            assets: None,
            metadata: None,
        }),
        Entry::Opaque { entry } => EntryContent::Opaque(entry.clone().into_owned()),
        Entry::Unknown => return None,
    };
    Some(transcript::Entry::new(content))
}

fn segments(segments: &[Segment]) -> Vec<transcript::Segment> {
    let segment = |segment: &Segment| match segment {
        Segment::Text { text } => Some(transcript::Segment::text(&**text)),
        Segment::Structure { source, content } => {
            Some(transcript::Segment::structure(&**source, content.clone().into_owned()))
        }
        // A script does not look at them.
        Segment::Attachment { .. } | Segment::Unknown => None,
    };
    segments.iter().filter_map(segment).collect()
}
