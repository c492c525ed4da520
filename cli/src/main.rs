//! `oam`: agents and game characters on on-device language models, for game engines and for the command line.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod asker;
mod commands;
mod console;
mod failure;
mod files;
mod labelled;
mod line_editor;
mod logging;
mod models;
mod program;
mod recording;
mod runtime;
mod schema_file;
mod script_file;
mod service;
mod tavern;
mod tool_activity;
mod tool_output;
mod tools;
mod transcript_file;

use std::{env, iter, process::ExitCode};

use clap::{CommandFactory, Parser, error::ErrorKind};

use arguments::{Arguments, Command, WorkerCommand};
use console::Console;
use failure::{Failure, ReportForm};

fn main() -> ExitCode {
    let code = match Arguments::try_parse() {
        Ok(arguments) => run(arguments),
        Err(error) => not_run(&error),
    };
    match console::lost_output() {
        Some(error) if has_result(code) => {
            Failure::io(format!("standard output: cannot be written: {error}")).report(report_form())
        }
        _ => code,
    }
}

/// Whether this is the end of a command that has printed a result.
fn has_result(code: ExitCode) -> bool {
    [ExitCode::SUCCESS, commands::respond::CALLS_PENDING.into()].contains(&code)
}

/// How to tell a failure before, or after, what a command itself knows of it: to machines if one of them seems to have
/// written the command line.
fn report_form() -> ReportForm {
    let is_machine = env::args_os().any(|argument| argument == "--json" || argument == "--events");
    if is_machine { ReportForm::Json } else { ReportForm::Text }
}

fn run(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Some(Command::Available(arguments)) => commands::available::run(&arguments),
        Some(Command::AgentReadme(arguments)) => commands::agent_readme::run(&arguments),
        Some(Command::Completions(arguments)) => commands::completions::run(&arguments),
        Some(Command::Man(arguments)) => commands::man::run(&arguments),
        Some(Command::Demo(arguments)) => commands::demo::run(arguments),
        Some(Command::Respond(arguments)) => commands::respond::run(&arguments),
        Some(Command::Schema(command)) => commands::schema::run(&command),
        Some(Command::Serve(arguments)) => commands::serve::run(&arguments),
        Some(Command::Service(command)) => commands::service::run(&command),
        Some(Command::Status(arguments)) => commands::status::run(&arguments),
        Some(Command::Chat(arguments)) => commands::chat::run(&arguments),
        Some(Command::Record(arguments)) => commands::record::run(&arguments),
        Some(Command::Stdio(arguments)) => commands::stdio::run(&arguments),
        Some(Command::Tools(command)) => commands::tools::run(&command),
        Some(Command::Worker(WorkerCommand::Scripted { arguments })) => {
            oam_worker_scripted::run(iter::once("oam worker scripted".into()).chain(arguments))
        }
        None => print(&Arguments::command().render_help()),
    }
}

/// Help and the version are results; anything else is a mistake in the command line.
fn not_run(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayVersion => {
            Console::stdout().line(env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print(&error.render())
        }
        _ if is_managed_service() => commands::service::run::refuse(Failure::of_arguments(error)),
        _ if report_form() == ReportForm::Json => Failure::of_arguments(error).report(ReportForm::Json),
        _ => {
            let stderr = Console::stderr();
            stderr.write(&stderr.rendered(&error.render()).replacen("error:", "Error:", 1));
            ExitCode::from(failure::FailureCode::Usage.exit_code())
        }
    }
}

/// Whether a manager started this: with a command line that an older version was installed with, perhaps.
fn is_managed_service() -> bool {
    let words: Vec<_> = env::args_os().skip(1).collect();
    words.starts_with(&["service".into(), "run".into()]) && words.contains(&"--managed".into())
}

fn print(text: &clap::builder::StyledStr) -> ExitCode {
    let stdout = Console::stdout();
    stdout.write(&stdout.rendered(text));
    ExitCode::SUCCESS
}
