//! `oam man`: the help of all commands as manual pages.
//!
//! What follows the options in a help text (examples, environment, exit codes) becomes sections that keep their lines.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Command, CommandFactory, ValueHint, builder::Resettable};
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use crate::{
    arguments::Arguments,
    console::Console,
    failure::{Failure, ReportForm},
    files::{self, Readers},
};

/// Write manual pages, one for each command.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArguments {
    /// Where to write oam.1, oam-stdio.1 and so on. Without it, oam.1 is printed.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  oam man | man -l -
  oam man ~/.local/share/man/man1    where man looks if ~/.local/bin is in PATH";

pub(crate) fn run(arguments: &ManArguments) -> ExitCode {
    let root = documented();
    let written = match &arguments.folder {
        None => page(&root).map(|page| Console::stdout().write(&page)),
        Some(folder) => with_descendants(&root).into_iter().try_for_each(|command| {
            let path = files::with_home(folder).join(format!("{}.1", name(command)));
            page(command).and_then(|page| files::write(&path, page.as_bytes(), Readers::Usual))
        }),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(ReportForm::Text),
    }
}

/// All commands, with the worker's own arguments in the place of whatever is passed on to it.
fn documented() -> Command {
    let mut root = Arguments::command().disable_help_subcommand(true).mut_subcommand("worker", |worker| {
        worker.mut_subcommand("scripted", |_| oam_worker_scripted::command().name("scripted"))
    });
    root.build();
    root
}

fn with_descendants(command: &Command) -> Vec<&Command> {
    let mut all = vec![command];
    all.extend(command.get_subcommands().flat_map(with_descendants));
    all
}

/// `oam-stdio` of `oam stdio`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> Result<String, Failure> {
    let failed = |error| Failure::io(format!("the page of {} cannot be made: {error}", name(command)));
    let usage = command.clone().render_usage().to_string();
    let man = Man::new(command.clone().after_help(Resettable::Reset))
        .title(name(command))
        .source(concat!("oam ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page).map_err(failed)?;
    man.render_name_section(&mut page).map_err(failed)?;
    let synopsis = |roff: &mut Roff| as_it_is(roff, &[usage.trim_start_matches("Usage: ")]);
    section(&mut page, "SYNOPSIS", synopsis).map_err(failed)?;
    man.render_description_section(&mut page).map_err(failed)?;
    man.render_options_section(&mut page).map_err(failed)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page).map_err(failed)?;
    }
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for (title, lines) in sections(&more) {
        section(&mut page, title, |roff| paragraphs(roff, &lines)).map_err(failed)?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn section(page: &mut Vec<u8>, title: &str, write: impl FnOnce(&mut Roff)) -> std::io::Result<()> {
    let mut roff = Roff::default();
    roff.control("SH", [title]);
    write(&mut roff);
    roff.to_writer(page)
}

/// What is indented, or empty, stays as it is; a line of text is a paragraph, as wide as the page.
fn paragraphs(roff: &mut Roff, lines: &[&str]) {
    let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
    for run in lines.chunk_by(|one, next| !is_text(one) && !is_text(next)) {
        match run {
            [line] if is_text(line) => drop(roff.text([roman(*line)])),
            lines => as_it_is(roff, lines),
        }
    }
}

fn as_it_is(roff: &mut Roff, lines: &[&str]) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
}

/// The parts of a help text's end, each with the title that manual pages have for it.
fn sections(text: &str) -> Vec<(&'static str, Vec<&str>)> {
    let mut sections: Vec<(&'static str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let (title, rest) = match line.split_once(':') {
            Some((examples, "")) if examples.starts_with("Example") => ("EXAMPLES", None),
            Some(("Environment", "")) => ("ENVIRONMENT", None),
            Some(("Exit codes", codes)) => ("EXIT STATUS", Some(codes.trim_start())),
            _ => {
                match sections.last_mut() {
                    Some((_, lines)) => lines.push(line),
                    None => sections.push(("NOTES", vec![line])),
                }
                continue;
            }
        };
        sections.push((title, rest.into_iter().collect()));
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_help_text_becomes_sections() {
        let text = "Type a line.\n\nExamples:\n  oam x\n\nExit codes: 0 done, 1 failed\nMore: elsewhere";
        let expected = [
            ("NOTES", vec!["Type a line.", ""]),
            ("EXAMPLES", vec!["  oam x", ""]),
            ("EXIT STATUS", vec!["0 done, 1 failed", "More: elsewhere"]),
        ];
        assert_eq!(sections(text), expected);
    }

    #[test]
    fn examples_keep_their_lines_and_paragraphs_are_as_wide_as_the_page() {
        let mut page = Vec::new();
        let lines = ["A paragraph.", "", "  oam x", "  oam y", "", "Another."];
        section(&mut page, "NOTES", |roff| paragraphs(roff, &lines)).unwrap();
        let page = String::from_utf8(page).unwrap();
        let page = page.split_once(".SH NOTES\n").unwrap().1;
        assert_eq!(page, "A paragraph.\n.nf\n\n  oam x\n  oam y\n\n.fi\nAnother.\n");
    }
}
