//! `oam man`: the help of all commands as manual pages.

use std::{fs, io, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory};

use crate::{
    arguments::Arguments,
    console::Console,
    failure::{Failure, ReportForm},
    files,
};

/// Write manual pages, one for each command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArguments {
    /// The folder to write oam.1, oam-stdio.1 and so on to. Without one, oam.1 is printed.
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  oam man ~/.local/share/man/man1 && man oam
  oam man | man -l -";

pub(crate) fn run(arguments: &ManArguments) -> ExitCode {
    let written = match &arguments.folder {
        None => page().map(|page| Console::stdout().write(&page)),
        Some(folder) => {
            let folder = files::with_home(folder);
            fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(Arguments::command(), &folder))
                .map_err(|error| Failure::io(format!("{}: cannot be written: {error}", folder.display())))
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(ReportForm::Text),
    }
}

fn page() -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command().disable_help_subcommand(true))
        .render(&mut page)
        .and_then(|()| String::from_utf8(page).map_err(io::Error::other))
        .map_err(|error| Failure::io(format!("the page cannot be made: {error}")))
}
