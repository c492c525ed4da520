//! The arguments of `oam service run` with what the settings file says where the command line says nothing.

use std::{collections::BTreeSet, env, ffi::OsString};

use clap::{CommandFactory, Parser};
use oam_service::{Settings, SettingsError, paths};

use super::run::{RunArguments, absolute};
use crate::failure::Failure;

/// Where the service is. Only the command line says so, or others would not find it.
const PLACES: [&str; 4] = ["socket", "data", "config", "log-file"];
/// How the service was started.
const MANNERS: [&str; 3] = ["replace", "managed", "own-session"];
/// What a reload changes. Everything else is about workers, which are started once.
const RELOADED: [&str; 8] = [
    "max-connections",
    "max-realms",
    "idle-exit",
    "drain",
    "max-sessions",
    "tool-timeout",
    "no-scripted-models",
    "log-level",
];

/// The arguments on their own. What comes later overrules what came before.
#[derive(Debug, Parser)]
#[command(name = "oam service run", no_binary_name = true, args_override_self = true)]
pub(crate) struct RunLine {
    #[command(flatten)]
    pub(crate) arguments: RunArguments,
}

/// What the service goes by.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) arguments: RunArguments,
    /// What the file says of it.
    pub(super) file: Settings,
}

impl Configured {
    /// Reads the file that `said`, the command line of this process, names, or the usual one.
    pub(super) fn read(said: &RunArguments) -> Result<Self, Failure> {
        let path = match said.config() {
            Some(path) => absolute(path),
            None => paths::config_file()?,
        };
        if said.config().is_some() && !path.exists() {
            return Err(Failure::invalid_input(format!("--config: there is no file {}", path.display())));
        }
        let known = known();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        let file = Settings::read(&path, &known).map_err(|error| Failure::invalid_input(refusal(&error)))?;
        let words = file.arguments().into_iter().map(OsString::from);
        let arguments = parsed(words.clone())
            .map_err(|failure| failure.about(&path.display().to_string()))
            .and_then(|_| parsed(words.chain(words_of_process())))?;
        Ok(Self { arguments, file })
    }
}

pub(super) fn needs_restart(setting: &str) -> bool {
    !RELOADED.contains(&setting)
}

/// What is wrong with a file.
fn refusal(error: &SettingsError) -> String {
    match error {
        SettingsError::Unknown { path, name, .. } if PLACES.contains(&name.as_str()) => format!(
            "{}: \"{name}\" cannot be set in the file: others would not find the service; give the flag --{name}",
            path.display()
        ),
        other => other.to_string(),
    }
}

/// What this process was told behind `oam service run`.
fn words_of_process() -> impl Iterator<Item = OsString> {
    env::args_os().skip(3)
}

/// The settings that a file may have.
fn known() -> BTreeSet<String> {
    let command = RunLine::command();
    let flags = command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned);
    flags.filter(|flag| !PLACES.iter().chain(&MANNERS).any(|name| name == flag)).collect()
}

/// The arguments that these words say. The failure is in a line or two, without usage.
pub(crate) fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<RunArguments, Failure> {
    let line = RunLine::try_parse_from(words).map_err(|error| Failure::of_arguments(&error))?;
    Ok(line.arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_say_everything_but_where_the_service_is_and_how_it_was_started() {
        let known = known();
        for name in RELOADED {
            assert!(known.contains(name), "{name}");
        }
        for name in PLACES.iter().chain(&MANNERS).copied() {
            assert!(!known.contains(name), "{name}");
        }
        assert!(known.contains("worker") && needs_restart("worker"));
    }

    #[test]
    fn the_command_line_overrules_the_file() {
        let words = ["--drain=3", "--log-level=debug", "--no-spare", "--drain", "4", "--spare"];
        let arguments = parsed(words.map(OsString::from)).unwrap();
        assert!(format!("{arguments:?}").contains("drain: 4s"), "{arguments:?}");
    }
}
