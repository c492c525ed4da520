//! `oam`: agents and game characters on on-device language models, for game engines and for the command line.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod commands;
mod logging;
mod script_file;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Stdio(arguments) => commands::stdio::run(&arguments),
    }
}
