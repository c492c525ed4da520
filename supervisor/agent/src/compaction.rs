//! Compaction: the older part of a conversation becomes a summary in the context note.

use std::{fmt::Write as _, sync::Arc};

use serde_json::Value;

use crate::{
    conversation::SharedConversation,
    error::{AgentError, ErrorCode, ModelError},
    json_text,
    model::{GenerationOptions, Model, StepContent, StepRequest, StepSink, ToolMode},
    transcript::{Entry, EntryContent, Segment, SegmentContent, Transcript},
};

const SUMMARY_INSTRUCTIONS: &str = "You keep the running summary of a conversation for the character who took part \
in it. Fold the new lines into the summary so far. Keep names, promises, facts, items, decisions and the tone \
between the speakers; leave out small talk. Answer with at most 120 words of plain prose and nothing else.";

/// What to summarize and how.
#[derive(Debug, Clone)]
pub struct Compaction {
    /// How many of the latest turns stay as they are; 0 summarizes everything.
    pub keep_recent_turns: usize,
    /// What the summarizing model is told; `None` takes the built-in instructions.
    pub summary_instructions: Option<String>,
    /// What the summarizing model reads before the lines of each side.
    pub speakers: Speakers,
    /// Who keeps the summary.
    pub keeper: SummaryKeeper,
}

/// What the two sides of a conversation are called.
#[derive(Debug, Clone)]
pub struct Speakers {
    /// The side that asks.
    pub user: String,
    /// The side that answers.
    pub assistant: String,
}

impl Default for Speakers {
    fn default() -> Self {
        Self { user: "User".to_owned(), assistant: "Assistant".to_owned() }
    }
}

/// Who keeps a conversation's summary.
#[derive(Debug, Clone, Default)]
pub enum SummaryKeeper {
    /// The agent, as its context note.
    #[default]
    ContextNote,
    /// The host, which gets the new summary and sets the context note itself. A note that is set while the host
    /// commits the summary is in force once the compaction is kept.
    Host {
        /// The summary that the host has so far.
        so_far: Option<String>,
    },
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            keep_recent_turns: 2,
            summary_instructions: None,
            speakers: Speakers::default(),
            keeper: SummaryKeeper::default(),
        }
    }
}

pub(crate) async fn run(
    model: &dyn Model,
    cache_key: u64,
    shared: &SharedConversation,
    compaction: &Compaction,
    commit: impl FnOnce(FinishedCompaction<'_>) -> Result<(), AgentError>,
) -> Result<Option<String>, AgentError> {
    let (transcript, note) = {
        let conversation = shared.lock();
        (conversation.transcript().clone(), conversation.settings.context_note.clone())
    };
    let so_far = match &compaction.keeper {
        SummaryKeeper::ContextNote => note.as_deref(),
        SummaryKeeper::Host { so_far } => so_far.as_deref(),
    };
    let Some(cut) = cut_point(&transcript, compaction.keep_recent_turns) else { return Ok(None) };
    let mut question = Transcript::default();
    question.push(Entry::prompt(summary_prompt(&transcript[..cut], so_far, &compaction.speakers)));
    drop(transcript);
    let request = StepRequest {
        instructions: Some(compaction.summary_instructions.as_deref().unwrap_or(SUMMARY_INSTRUCTIONS).into()),
        transcript: question.view_from(0),
        tools: Vec::new(),
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: false,
        // The summary shares no prefix with the conversation's own steps.
        cache_key: !cache_key,
    };
    let summary = match model.step(request, &mut Silence).await?.content {
        StepContent::Text(text) => text,
        StepContent::Structured(value) => json_text::compact(&value),
        StepContent::ToolCalls(_) => {
            let message = "The model called tools instead of summarizing.";
            return Err(ModelError::new(ErrorCode::GenerationFailed, message).into());
        }
    };
    commit(FinishedCompaction { shared, cut, summary: &summary, keeper: &compaction.keeper })?;
    Ok(Some(summary))
}

/// A summary, and the conversation that is about to lose what it sums up. Dropped, it changes nothing.
#[must_use = "nothing is compacted before it is kept"]
#[derive(Debug)]
pub struct FinishedCompaction<'a> {
    shared: &'a SharedConversation,
    cut: usize,
    /// The summary.
    pub summary: &'a str,
    keeper: &'a SummaryKeeper,
}

impl FinishedCompaction<'_> {
    /// Drops what was summarized. Locks the agent's settings for a moment.
    pub fn keep(self) {
        let mut conversation = self.shared.lock();
        conversation.transcript_mut().drop_front(self.cut);
        if let SummaryKeeper::ContextNote = self.keeper {
            conversation.settings.context_note = Some(self.summary.into());
        }
        conversation.apply_settings();
    }
}

/// Where the kept turns begin, or `None` when there is nothing before them.
fn cut_point(transcript: &Transcript, keep_recent_turns: usize) -> Option<usize> {
    let prompts = transcript.prompts();
    if prompts.len() <= keep_recent_turns {
        return None;
    }
    let first_kept = prompts.len() - keep_recent_turns;
    Some(prompts.get(first_kept).copied().unwrap_or(transcript.len()))
}

fn summary_prompt(entries: &[Arc<Entry>], summary_so_far: Option<&str>, speakers: &Speakers) -> String {
    let Speakers { user, assistant } = speakers;
    let mut prompt = String::new();
    if let Some(summary) = summary_so_far {
        let _ = write!(prompt, "Summary so far:\n{summary}\n\n");
    }
    prompt.push_str("Conversation to fold into the summary:");
    for entry in entries {
        match &entry.content {
            EntryContent::Prompt(asked) => {
                let _ = write!(prompt, "\n{user}: {}", plain_text(&asked.segments));
            }
            EntryContent::ToolCalls(calls) => {
                for call in calls {
                    let arguments = json_text::compact(&call.arguments);
                    let _ = write!(prompt, "\n[{assistant} used {} {arguments}]", call.name);
                }
            }
            EntryContent::ToolOutput(output) => {
                let text = plain_text(&output.segments);
                let _ = write!(prompt, "\n[{} result: {text}]", output.tool_name);
            }
            EntryContent::Response(response) => {
                let _ = write!(prompt, "\n{assistant}: {}", plain_text(&response.segments));
            }
            EntryContent::Opaque(_) => {}
        }
    }
    prompt
}

fn plain_text(segments: &[Segment]) -> String {
    let parts: Vec<_> = segments
        .iter()
        .map(|segment| match &segment.content {
            SegmentContent::Text(text) => text.clone(),
            SegmentContent::Structure { content, .. } => json_text::compact(content),
            SegmentContent::Attachment(_) => "(an attachment)".to_owned(),
        })
        .collect();
    parts.join(" ")
}

/// A sink for steps of which only the outcome counts.
struct Silence;

impl StepSink for Silence {
    fn text(&mut self, _: &str) {}
    fn reset(&mut self, _: &str) {}
    fn partial(&mut self, _: Value) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{EntryId, ToolCallEntry};
    use expect_test::expect;
    use serde_json::json;

    fn two_turns() -> Transcript {
        let mut transcript = Transcript::default();
        transcript.push(Entry::prompt("Is the gate open?"));
        let arguments = json!({"gate": "north"}).as_object().cloned().unwrap_or_default();
        let call = ToolCallEntry { id: "c".into(), name: "look".into(), arguments };
        transcript.push(Entry { id: EntryId::random(), content: EntryContent::ToolCalls(vec![call]) });
        transcript.push(Entry::tool_output("c", "look", "shut"));
        transcript.push(Entry::response(Segment::text("It is shut.")));
        transcript.push(Entry::prompt("Decide."));
        transcript.push(Entry::response(Segment::structure("Decision", json!({"choice": "wait"}))));
        transcript
    }

    #[test]
    fn the_cut_is_where_the_kept_turns_begin() {
        let transcript = two_turns();
        let cuts: Vec<_> = (0..4).map(|keep| cut_point(&transcript, keep)).collect();
        assert_eq!(cuts, [Some(6), Some(4), None, None]);
        assert_eq!(cut_point(&Transcript::default(), 0), None);
    }

    #[test]
    fn the_model_reads_speakers_calls_and_outputs() {
        expect![[r#"
            Summary so far:
            They met.

            Conversation to fold into the summary:
            User: Is the gate open?
            [Assistant used look {"gate":"north"}]
            [look result: shut]
            Assistant: It is shut.
            User: Decide.
            Assistant: {"choice":"wait"}"#]]
        .assert_eq(&summary_prompt(&two_turns(), Some("They met."), &Speakers::default()));
    }
}
