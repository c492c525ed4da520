//! The prompt: what stands on the command line, and what is piped in.

use std::{
    fs,
    io::{self, IsTerminal, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use nix::sys::stat::{self, SFlag};
use oam_agent::ImageFormat;

use super::arguments::RespondArguments;
use crate::{
    failure::Failure,
    files::{self, InputPath},
};

/// What is asked.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    pub(super) text: String,
    /// Image files, by absolute paths.
    pub(super) images: Vec<PathBuf>,
}

/// How much of standard input belongs to the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StdinUse {
    /// It is read for something else, or not at all.
    None,
    /// It is the prompt, or a part of it.
    Prompt,
}

impl Prompt {
    /// Puts the prompt together. Fails with `usage` when there is none.
    pub(super) fn read(arguments: &RespondArguments, stdin: StdinUse) -> Result<Self, Failure> {
        let said = arguments.prompt.join(" ");
        let piped = if stdin == StdinUse::Prompt && is_meant(&said) { read_stdin()? } else { String::new() };
        let images: Vec<_> = arguments.images.iter().map(|path| image(path)).collect::<Result<_, _>>()?;
        let text = match (&*said, &*piped) {
            ("", _) => piped,
            (_, "") => said,
            _ => format!("{said}\n\n{piped}"),
        };
        if text.is_empty() && images.is_empty() {
            return Err(Failure::usage("There is no prompt. Give one as an argument, or pipe it in."));
        }
        Ok(Self { text, images })
    }
}

/// Whether standard input belongs to the prompt. Behind a prompt on the command line only a pipe or a file does: anything
/// else was not put there for it.
fn is_meant(said: &str) -> bool {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    if said.is_empty() {
        return true;
    }
    stat::fstat(stdin.as_fd()).is_ok_and(|stat| {
        let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
        kind == SFlag::S_IFIFO || kind == SFlag::S_IFREG
    })
}

fn read_stdin() -> Result<String, Failure> {
    let mut text = InputPath::Stdin.read_text()?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

fn image(path: &Path) -> Result<PathBuf, Failure> {
    let path = files::absolute(&files::with_home(path));
    let unusable = |reason: String| Failure::invalid_input(format!("{}: {reason}", path.display()));
    let unreadable = |error: io::Error| unusable(format!("cannot be read: {error}"));
    // Before it is opened: opening a pipe would wait for somebody who writes.
    if !fs::metadata(&path).map_err(unreadable)?.is_file() {
        return Err(unusable("is not a file".to_owned()));
    }
    let mut start = Vec::new();
    let file = fs::File::open(&path).map_err(unreadable)?;
    file.take(ImageFormat::SIGNATURE_LENGTH as u64).read_to_end(&mut start).map_err(unreadable)?;
    if ImageFormat::of(&start).is_none() {
        return Err(unusable(format!("is no image that is known here ({} are)", ImageFormat::NAMES)));
    }
    Ok(path)
}
