//! `oam record`: another command of `oam`, with what its model answers written to a file.
//!
//! The other command takes this one's place in the process, so it hears signals and ends as it always does.

use std::{convert::Infallible, env, ffi::OsString, os::unix::process::CommandExt, path::PathBuf, process};

use clap::Args;

use crate::{
    failure::{Failure, ReportForm},
    files,
    recording::{PACE_VARIABLE, RECORD_VARIABLE, REDACT_VARIABLE},
};

/// Run a command and write what its model answers: a script that replays it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecordArguments {
    /// The recording; it is replaced when there is one.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Leave prompts, instructions and tool outputs out of it.
    #[arg(long)]
    redact: bool,

    /// Write also how long steps took; a replay then takes as long.
    #[arg(long)]
    pace: bool,

    /// The command of oam, with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  oam record tavern.json -- stdio < requests.jsonl
  OAM_SCRIPT=tavern.json oam stdio < requests.jsonl

OAM_RECORD=FILE does the same for a program that starts oam by itself, OAM_RECORD_REDACT=1 and
OAM_RECORD_PACE=1 are like --redact and --pace. More: docs/RECORDING.md.

Exit codes: 1 the file cannot be written; otherwise the command's.";

pub(crate) fn run(arguments: &RecordArguments) -> process::ExitCode {
    match replace_process(arguments) {
        Err(failure) => failure.report(ReportForm::Text),
    }
}

fn replace_process(arguments: &RecordArguments) -> Result<Infallible, Failure> {
    // The command may change folders, and looks at the file only when it comes to its model.
    let path = files::absolute(&files::with_home(&arguments.file));
    files::expect_writable(&path)?;
    let program =
        env::current_exe().map_err(|error| Failure::io(format!("cannot find oam itself: {error}")))?;
    let mut command = process::Command::new(program);
    command.args(&arguments.command).env(RECORD_VARIABLE, path);
    for (is_wanted, variable) in [(arguments.redact, REDACT_VARIABLE), (arguments.pace, PACE_VARIABLE)] {
        if is_wanted {
            command.env(variable, "1");
        }
    }
    let error = command.exec();
    Err(Failure::io(format!("cannot start oam itself: {error}")))
}
