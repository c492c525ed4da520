//! The turn itself: the model is opened, asked, and closed; what came of it is kept and printed.

use std::{path::PathBuf, sync::Arc};

use oam_agent::{
    Agent, AgentOptions, AgentSetup, CallIds, SuspendedTurn, ToolOutput, TurnEnd, TurnOptions, TurnResponse,
    transcript::json::SavedTranscript,
};

use super::{
    answers::{self, Outputs},
    arguments::OutputMode,
    preparation::{AnswerSchema, Start, Task},
    reporter::Reporter,
    result::{CallsPending, Completed, LastEvent, path_text},
};
use crate::{
    asker::Asker,
    failure::Failure,
    models::{ModelName, OpenModel, SystemModel},
    tools::ToolSet,
    transcript_file::{Conversation, Progress, TranscriptFile, WaitingTurn},
};

/// How the turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    /// The calls of external tools have been printed.
    CallsPending,
}

/// What is left of a task once its turn runs.
struct Rest {
    tools: ToolSet,
    schema: Option<AnswerSchema>,
    save_path: Option<PathBuf>,
    mode: OutputMode,
    model: ModelName,
    before: Progress,
}

pub(super) async fn run(task: Task, model: SystemModel) -> Result<Ended, Failure> {
    let model = model.open().await;
    let end = match model.expect_available() {
        Ok(()) => run_on(task, &model).await,
        Err(failure) => Err(failure),
    };
    model.close().await;
    end
}

async fn run_on(task: Task, model: &OpenModel) -> Result<Ended, Failure> {
    let Task {
        instructions,
        tools,
        schema,
        mut policy,
        generation,
        start,
        save_path,
        asker,
        mode,
        is_verbose,
    } = task;
    let (prompt, history, before) = match start {
        Start::Prompt { prompt, history } => (prompt, history, Progress::default()),
        Start::Outputs { turn, outputs } => {
            let (history, before) = go_on(*turn, outputs, asker.as_ref()).await;
            (<_>::default(), history, before)
        }
    };
    policy.max_tool_rounds = policy.max_tool_rounds.saturating_sub(before.rounds_used);
    policy.max_tool_calls = policy.max_tool_calls.saturating_sub(before.calls_used);
    let options =
        AgentOptions { policy, generation, call_ids: CallIds::OfConversation, ..AgentOptions::default() };
    let setup = AgentSetup {
        instructions,
        tools: tools.for_agent().into(),
        history: history.transcript,
        options,
        ..AgentSetup::default()
    };
    let agent = Agent::new(Arc::clone(&model.model), setup)?;
    let turn = TurnOptions {
        schema: schema.as_ref().map(|schema| Arc::clone(&schema.schema)),
        stream: matches!(mode, OutputMode::Events | OutputMode::Text { streams: true }),
        images: prompt.images,
        ..TurnOptions::default()
    };

    let asks = asker.is_some();
    let mut reporter = Reporter::new(mode, is_verbose, asker);
    tell_warnings(&mut reporter, &tools, schema.as_ref());
    let end = if asks {
        agent.respond_with(&prompt.text, &turn, &mut reporter).await.map(TurnEnd::Completed)
    } else {
        agent.respond_or_suspend(&prompt.text, &turn, &mut reporter).await
    };
    let rest = Rest { tools, schema, save_path, mode, model: model.name, before };
    match end {
        Ok(TurnEnd::Completed(response)) => rest.complete(response, agent.saved_transcript(), &mut reporter),
        Ok(TurnEnd::Suspended(turn)) => rest.suspend(*turn, &mut reporter),
        Err(error) => {
            if mode != OutputMode::Events {
                reporter.end_line();
            }
            Err(error.into())
        }
    }
}

/// The conversation with all outputs. Those that were not given are asked for.
async fn go_on(
    turn: WaitingTurn,
    mut outputs: Outputs,
    asker: Option<&Asker>,
) -> (SavedTranscript, Progress) {
    for call in answers::missing(&outputs, &turn) {
        if let Some(asker) = asker
            && let Ok(output) = asker.ask(&call).await
        {
            outputs.insert(call.id.to_string(), output);
        }
    }
    turn.answered(|call| {
        let output = outputs.remove(call.id.as_str());
        output.unwrap_or_else(|| ToolOutput::Error("No output was given.".to_owned()))
    })
}

fn tell_warnings(reporter: &mut Reporter, tools: &ToolSet, schema: Option<&AnswerSchema>) {
    for warning in tools.warnings() {
        reporter.note(&format!("Warning: {warning}"));
    }
    for warning in schema.into_iter().flat_map(|schema| &schema.warnings) {
        reporter.detail(&format!("Warning: schema: {warning}"));
    }
}

impl Rest {
    fn complete(
        self,
        response: TurnResponse,
        conversation: SavedTranscript,
        reporter: &mut Reporter,
    ) -> Result<Ended, Failure> {
        if let OutputMode::Text { .. } = self.mode {
            // First of all: it must not be lost if it cannot be kept.
            reporter.answer(&response);
        }
        self.save(Conversation::Idle(conversation), reporter)?;
        let tool_calls = self.before.tool_calls.iter().chain(&response.tool_calls).map(|record| &**record);
        let completed = Completed {
            text: &response.text,
            structured: response.structured.as_ref(),
            tool_calls: tool_calls.collect(),
            usage: response.usage,
            steps: &response.steps,
            transcript: self.save_path.as_deref().map(path_text),
            warnings: self.tools.warnings(),
        };
        match self.mode {
            OutputMode::Text { .. } => reporter.detail(&summary(&completed)),
            OutputMode::Json => reporter.json(&completed),
            OutputMode::Events => reporter.json(&LastEvent::Completed { response: completed }),
        }
        Ok(Ended::Completed)
    }

    fn suspend(mut self, turn: SuspendedTurn, reporter: &mut Reporter) -> Result<Ended, Failure> {
        reporter.end_line();
        let before = std::mem::take(&mut self.before);
        let schema = self.schema.take().map(|schema| schema.json);
        let turn = WaitingTurn::new(turn, before, schema);
        let calls: Vec<_> = turn.pending().cloned().collect();
        let path = self.save_waiting(turn, reporter)?;
        let pending =
            CallsPending { calls: calls.iter().map(|call| &**call).collect(), transcript: path_text(&path) };
        match self.mode {
            OutputMode::Events => reporter.json(&LastEvent::ToolCalls(pending)),
            OutputMode::Json | OutputMode::Text { .. } => reporter.json(&pending),
        }
        if reporter.shows_activity() {
            let outputs: String = calls.iter().map(|call| format!(" --tool-output {}=…", call.id)).collect();
            let path = shell_words::quote(&path.to_string_lossy()).into_owned();
            reporter.note(&format!("Go on with: oam respond --resume {path}{outputs}"));
        }
        Ok(Ended::CallsPending)
    }

    fn save_waiting(&self, turn: WaitingTurn, reporter: &mut Reporter) -> Result<PathBuf, Failure> {
        let conversation = Conversation::Waiting(Box::new(turn));
        match &self.save_path {
            Some(path) => {
                self.save(conversation, reporter)?;
                Ok(path.clone())
            }
            None => self.file(conversation).save_temporary(self.model),
        }
    }

    /// Keeps the conversation, if that was asked for.
    fn save(&self, conversation: Conversation, reporter: &mut Reporter) -> Result<(), Failure> {
        let Some(path) = &self.save_path else { return Ok(()) };
        self.file(conversation).save(path, self.model)?;
        reporter.note(&format!("The conversation is in {}", path.display()));
        Ok(())
    }

    fn file(&self, conversation: Conversation) -> TranscriptFile {
        TranscriptFile::new(conversation, &self.tools)
    }
}

/// `182 input tokens (120 cached), 12 output tokens; 2 steps, 1 tool call`
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
