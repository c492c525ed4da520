//! The end of a turn: the conversation is kept, and what came of the turn is printed.

use std::path::Path;

use oam_agent::{SuspendedTurn, TurnResponse, transcript::json::SavedTranscript};

use super::{
    arguments::OutputMode,
    preparation::Context,
    reporter::Reporter,
    result::{CallsPending, Completed, LastEvent, path_text},
};
use crate::{
    failure::Failure,
    models::ModelName,
    transcript_file::{Conversation, Progress, TranscriptFile, WaitingTurn},
};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    /// The calls of external tools have been printed.
    CallsPending,
}

/// What is known of a turn besides its end.
pub(super) struct Outcome {
    pub(super) context: Context,
    pub(super) model: ModelName,
    /// What earlier invocations did of it.
    pub(super) before: Progress,
}

impl Outcome {
    /// The model answered.
    pub(super) fn complete(
        self,
        response: &TurnResponse,
        conversation: SavedTranscript,
        reporter: &mut Reporter,
    ) -> Result<Ended, Failure> {
        let mode = self.context.mode;
        if let OutputMode::Text { .. } = mode {
            // First of all: it must not be lost if it cannot be kept.
            reporter.answer(response);
        }
        if let Some(path) = &self.context.save_path {
            self.save(path, Conversation::Idle(conversation), reporter)?;
        }
        let tool_calls = self.before.tool_calls.iter().chain(&response.tool_calls).map(|record| &**record);
        let completed = Completed {
            text: &response.text,
            structured: response.structured.as_ref(),
            tool_calls: tool_calls.collect(),
            usage: response.usage,
            steps: &response.steps,
            transcript: self.context.save_path.as_deref().map(path_text),
            warnings: self.context.tools.warnings(),
        };
        match mode {
            OutputMode::Text { .. } => reporter.detail(&summary(&completed)),
            OutputMode::Json => reporter.json(&completed),
            OutputMode::Events => reporter.json(&LastEvent::Completed { response: completed }),
        }
        Ok(Ended::Completed)
    }

    /// The model called external tools.
    pub(super) fn suspend(mut self, turn: SuspendedTurn, reporter: &mut Reporter) -> Result<Ended, Failure> {
        let schema = self.context.schema.take().map(|schema| schema.json);
        let turn = WaitingTurn::new(turn, std::mem::take(&mut self.before), schema);
        let calls: Vec<_> = turn.pending().cloned().collect();
        let conversation = Conversation::Waiting(Box::new(turn));
        let path = match &self.context.save_path {
            Some(path) => {
                self.save(path, conversation, reporter)?;
                path.clone()
            }
            None => self.file(conversation).save_temporary(self.model)?,
        };
        let calls = calls.iter().map(|call| &**call).collect();
        let pending = CallsPending { calls, transcript: path_text(&path) };
        let hint = how_to_go_on(&pending);
        match self.context.mode {
            OutputMode::Events => reporter.json(&LastEvent::ToolCalls(pending)),
            OutputMode::Json | OutputMode::Text { .. } => reporter.json(&pending),
        }
        if reporter.shows_activity() {
            reporter.note(&hint);
        }
        Ok(Ended::CallsPending)
    }

    fn save(&self, path: &Path, conversation: Conversation, reporter: &mut Reporter) -> Result<(), Failure> {
        self.file(conversation).save(path, self.model)?;
        reporter.note(&format!("The conversation is in {}", path.display()));
        Ok(())
    }

    fn file(&self, conversation: Conversation) -> TranscriptFile {
        TranscriptFile::new(conversation, &self.context.tools)
    }
}

fn how_to_go_on(pending: &CallsPending<'_>) -> String {
    let mut hint = format!("Go on with: oam respond --resume {}", shell_words::quote(&pending.transcript));
    for call in &pending.calls {
        // The id is the model's, and the hint is to be pasted.
        hint.push_str(" --tool-output ");
        hint.push_str(&shell_words::quote(call.id.as_str()));
        hint.push_str("=…");
    }
    hint
}

/// `· 182 input tokens (120 cached), 12 output tokens; steps: 2, tool calls: 1`
fn summary(completed: &Completed<'_>) -> String {
    let usage = completed.usage;
    format!(
        "· {} input tokens ({} cached), {} output tokens; steps: {}, tool calls: {}",
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.output_tokens,
        completed.steps.len(),
        completed.tool_calls.len(),
    )
}
