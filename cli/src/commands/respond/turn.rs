//! The turn itself: the model is opened, asked, and closed.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentOptions, AgentSetup, CallIds, ToolOutput, TurnEnd, TurnOptions,
    transcript::json::SavedTranscript,
};

use super::{
    answers::{self, Outputs},
    arguments::OutputMode,
    end::{Ended, Outcome},
    preparation::{Context, Start, Task},
    prompt::Prompt,
    reporter::Reporter,
};
use crate::{
    asker::Asker,
    failure::Failure,
    files,
    models::{OpenModel, SystemModel},
    transcript_file::{Progress, WaitingTurn},
};

pub(super) async fn run(task: Task, model: SystemModel) -> Result<Ended, Failure> {
    let model = model.open().await;
    let end = match model.expect_available().await {
        Ok(()) => ask(task, &model).await,
        Err(failure) => Err(failure),
    };
    model.close(end).await
}

async fn ask(task: Task, model: &OpenModel) -> Result<Ended, Failure> {
    let Task { start, instructions, mut policy, generation, asks, is_verbose, context } = task;
    if let Some(path) = &context.save_path {
        // An answer, or what tools did, is not to be lost for want of a place.
        files::expect_writable(path)?;
    }
    let asker = asks.then(Asker::start);
    let (prompt, history, before) = begin(start, asker.as_ref()).await;
    policy.max_tool_rounds = policy.max_tool_rounds.saturating_sub(before.rounds_used);
    policy.max_tool_calls = policy.max_tool_calls.saturating_sub(before.calls_used);
    let options =
        AgentOptions { policy, generation, call_ids: CallIds::OfConversation, ..AgentOptions::default() };
    let tools = context.tools.for_agent().into();
    let setup =
        AgentSetup { instructions, tools, history: history.transcript, options, ..AgentSetup::default() };
    let agent = Agent::new(Arc::clone(&model.model), setup)?;
    let turn = TurnOptions {
        schema: context.schema.as_ref().map(|schema| Arc::clone(&schema.schema)),
        stream: matches!(context.mode, OutputMode::Events | OutputMode::Text { streams: true }),
        images: prompt.images,
        ..TurnOptions::default()
    };

    let mut reporter = Reporter::new(context.mode, is_verbose, asker);
    warn(&reporter, &context);
    let end = if asks {
        agent.respond_with(&prompt.text, &turn, &mut reporter).await.map(TurnEnd::Completed)
    } else {
        agent.respond_or_suspend(&prompt.text, &turn, &mut reporter).await
    };
    reporter.end_line();
    let outcome = Outcome { context, model: model.name, before };
    match end? {
        TurnEnd::Completed(response) => outcome.complete(&response, agent.saved_transcript(), &mut reporter),
        TurnEnd::Suspended(turn) => outcome.suspend(*turn, &mut reporter),
    }
}

/// What is asked, behind which conversation, and what has been done of the turn.
async fn begin(start: Start, asker: Option<&Asker>) -> (Prompt, SavedTranscript, Progress) {
    match start {
        Start::Prompt { prompt, history } => (prompt, history, Progress::default()),
        Start::Outputs { turn, outputs } => {
            let (history, before) = answer(*turn, outputs, asker).await;
            // Behind outputs, an empty prompt goes on with their turn.
            (Prompt::default(), history, before)
        }
    }
}

/// The conversation with all outputs. Those that were not given are asked for.
async fn answer(
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

fn warn(reporter: &Reporter, Context { tools, schema, .. }: &Context) {
    for warning in tools.warnings() {
        reporter.warn(warning);
    }
    if reporter.is_verbose() {
        for warning in schema.iter().flat_map(|schema| &schema.warnings) {
            reporter.warn(&format!("schema: {warning}"));
        }
    }
}
