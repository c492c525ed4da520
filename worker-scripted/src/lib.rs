//! A real worker process without a model: it plays a script, or talks on for ever, and goes wrong when asked to.
//!
//! It speaks the worker protocol (docs/IPC.md) as any worker does, and shows how little that takes:
//!
//! * [`guard`] is the thread that inference cannot block. It reads the connection from the first moment on, answers
//!   pings, hands steps in which something may wait or go wrong to threads of their own, plays the others itself, and ends
//!   the process at end of file.
//! * [`step`] plays one step and ends it exactly once. What is said comes from [`model`]: a script, read from a file
//!   or from the step's instructions, or [`conversation`], which needs none.
//! * [`fault`] says what goes wrong and when, [`strike`] does it.
//! * [`output`] writes frames whole. [`arguments`] is the command line.
//!
//! Nothing of a conversation is kept: which step of a script comes next is told by the transcript, so a step that is
//! played again by another process says the same.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod connection;
mod conversation;
mod fault;
mod guard;
mod jobs;
mod minimal;
mod model;
mod output;
mod request;
mod step;
mod strike;
mod worker;

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use arguments::Arguments;
use clap::{CommandFactory, Parser};

/// Runs a worker on this process, which belongs to it: it ends the process at the end of its connection.
///
/// `args` begins with the name of the program. Returns only when the worker cannot start: 2 for wrong arguments, an
/// unusable script or no connection.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            complain(&in_one_line(&error.to_string()));
            return ExitCode::from(2);
        }
        Err(help) => {
            // Nobody is left to tell when this cannot be printed.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    if arguments.tells_faults {
        let _ = io::stdout().write_all(arguments::faults().as_bytes());
        return ExitCode::SUCCESS;
    }
    let Err(reason) = worker::serve(&arguments);
    complain(&reason);
    ExitCode::from(2)
}

/// The command line, for whoever tells of it.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// What is wrong with the arguments, without the advice that follows: the last line is what a supervisor shows.
fn in_one_line(error: &str) -> String {
    let error = error.strip_prefix("error: ").unwrap_or(error);
    let what = error.split("\n\nUsage:").next().unwrap_or(error);
    let what = what.split("\n\nFor more information").next().unwrap_or(what);
    what.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says something on standard error, where the supervisor's log hears it.
fn complain(message: &str) {
    let _ = writeln!(io::stderr(), "oam-worker-scripted: {message}");
}
