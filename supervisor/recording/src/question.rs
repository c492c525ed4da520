//! What a step asks: for people to read, and to be recognized by.

use std::sync::Arc;

use oam_agent::{
    SCRIPT_LINE, StepRequest, ToolMode, json_text,
    transcript::{Entry, EntryContent, Segment, SegmentContent},
};

use crate::fingerprint::{Digest, Fingerprint};

/// What a step is recognized by. The conversation before the turn is not part of it: it came from questions that were
/// recognized themselves, and one that has changed should spoil its own turn only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StepKey {
    /// The prompt and what the turn did since.
    pub(crate) turn: Fingerprint,
    pub(crate) instructions: Option<Fingerprint>,
    /// The tools that the model sees, and whether it may or must call them.
    pub(crate) tools: Option<Fingerprint>,
    pub(crate) schema: Option<Fingerprint>,
}

/// What people read of a step's question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) news: News,
}

/// What a step tells the model that the one before it did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// The prompt of a new turn.
    Prompt(String),
    /// What the tools returned, in the order of the calls.
    Outputs(Vec<String>),
}

impl StepKey {
    pub(crate) fn of(request: &StepRequest) -> Self {
        let mut turn = Digest::new("turn").and(&request.transcript.last_prompt_text());
        add_entries(&mut turn, request.transcript.current_turn());
        Self {
            turn: turn.finish(),
            instructions: instructions(request).map(|text| Digest::new("instructions").and(&text).finish()),
            tools: tools(request),
            schema: schema(request),
        }
    }

    /// How many parts are equal.
    pub(crate) fn likeness(&self, other: &Self) -> usize {
        [
            self.turn == other.turn,
            self.instructions == other.instructions,
            self.tools == other.tools,
            self.schema == other.schema,
        ]
        .into_iter()
        .filter(|is_equal| *is_equal)
        .count()
    }
}

/// Identifies all that a count of tokens depends on.
pub(crate) fn whole(request: &StepRequest) -> Fingerprint {
    let mut digest = Digest::new("whole").and(instructions(request).as_deref().unwrap_or_default());
    for part in [tools(request), schema(request)] {
        digest.add(&part.map(|part| part.to_string()).unwrap_or_default());
    }
    add_entries(&mut digest, &request.transcript);
    digest.finish()
}

impl Question {
    pub(crate) fn of(request: &StepRequest) -> Self {
        let outputs: Vec<String> = request
            .transcript
            .current_turn()
            .iter()
            .rev()
            // A prompt within a turn is the empty one that goes on after outputs.
            .skip_while(|entry| matches!(entry.content, EntryContent::Prompt(_)))
            .map_while(|entry| match &entry.content {
                EntryContent::ToolOutput(output) => Some(text_of(&output.segments)),
                _ => None,
            })
            .collect();
        let news = if outputs.is_empty() {
            News::Prompt(request.transcript.last_prompt_text())
        } else {
            News::Outputs(outputs.into_iter().rev().collect())
        };
        Self { instructions: instructions(request), news }
    }
}

/// What the model is told, without scripts for workers that play one. `None` when nothing is left.
fn instructions(request: &StepRequest) -> Option<Arc<str>> {
    let text = request.instructions.as_ref()?;
    let is_script = |line: &&str| line.starts_with(SCRIPT_LINE);
    if !text.lines().any(|line| is_script(&line)) {
        return Some(Arc::clone(text));
    }
    let told: Vec<_> = text.lines().filter(|line| !is_script(line)).collect();
    let told = told.join("\n");
    let told = told.trim_matches('\n');
    (!told.is_empty()).then(|| told.into())
}

fn tools(request: &StepRequest) -> Option<Fingerprint> {
    if request.tools.is_empty() && request.tool_mode == ToolMode::Disallowed {
        return None;
    }
    let mut digest = Digest::new("tools").and(request.tool_mode.as_str());
    for tool in &request.tools {
        digest.add(tool.name.as_str());
        digest.add(&tool.description);
        digest.add(&json_text::compact(tool.parameters.json()));
    }
    Some(digest.finish())
}

fn schema(request: &StepRequest) -> Option<Fingerprint> {
    let schema = request.schema.as_ref()?;
    Some(Digest::new("schema").and(&json_text::compact(schema.json())).finish())
}

/// Adds what entries say. Their ids are left out: those are new in each run.
fn add_entries(digest: &mut Digest, entries: &[Arc<Entry>]) {
    for entry in entries {
        match &entry.content {
            EntryContent::Prompt(prompt) => {
                digest.add("prompt");
                digest.add(&text_of(&prompt.segments));
            }
            EntryContent::ToolCalls(calls) => {
                for call in calls {
                    digest.add("call");
                    digest.add(&call.name);
                    digest.add(&json_text::compact(&call.arguments));
                }
            }
            EntryContent::ToolOutput(output) => {
                digest.add("output");
                digest.add(&output.tool_name);
                digest.add(&text_of(&output.segments));
            }
            EntryContent::Response(response) => {
                digest.add("response");
                digest.add(&text_of(&response.segments));
            }
            EntryContent::Opaque(_) => digest.add("opaque"),
        }
    }
}

fn text_of(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        match &segment.content {
            SegmentContent::Text(part) => text.push_str(part),
            SegmentContent::Structure { content, .. } => text.push_str(&json_text::compact(content)),
            SegmentContent::Attachment(_) => text.push_str("(attachment)"),
        }
    }
    text
}

/// What tells the conversations of a model apart: a summary belongs to the conversation it is made of.
pub(crate) fn conversation(request: &StepRequest) -> u64 {
    request.cache_key.min(!request.cache_key)
}
