//! `oam chat`: a conversation, line by line.
//!
//! [`said`] tells what a line means, [`input`] gets the lines and the outputs of external tools, [`answer`] shows what the
//! model says and does, and [`conversation`] is what goes on between them.

mod answer;
mod conversation;
mod input;
mod said;

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use oam_agent::{Agent, AgentOptions, AgentSetup, transcript::Transcript};

use crate::{
    arguments::turn::TurnArguments,
    console::Console,
    failure::{Failure, ReportForm},
    models::{OpenModel, SystemModel},
    runtime::{self, End},
    tools::ToolSet,
    transcript_file::{Conversation, TranscriptFile},
};
use conversation::Chat;

/// Talk with a model, line by line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArguments {
    #[command(flatten)]
    turn: TurnArguments,
}

const EXAMPLES: &str = "\
Ctrl-C stops an answer; at the prompt it ends the chat, as Ctrl-D does. /help tells more.

Examples:
  oam chat -i 'You are Gorm, a grumpy blacksmith.' --tools tools.json --save-transcript gorm.json
  printf 'Hello!\\n/usage\\n' | oam chat";

pub(crate) fn run(arguments: &ChatArguments) -> ExitCode {
    match chat(&arguments.turn) {
        Ok(End::Done(())) => ExitCode::SUCCESS,
        Ok(End::Interrupted(code)) => code,
        Err(failure) => failure.report(ReportForm::Text),
    }
}

fn chat(arguments: &TurnArguments) -> Result<End<()>, Failure> {
    let resumed = arguments.resume.as_ref().map(TranscriptFile::read).transpose()?;
    let tools = arguments.tool_set(resumed.as_ref())?;
    let setup = setup(arguments, resumed, &tools)?;
    let stderr = Console::stderr();
    for warning in tools.warnings() {
        stderr.warning(warning);
    }
    let model = SystemModel::choose(&arguments.model)?;
    runtime::run_with_interrupts(async |mut interrupts| {
        let model = tokio::select! {
            biased;
            () = interrupts.next() => return Ok(End::interrupted()),
            model = model.open() => model,
        };
        let end = match agent(&model, setup).await {
            Ok(agent) => Chat::new(agent, tools, model.name, arguments.save_path(), interrupts)?.run().await,
            Err(failure) => Err(failure),
        };
        model.close(end).await
    })
}

async fn agent(model: &OpenModel, setup: AgentSetup) -> Result<Agent, Failure> {
    model.expect_available().await?;
    Ok(Agent::new(Arc::clone(&model.model), setup)?)
}

fn setup(
    arguments: &TurnArguments,
    resumed: Option<TranscriptFile>,
    tools: &ToolSet,
) -> Result<AgentSetup, Failure> {
    let instructions = arguments.instructions(resumed.as_ref());
    let history = match resumed.map(|file| file.conversation) {
        None => Transcript::default(),
        Some(Conversation::Idle(saved)) => saved.transcript,
        Some(Conversation::Waiting(turn)) => {
            let calls: Vec<_> = turn.pending().map(|call| format!("{} ({})", call.id, call.name)).collect();
            return Err(Failure::usage(format!(
                "The conversation waits for outputs of tool calls: {}. Give them with `oam respond --resume … \
                 --tool-output ID=VALUE`, then go on here.",
                calls.join(", ")
            )));
        }
    };
    let names: Vec<_> = tools.tools().iter().map(|tool| tool.name().as_str()).collect();
    Ok(AgentSetup {
        instructions,
        tools: tools.for_agent().into(),
        history,
        options: AgentOptions {
            policy: arguments.tools.policy(&names)?,
            generation: arguments.generation.options(),
            ..AgentOptions::default()
        },
        ..AgentSetup::default()
    })
}
