//! `oam`: agents and game characters on on-device language models, for game engines and for the command line.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod commands;
mod logging;
mod script_file;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    match Arguments::parse().command {
        Some(Command::Stdio(arguments)) => commands::stdio::run(&arguments),
        None => match Arguments::command().print_help() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}
