//! `oam demo`: what `oam` is for, in a minute.

use std::{
    env,
    io::{self, IsTerminal},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use oam_workers::WorkerCommand;

use crate::{
    arguments::model::ModelArguments,
    console::Console,
    failure::{Failure, ReportForm},
    line_editor::LineEditor,
    models::{ModelName, ModelSource, OpenModel, SystemModel},
    runtime::{self, End},
    tavern::{CANNED_LINES, Ending, Evening, Killing, Player},
};

/// Play a demo scene.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLE)]
pub(crate) struct DemoArguments {
    #[command(subcommand)]
    scene: Scene,
}

#[derive(Debug, Subcommand)]
enum Scene {
    Tavern(TavernArguments),
}

/// Talk to Mira, the innkeeper; without a model, her answers come from a script.
#[derive(Debug, Args)]
#[command(after_help = TAVERN_EXAMPLES)]
struct TavernArguments {
    /// Say this instead of asking; may be given again.
    #[arg(long = "line", value_name = "TEXT")]
    lines: Vec<String>,

    /// Say the canned lines. That is the default without a terminal.
    #[arg(long, conflicts_with = "lines")]
    auto: bool,

    /// The evening ends after so many turns.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,

    /// Kill the worker in the middle of a line, and see the scene go on.
    #[arg(long)]
    kill_worker: bool,

    #[command(flatten)]
    model: ModelArguments,
}

const EXAMPLE: &str = "\
Example:
  oam demo tavern";

const TAVERN_EXAMPLES: &str = "\
Type what you say, a number to take a suggestion, or bye.

Examples:
  oam demo tavern
  oam demo tavern --auto --kill-worker
  oam demo tavern --line 'Have you a room?' --line 1

Exit codes: 0 the evening was played, 3 the model that was named is unavailable, 130 Ctrl-C.";

/// How long the scripted Mira takes for a piece of her line, in milliseconds: about as long as a model.
const SCRIPTED_PIECE_DELAY: &str = "30";

pub(crate) fn run(arguments: DemoArguments) -> ExitCode {
    let Scene::Tavern(arguments) = arguments.scene;
    let played =
        SystemModel::choose(&arguments.model).and_then(|model| runtime::run(tavern(model, arguments)));
    match played {
        Err(failure) => failure.report(ReportForm::Text),
        Ok(End::Done(Ending::Played)) => ExitCode::SUCCESS,
        Ok(End::Done(Ending::Interrupted)) => runtime::INTERRUPTED.into(),
        Ok(End::Interrupted(code)) => {
            let stdout = Console::stdout();
            if stdout.is_terminal() {
                // The shell's prompt does not belong to Mira's line.
                stdout.line("");
            }
            code
        }
    }
}

/// Who plays Mira, and what the audience is told about it.
struct Casting {
    model: OpenModel,
    is_scripted: bool,
    announcement: String,
}

async fn tavern(model: SystemModel, arguments: TavernArguments) -> Result<Ending, Failure> {
    if arguments.kill_worker && model.source() == ModelSource::Script {
        let message = "--kill-worker: OAM_SCRIPT is played without a worker, so there is none to kill";
        return Err(Failure::usage(message));
    }
    let Casting { model, is_scripted, announcement } = cast(model).await?;
    let max_turns = usize::try_from(arguments.max_turns).unwrap_or(usize::MAX);
    let player = player(arguments.lines, arguments.auto)?;
    let killing = if arguments.kill_worker {
        Killing::once(player.remaining_lines().map_or(max_turns, |lines| lines.min(max_turns)))
    } else {
        Killing::Never
    };
    let evening = Evening {
        model: model.model.clone(),
        pool: model.pool().cloned(),
        is_scripted,
        player,
        max_turns,
        killing,
        announcement,
    };
    let ending = evening.play().await;
    model.close(ending).await
}

/// The model that was chosen, or a scripted Mira if nobody named one and none is there.
async fn cast(chosen: SystemModel) -> Result<Casting, Failure> {
    let source = chosen.source();
    let model = chosen.open().await;
    let why = match model.expect_available().await {
        Ok(()) => {
            let variant = model.model.availability().variant;
            let variant = variant.map(|variant| format!(" ({variant})")).unwrap_or_default();
            let announcement = match model.name {
                ModelName::System => format!("Mira is played by the system's model{variant}."),
                ModelName::Scripted => "Mira says what OAM_SCRIPT tells her.".to_owned(),
            };
            return Ok(Casting { model, is_scripted: false, announcement });
        }
        Err(failure) if source.is_named() => {
            return model.close(Err(failure)).await;
        }
        Err(_) if source == ModelSource::Nowhere => "No model is installed".to_owned(),
        Err(failure) => failure.message.trim_end_matches('.').to_owned(),
    };
    model.close(Ok(())).await?;
    let program = env::current_exe()
        .map_err(|error| Failure::io(format!("this program cannot be found to start a worker: {error}")))?;
    let arguments = ["worker", "scripted", "--piece-delay", SCRIPTED_PIECE_DELAY].map(Into::into);
    let command = WorkerCommand { program, arguments: arguments.into() };
    let model = SystemModel::of_worker(command)?.open().await;
    model.expect_available().await?;
    let announcement =
        format!("{why}: Mira's answers come from a script, through a real worker process. All else is real.");
    Ok(Casting { model, is_scripted: true, announcement })
}

fn player(lines: Vec<String>, is_canned: bool) -> Result<Player, Failure> {
    if !lines.is_empty() {
        return Ok(Player::Reading(lines.into()));
    }
    if !is_canned
        && io::stdin().is_terminal()
        && let Some(editor) = LineEditor::on_terminal()?
    {
        return Ok(Player::Typing(editor));
    }
    Ok(Player::Reading(CANNED_LINES.map(str::to_owned).into()))
}
