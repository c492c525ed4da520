//! `oam completions`: what a shell needs to complete the command line.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{arguments::Arguments, console::Console};

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples (the folder must be there):
  oam completions bash > ~/.local/share/bash-completion/completions/oam
  oam completions zsh > ~/.zfunc/_oam      with fpath+=~/.zfunc before compinit in ~/.zshrc
  oam completions fish > ~/.config/fish/completions/oam.fish";

pub(crate) fn run(arguments: &CompletionsArguments) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "oam", &mut script);
    Console::stdout().write(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
