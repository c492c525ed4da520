//! What a manager is told of the service: which program it starts, with which arguments, and where it listens.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use oam_system::worker;

use super::manager::Manager;
use crate::{
    arguments::{text_variable, variable},
    commands::service::{configured::parsed, run::RunArguments},
    failure::Failure,
};

/// Variables that change what a command asks, and that a service does not get.
const NOT_HANDED_ON: [&str; 3] = ["OAM_WORKER", "OAM_SCRIPT", "OAM_RECORD"];

/// What a service needs to end when its turns have.
const AFTER_DRAIN: Duration = Duration::from_secs(20);

/// The service as it is to be installed.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    /// From the root.
    pub(crate) program: PathBuf,
    /// Behind `oam service run --managed`.
    pub(crate) arguments: Vec<String>,
    /// Where the manager listens.
    pub(crate) socket: PathBuf,
    /// Where what it prints goes.
    pub(crate) output: PathBuf,
    /// How long its manager gives it to end.
    pub(crate) exit_time: Duration,
    /// `PATH` as it is now: a worker may be a script whose interpreter is found there.
    pub(crate) path_variable: Option<String>,
}

impl Installation {
    /// This program with these arguments. They must mean the same wherever and whenever the service starts.
    pub(crate) fn new(arguments: Vec<String>, manager: &Manager) -> Result<Self, Failure> {
        let line = parsed(arguments.iter().map(OsString::from))?;
        line.expect_installable()?;
        let path_variable = text_variable("PATH")?;
        let variable = path_variable.as_deref().map(|path| ("PATH", path));
        for (what, text) in arguments.iter().map(|word| ("an argument", word.as_str())).chain(variable) {
            expect_writable(what, text)?;
        }
        Ok(Self {
            program: this_program()?,
            socket: manager.socket_of(Some(&line))?,
            output: manager.output()?,
            exit_time: line.exit_time(),
            arguments,
            path_variable,
        })
    }

    /// Whether what it starts is on this machine. What is only shown may be for another one.
    pub(crate) fn expect_here(&self) -> Result<(), Failure> {
        parsed(self.arguments.iter().map(OsString::from))?.expect_worker()
    }

    /// The whole command line. Fails for what the files of a manager cannot hold.
    pub(super) fn words(&self) -> Result<Vec<String>, Failure> {
        let program = self.program.to_str().ok_or_else(|| {
            Failure::usage(format!(
                "{}: the path is not UTF-8; put oam somewhere else",
                self.program.display()
            ))
        })?;
        let fixed = [program, "service", "run", "--managed"].map(str::to_owned);
        Ok(fixed.into_iter().chain(self.arguments.iter().cloned()).collect())
    }

    /// What the service will not know, though a command started from here would.
    pub(crate) fn variables_not_handed_on() -> Vec<&'static str> {
        NOT_HANDED_ON.into_iter().filter(|name| variable(name).is_some()).collect()
    }
}

/// The arguments that an installed command line gives to `oam service run`.
pub(crate) fn arguments_of(words: &[String]) -> Result<RunArguments, Failure> {
    match words {
        [_, service, run, arguments @ ..] if service == "service" && run == "run" => {
            parsed(arguments.iter().map(OsString::from))
        }
        _ => Err(Failure::invalid_input("the installed service does not start `oam service run`")),
    }
}

impl RunArguments {
    /// Whether the worker's program is on this machine.
    fn expect_worker(&self) -> Result<(), Failure> {
        match self.worker() {
            Some(command) => worker::command_in(command).map(drop).map_err(|error| unusable_worker(&error)),
            None => Ok(()),
        }
    }

    /// How long it may take to end, in whole seconds: turns, and then the last answers, the disk and the workers.
    pub(super) fn exit_time(&self) -> Duration {
        let time = self.drain() + AFTER_DRAIN;
        Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
    }

    /// A service is started from anywhere, so no path may depend on where that is.
    fn expect_installable(&self) -> Result<(), Failure> {
        for (flag, path) in self.paths() {
            if !path.is_absolute() && !path.starts_with("~") {
                return Err(Failure::usage(format!(
                    "{flag} {}: the service is started from anywhere; name the whole path, from /",
                    path.display()
                )));
            }
        }
        if self.is_replacing() {
            return Err(Failure::usage(
                "--replace is not for the manager: it keeps the socket between two services",
            ));
        }
        let Some(command) = self.worker() else { return Ok(()) };
        let command = worker::words_of(command).map_err(|error| unusable_worker(&error))?;
        if command.program.is_relative() && command.program.components().count() > 1 {
            return Err(Failure::usage(format!(
                "--worker {}: the service is started from anywhere; name the whole path, from /",
                command.program.display()
            )));
        }
        Ok(())
    }
}

fn unusable_worker(error: &worker::CommandError) -> Failure {
    Failure::usage(error.at("--worker"))
}

/// What a property list cannot hold, and nobody means, is refused everywhere.
fn expect_writable(what: &str, text: &str) -> Result<(), Failure> {
    let is_unwritable = |character: char| {
        (character.is_control() && !['\t', '\n', '\r'].contains(&character))
            || ['\u{fffe}', '\u{ffff}'].contains(&character)
    };
    match text.chars().find(|character| is_unwritable(*character)) {
        None => Ok(()),
        Some(character) => Err(Failure::usage(format!(
            "{what} has the character U+{:04X}, which the manager's files cannot hold",
            u32::from(character)
        ))),
    }
}

/// This program by the name under which it is found: a link that an upgrade changes is followed anew by each start.
fn this_program() -> Result<PathBuf, Failure> {
    let running =
        env::current_exe().map_err(|error| Failure::io(format!("oam does not find itself: {error}")))?;
    let is_running = |path: &Path| fs::canonicalize(path).ok() == fs::canonicalize(&running).ok();
    let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let found = if called.components().count() > 1 {
        std::path::absolute(&called).ok()
    } else {
        let folders = variable("PATH").unwrap_or_default();
        env::split_paths(&folders).map(|folder| folder.join(&called)).find(|path| path.is_file())
    };
    Ok(found.filter(|path| path.is_absolute() && is_running(path)).unwrap_or(running))
}
