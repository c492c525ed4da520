//! Fitting a conversation into the model's context: how many of the oldest turns a step must not see.
//!
//! An estimate from text lengths settles the common case without asking the model to count. Only whole turns
//! are hidden, oldest first, and never the turn in progress; the stored transcript keeps everything. The work is
//! bounded by the context's size, not by the length of the conversation.

use std::sync::Arc;

use crate::{
    json_text,
    model::{Model, StepRequest},
    transcript::{Entry, EntryContent, Segment, SegmentContent, Transcript},
};

const CHARS_PER_TOKEN: usize = 3;
/// Below this share of the budget the estimate is trusted without counting.
const TRUSTED_SHARE: (usize, usize) = (3, 5);
/// Entries estimated beyond this many budgets cannot fit, however the model counts.
const HOPELESS_BUDGETS: usize = 4;
const ATTACHMENT_TOKENS: usize = 1000;

/// The first entry that the step may see, 0 when nothing has to be hidden. `request` must hold the whole
/// transcript.
pub(crate) async fn first_visible_entry(
    model: &dyn Model,
    transcript: &Transcript,
    request: &StepRequest,
    reserved_response_tokens: u32,
) -> usize {
    let Some(context_size) = model.context_size() else { return 0 };
    let budget = context_size.saturating_sub(reserved_response_tokens) as usize;
    let fixed = fixed_tokens(request);
    let window = Window::measure(transcript, fixed, budget);
    if window.is_whole && window.tokens * TRUSTED_SHARE.1 <= budget * TRUSTED_SHARE.0 {
        return 0;
    }
    let mut candidates = window.cut_points;
    if window.is_whole {
        candidates.insert(0, Cut { entry: 0, tokens: window.tokens });
    }
    let Some(last) = candidates.last().map(|cut| cut.entry) else { return 0 };
    // Counts fall from cut to cut, so the oldest cut that fits can be searched for by halves. A model that has not
    // counted once is not asked again: it may take long to say so.
    let mut counts = true;
    let (mut low, mut high) = (0, candidates.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let cut = candidates[middle];
        let counted = if counts { count_from(model, transcript, request, cut).await } else { None };
        counts &= counted.is_some();
        if counted.unwrap_or(cut.tokens) <= budget {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    candidates.get(low).map_or(last, |cut| cut.entry)
}

/// A place where the conversation may be cut: the start of a turn, and the estimate of what would remain.
#[derive(Debug, Clone, Copy)]
struct Cut {
    entry: usize,
    tokens: usize,
}

/// The newest part of a conversation that could fit at all.
struct Window {
    /// Starts of turns in it, oldest first; the very first turn is no cut.
    cut_points: Vec<Cut>,
    /// The estimate of all of it.
    tokens: usize,
    /// It is the whole conversation.
    is_whole: bool,
}

impl Window {
    fn measure(transcript: &Transcript, fixed: usize, budget: usize) -> Self {
        let mut cut_points = Vec::new();
        let mut tokens = fixed;
        let mut is_whole = true;
        for (index, entry) in transcript.iter().enumerate().rev() {
            tokens = tokens.saturating_add(entry_tokens(entry));
            if tokens > budget.saturating_mul(HOPELESS_BUDGETS) && !cut_points.is_empty() {
                is_whole = false;
                break;
            }
            if index > 0 && transcript.starts_turn(index) {
                cut_points.push(Cut { entry: index, tokens });
            }
        }
        cut_points.reverse();
        Self { cut_points, tokens, is_whole }
    }
}

async fn count_from(
    model: &dyn Model,
    transcript: &Transcript,
    request: &StepRequest,
    cut: Cut,
) -> Option<usize> {
    let trimmed = StepRequest { transcript: transcript.view_from(cut.entry), ..request.clone() };
    model.count_tokens(&trimmed).await.map(|count| count as usize)
}

/// The estimate for what every cut keeps: instructions, tools and schema.
fn fixed_tokens(request: &StepRequest) -> usize {
    let instructions = request.instructions.as_deref().map_or(0, text_len);
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| {
            tool.name.as_str().len()
                + text_len(&tool.description)
                + json_text::compact(tool.parameters.json()).len()
        })
        .sum();
    let schema = request.schema.as_ref().map_or(0, |schema| json_text::compact(schema.json()).len());
    (instructions + tools + schema) / CHARS_PER_TOKEN
}

fn entry_tokens(entry: &Arc<Entry>) -> usize {
    let segments = |segments: &[Segment]| segments.iter().map(segment_chars).sum::<usize>();
    let chars = match &entry.content {
        EntryContent::Prompt(prompt) => segments(&prompt.segments),
        EntryContent::ToolCalls(calls) => {
            calls.iter().map(|call| call.name.len() + json_text::compact(&call.arguments).len()).sum()
        }
        EntryContent::ToolOutput(output) => output.tool_name.len() + segments(&output.segments),
        EntryContent::Response(response) => segments(&response.segments),
        EntryContent::Opaque(members) => json_text::compact(members).len(),
    };
    chars.div_ceil(CHARS_PER_TOKEN)
}

fn segment_chars(segment: &Segment) -> usize {
    match &segment.content {
        SegmentContent::Text(text) => text_len(text),
        SegmentContent::Structure { content, .. } => json_text::compact(content).len(),
        SegmentContent::Attachment(_) => ATTACHMENT_TOKENS * CHARS_PER_TOKEN,
    }
}

fn text_len(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::{
        error::ModelError,
        model::{Availability, BoxFuture, GenerationOptions, StepOutcome, StepSink, ToolMode},
        transcript::Segment,
    };

    /// A model with a context of 1000 tokens that counts `per_entry` tokens an entry, or cannot count.
    struct Counting {
        per_entry: Option<u32>,
        asked: AtomicU32,
    }

    impl Model for Counting {
        fn step<'a>(
            &'a self,
            _: StepRequest,
            _: &'a mut dyn StepSink,
        ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
            unreachable!("fitting asks for no step")
        }
        fn availability(&self) -> Availability {
            unreachable!("fitting does not ask for availability")
        }
        fn context_size(&self) -> Option<u32> {
            Some(1000)
        }
        fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let entries = u32::try_from(request.transcript.len()).unwrap();
            Box::pin(std::future::ready(self.per_entry.map(|per_entry| per_entry * entries)))
        }
    }

    /// `turns` turns, each a prompt and an answer of `chars` characters, and a prompt in progress.
    fn conversation(turns: usize, chars: usize) -> Transcript {
        let mut transcript = Transcript::default();
        for _ in 0..turns {
            transcript.push(Entry::prompt("x".repeat(chars)));
            transcript.push(Entry::response(Segment::text("y".repeat(chars))));
        }
        transcript.push(Entry::prompt("now"));
        transcript
    }

    async fn hidden(per_entry: Option<u32>, transcript: &Transcript) -> usize {
        hidden_and_asked(per_entry, transcript).await.0
    }

    /// The first visible entry, and how often the model was asked to count.
    async fn hidden_and_asked(per_entry: Option<u32>, transcript: &Transcript) -> (usize, u32) {
        let request = StepRequest {
            instructions: None,
            transcript: transcript.view_from(0),
            tools: Vec::new(),
            tool_mode: ToolMode::Disallowed,
            schema: None,
            options: GenerationOptions::default(),
            stream: false,
            cache_key: 0,
        };
        let model = Counting { per_entry, asked: AtomicU32::new(0) };
        let first = first_visible_entry(&model, transcript, &request, 100).await;
        (first, model.asked.into_inner())
    }

    #[tokio::test]
    async fn a_short_conversation_is_shown_whole_without_counting() {
        // 900 tokens of budget; 8 entries of 60 tokens are below three fifths of it.
        assert_eq!(hidden(Some(1_000_000), &conversation(4, 180)).await, 0);
    }

    #[tokio::test]
    async fn the_count_decides_where_the_estimate_is_not_trusted() {
        let transcript = conversation(10, 180);
        assert_eq!(hidden(Some(10), &transcript).await, 0);
        // 21 entries of 100 tokens: nine fit, and the cut is at a turn's start.
        assert_eq!(hidden(Some(100), &transcript).await, 12);
    }

    #[tokio::test]
    async fn without_a_count_the_estimate_decides() {
        // Each turn is 120 tokens: seven turns and the prompt in progress fit into 900.
        assert_eq!(hidden_and_asked(None, &conversation(10, 180)).await, (6, 1), "it is asked once");
    }

    #[tokio::test]
    async fn the_turn_in_progress_is_always_shown() {
        let transcript = conversation(3, 3000);
        assert_eq!(hidden(Some(10_000), &transcript).await, 6);
        let single = conversation(0, 0);
        assert_eq!(hidden(Some(10_000), &single).await, 0);
    }

    #[tokio::test]
    async fn a_restored_output_stays_with_the_empty_prompt_that_continues_from_it() {
        let mut transcript = conversation(3, 3000);
        transcript.push(Entry::tool_output("c", "look", "shut"));
        transcript.push(Entry::prompt(""));
        assert_eq!(hidden(Some(10_000), &transcript).await, 6);
    }

    #[tokio::test]
    async fn a_very_long_conversation_costs_no_more_than_the_context() {
        let transcript = conversation(50_000, 180);
        let first = hidden(None, &transcript).await;
        assert_eq!(transcript.len() - first, 15);
    }
}
