//! What can be said on the command line.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, builder::RangedU64ValueParser};

use crate::logging::LogLevel;

/// Agents and game characters on on-device language models, with real tool calls.
#[derive(Debug, Parser)]
#[command(name = "oam", version, propagate_version = true)]
pub(crate) struct Arguments {
    /// Without one, help is what was asked for.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Stdio(StdioArguments),
    /// Run as a worker. The supervisor starts workers by itself; this is for trying one out.
    #[command(subcommand)]
    Worker(WorkerCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Play scripts as a worker process, with faults on demand. See `oam worker scripted --help`.
    #[command(disable_help_flag = true)]
    Scripted {
        /// Passed on to the worker.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

/// Serve the bridge protocol on standard input and output, one JSON-RPC 2.0 message a line.
///
/// A game engine starts this as a child process and drives agent sessions through it: it creates sessions, sends
/// prompts, hears the answers grow, and executes the tool calls that the model decides on. Standard output carries
/// protocol messages only; logs go to standard error. The end of input finishes what was asked and exits with 0.
#[derive(Debug, Args)]
#[command(display_name = "oam", after_long_help = STDIO_EXAMPLES)]
pub(crate) struct StdioArguments {
    /// How many sessions may exist at once.
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true, value_parser = max_sessions)]
    pub(crate) max_sessions: usize,

    /// Seconds that the client has to answer a tool call, from 0 to 86400; 0 waits for ever. Sessions and tools
    /// may set their own.
    #[arg(long, value_name = "SECONDS", default_value = "120", allow_negative_numbers = true, value_parser = tool_timeout)]
    pub(crate) tool_timeout: ToolTimeout,

    #[command(flatten)]
    pub(crate) workers: WorkerArguments,

    /// Refuse scripted models in requests.
    #[arg(long)]
    pub(crate) no_scripted_models: bool,

    /// How much to log on standard error.
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, default_value_t = LogLevel::Warning)]
    pub(crate) log_level: LogLevel,
}

const STDIO_EXAMPLES: &str = r#"Examples:
  Check that it runs:
    echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | oam stdio

  Play a turn without a model; a scripted model answers what its steps say:
    oam stdio <<'END'
    {"jsonrpc":"2.0","id":1,"method":"session/create","params":{"session":"gorm","model":{"type":"scripted","steps":[{"text":"Hmph."}]}}}
    {"jsonrpc":"2.0","id":2,"method":"session/respond","params":{"session":"gorm","prompt":"Hello!","stream":true}}
    END

  Serve the model "system" from worker processes; this worker plays scripts and crashes as often as it is told to:
    oam stdio --worker 'oam worker scripted --fault abort:p=0.05' --log-level info

Environment:
  OAM_WORKER=CMD    Like --worker; looked at after --worker and OAM_SCRIPT.
  OAM_WORKER_…      Handed to workers, which see little else of the environment.
  OAM_SCRIPT=FILE   Every session on the model "system" plays its own copy of this script (a JSON array of steps, or
                    an object with "steps" and "fallback") instead of asking a model.

Exit codes: 0 done, also by SIGTERM; 1 the client did not read, or a stream failed; 2 wrong arguments, an unusable
OAM_SCRIPT, or a worker program that is not there or cannot be executed; 130 interrupted (SIGINT)."#;

fn max_sessions(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("must be a whole number of at least 1".to_owned()),
        Ok(count) => Ok(count),
    }
}

/// How the model "system" is served by worker processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArguments {
    /// The worker program with its arguments, quoted as for a shell. Default: the worker for Apple's model, if it is
    /// installed beside this program.
    #[arg(long, value_name = "CMD")]
    pub(crate) worker: Option<String>,

    /// How many workers play steps at the same time, 1 to 64. Default: 1.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) workers: Option<usize>,

    /// Keep one more worker ready to take over when one dies (the default).
    #[arg(long, overrides_with = "no_spare")]
    spare: bool,

    /// Start a new worker only when one has died.
    #[arg(long, overrides_with = "spare")]
    no_spare: bool,

    /// When answers are streamed: `auto`, the default, stops for a while after a worker died streaming.
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) streaming: Option<Streaming>,

    /// Seconds that a step may go without any progress before its worker is killed and the step played again.
    /// Default: 120.
    #[arg(long, value_name = "SECONDS", value_parser = step_timeout)]
    pub(crate) step_timeout: Option<Duration>,

    /// A step that has crashed this many workers by itself fails for good. Default: 3.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_step_crashes: Option<u32>,
}

impl WorkerArguments {
    /// Whether a spare worker is kept, if that was said.
    pub(crate) fn spare(&self) -> Option<bool> {
        (self.spare || self.no_spare).then_some(self.spare)
    }

    /// The flags that were given and that say something only of workers, apart from `--worker`.
    pub(crate) fn settings_given(&self) -> Vec<&'static str> {
        let flags = [
            ("--workers", self.workers.is_some()),
            ("--spare", self.spare),
            ("--no-spare", self.no_spare),
            ("--streaming", self.streaming.is_some()),
            ("--step-timeout", self.step_timeout.is_some()),
            ("--max-step-crashes", self.max_step_crashes.is_some()),
        ];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }
}

/// When answers are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Streaming {
    Auto,
    Always,
    Never,
}

fn step_timeout(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.1..=86_400.0).contains(&seconds) {
        return Err("must be from 0.1 to 86400 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A time limit for tool calls; `None` waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTimeout(pub(crate) Option<Duration>);

fn tool_timeout(text: &str) -> Result<ToolTimeout, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err("must be from 0 to 86400 seconds (0 waits for ever)".to_owned());
    }
    // Like the same limit in a request: whole milliseconds, and at least one unless there is no limit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a day")]
    let limit = Duration::from_millis(((seconds * 1000.0).round() as u64).max(1));
    Ok(ToolTimeout((seconds > 0.0).then_some(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_tool_timeout_is_a_number_of_seconds_within_a_day() {
        assert_eq!(tool_timeout("0"), Ok(ToolTimeout(None)));
        assert_eq!(tool_timeout("0.3"), Ok(ToolTimeout(Some(Duration::from_millis(300)))));
        assert_eq!(tool_timeout("86400"), Ok(ToolTimeout(Some(Duration::from_hours(24)))));
        for bad in ["-1", "86400.5", "1e300", "NaN", "inf", "", "2 min"] {
            assert!(tool_timeout(bad).is_err(), "{bad}");
        }
    }
}
