//! Command tools: a call is a process (docs/CLI.md, Tools files).
//!
//! The call's arguments go in on standard input and in a variable, what the process prints comes out as the tool's
//! output. [`process`] runs it and ends it, with all that it started; [`guard`] does so when
//! `oam` is killed; [`captured`] keeps as much of what it prints as is
//! wanted; [`outcome`] says what the model hears. Whatever goes wrong becomes an output that the model reads, never the
//! end of a turn.

mod captured;
mod guard;
mod outcome;
mod process;
#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, process::Command, sync::Arc, time::Duration};

use oam_agent::{ToolCall, ToolOutput, json_text};
use tokio::sync::Semaphore;

use crate::{recording, script_file};
use process::{Limits, Process};

pub(crate) use process::{all_ended, end_all};

/// How long a call may take, unless the tool says otherwise.
pub(crate) const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);
/// The longest output that is handed on, in bytes, unless the tool says otherwise.
pub(crate) const DEFAULT_LONGEST_OUTPUT: usize = 8000;

/// How long a process that is to end has, before it is killed.
const TERMINATION_GRACE: Duration = Duration::from_secs(1);

/// How many calls run at the same time; others wait, and their time with them. Each takes three pipes, and some systems
/// give a process no more than 256 descriptors.
static PLACES: Semaphore = Semaphore::const_new(32);

const ARGUMENTS_VARIABLE: &str = "OAM_TOOL_ARGUMENTS";
const NAME_VARIABLE: &str = "OAM_TOOL_NAME";
const CALL_ID_VARIABLE: &str = "OAM_TOOL_CALL_ID";
/// These are for `oam` itself. An `oam` that a tool starts is another one, and would write to the same recording.
const OWN_VARIABLES: [&str; 2] = [script_file::VARIABLE, recording::RECORD_VARIABLE];

/// The longest variable that Linux hands to a program, with name and end, in bytes.
const LONGEST_VARIABLE: usize = 128 << 10;

/// How a tool's calls are run. Everything in it has been looked up.
#[derive(Clone, PartialEq)]
pub(crate) struct CommandTool {
    /// From the root.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// From the root.
    pub(crate) working_folder: PathBuf,
    pub(crate) time_limit: Duration,
    /// Variables beside those that are inherited. Their values may be secrets.
    pub(crate) environment: Vec<(String, String)>,
    /// The longest output that is handed on, in bytes.
    pub(crate) longest_output: usize,
}

/// Without the values of variables.
impl fmt::Debug for CommandTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("CommandTool")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("working_folder", &self.working_folder)
            .field("time_limit", &self.time_limit)
            .field("environment", &variables)
            .field("longest_output", &self.longest_output)
            .finish()
    }
}

impl CommandTool {
    /// Program and arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        [program].into_iter().chain(self.arguments.iter().cloned()).collect()
    }

    /// Runs one call to its end. When the future is dropped, or at the time limit, the process and its group get
    /// SIGTERM, a second later SIGKILL; [`all_ended`] waits for that.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) async fn run(self: Arc<Self>, call: Arc<ToolCall>) -> ToolOutput {
        // It is never closed.
        let _place = PLACES.acquire().await;
        let arguments = json_text::compact(&call.arguments);
        let command = self.command(&call, &arguments);
        let limits = Limits { time: self.time_limit, grace: TERMINATION_GRACE, stdout: self.longest_output };
        match Process::start(command) {
            Ok(process) => {
                let end = process.run(arguments.into_bytes(), limits).await;
                outcome::output(&call.name, end, &self)
            }
            Err(error) => outcome::not_started(&call.name, &error, &self),
        }
    }

    fn command(&self, call: &ToolCall, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        for variable in OWN_VARIABLES {
            command.env_remove(variable);
        }
        command
            .args(&self.arguments)
            .current_dir(&self.working_folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(NAME_VARIABLE, &call.name)
            .env(CALL_ID_VARIABLE, call.id.as_str());
        if ARGUMENTS_VARIABLE.len() + "=".len() + arguments.len() < LONGEST_VARIABLE {
            command.env(ARGUMENTS_VARIABLE, arguments);
        } else {
            // A program with a longer one could not be started at all; they are on its input.
            command.env_remove(ARGUMENTS_VARIABLE);
        }
        command
    }
}
