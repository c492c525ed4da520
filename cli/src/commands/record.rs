//! `oam record`: another command of `oam`, with what its model answers written to a file.
//!
//! The other command takes this one's place in the process, so it hears signals and ends as it always does.

use std::{
    convert::Infallible,
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process,
};

use clap::{Args, CommandFactory};

use crate::{
    arguments::Arguments,
    failure::{Failure, ReportForm},
    files,
    recording::{APPEND_VARIABLE, PACE_VARIABLE, RECORD_VARIABLE, REDACT_VARIABLE},
};

/// Run a command and write what its model answers: a script that replays it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "oam record [OPTIONS] <FILE> -- <COMMAND>...")]
pub(crate) struct RecordArguments {
    /// The recording; one that is there is replaced.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Keep what is in the file; what the model answers now comes behind it.
    #[arg(long)]
    append: bool,

    /// Leave prompts, instructions and tool outputs out of it.
    #[arg(long)]
    redact: bool,

    /// Write also how long steps took; a replay then takes as long.
    #[arg(long)]
    pace: bool,

    /// What does not stand behind `--`: it is only taken to say so.
    #[arg(hide = true, allow_hyphen_values = true)]
    misplaced: Vec<OsString>,

    /// The command of oam, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  oam record tavern.json -- stdio < requests.jsonl
  OAM_SCRIPT=tavern.json oam stdio < requests.jsonl
  oam record --append answers.json -- respond 'Who are you?'

OAM_RECORD=FILE does the same for a program that starts oam by itself; OAM_RECORD_APPEND=1, \
OAM_RECORD_REDACT=1 and OAM_RECORD_PACE=1 are like --append, --redact and --pace. \
More: docs/RECORDING.md.

Exit codes: 1 the file cannot be written, or another oam records to it; 2 there is something else in \
it, with --append; otherwise the command's.";

pub(crate) fn run(arguments: &RecordArguments) -> process::ExitCode {
    match replace_process(arguments) {
        Err(failure) => failure.report(ReportForm::Text),
    }
}

fn replace_process(arguments: &RecordArguments) -> Result<Infallible, Failure> {
    let command = arguments.command()?;
    // The command may change folders, and looks at the file only when it comes to its model.
    let path = files::absolute(&files::with_home(&arguments.file));
    files::expect_writable(&path)?;
    let program =
        env::current_exe().map_err(|error| Failure::io(format!("cannot find oam itself: {error}")))?;
    let mut process = process::Command::new(program);
    process.args(command).env(RECORD_VARIABLE, path);
    let RecordArguments { append, redact, pace, .. } = arguments;
    for (is_wanted, variable) in [(append, APPEND_VARIABLE), (redact, REDACT_VARIABLE), (pace, PACE_VARIABLE)]
    {
        if *is_wanted {
            process.env(variable, "1");
        }
    }
    let error = process.exec();
    Err(Failure::io(format!("cannot start oam itself: {error}")))
}

impl RecordArguments {
    /// The command to record, as `oam` takes it; whoever is used to `time` and `sudo` begins with `oam` itself.
    fn command(&self) -> Result<&[OsString], Failure> {
        let file = self.file.display();
        let example = |command: &[OsString]| {
            let words = command.iter().map(|word| word.to_string_lossy());
            format!("oam record {} -- {}", shell_words::quote(&file.to_string()), shell_words::join(words))
        };
        match self.misplaced.first() {
            None => {}
            Some(option) if is_option(option) => {
                let option = option.to_string_lossy();
                return Err(Failure::usage(format!(
                    "oam record has no option '{option}'; its --help lists them"
                )));
            }
            Some(_) => {
                let example = example(without_program(&self.misplaced));
                return Err(Failure::usage(format!("the command comes behind --: {example}")));
            }
        }
        let command = without_program(&self.command);
        let Some(first) = command.first() else {
            let example = example(&["respond".into(), "Hello!".into()]);
            return Err(Failure::usage(format!("which COMMAND is to be recorded? For example: {example}")));
        };
        let mut oam = Arguments::command();
        oam.build();
        // An option such as --help is all the same for oam to judge.
        if !is_option(first) && oam.find_subcommand(first).is_none() {
            return Err(Failure::usage(format!(
                "'{}' is no command of oam, which are the ones that can be recorded; oam --help lists them. For a \
                 program that starts oam by itself, set {RECORD_VARIABLE}",
                first.to_string_lossy()
            )));
        }
        Ok(command)
    }
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// The words behind a leading `oam`.
fn without_program(command: &[OsString]) -> &[OsString] {
    match command {
        [program, rest @ ..] if Path::new(program).file_name() == Some("oam".as_ref()) => rest,
        command => command,
    }
}
