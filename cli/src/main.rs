//! `oam`: agents and game characters on on-device language models, for game engines and for the command line.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod commands;
mod logging;
mod models;
mod program;
mod script_file;
mod supervisor_methods;

use std::{iter, process::ExitCode};

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command, WorkerCommand};

fn main() -> ExitCode {
    match Arguments::parse().command {
        Some(Command::Stdio(arguments)) => commands::stdio::run(&arguments),
        Some(Command::Worker(WorkerCommand::Scripted { arguments })) => {
            oam_worker_scripted::run(iter::once("oam worker scripted".into()).chain(arguments))
        }
        None => match Arguments::command().print_help() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}
