//! `oam stdio`: the bridge on the process's own input and output.

mod connect;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use oam_bridge::{
    Bridge, BridgeConfig,
    transport::stdio::{StopSignals, serve, take_stdio},
};
use oam_system::SupervisorMethods;

use crate::{
    arguments::{
        model::WorkerArguments,
        recording::RecordingArguments,
        seconds::{self, ToolTimeout},
    },
    console::Console,
    logging::{self, LogLevel},
    models::{StartedModels, SystemModel},
    recording::ActiveRecording,
};

/// How long the first requests wait for the first worker, so that what is said of the model is true.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Serve the bridge protocol on standard input and output, one JSON-RPC 2.0 message a line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StdioArguments {
    /// Use the service, at this socket or the usual one, instead of a bridge of one's own.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, conflicts_with_all = OF_A_BRIDGE)]
    #[expect(clippy::option_option, reason = "the flag may come without its value")]
    connect: Option<Option<PathBuf>>,

    /// With --connect: fail if no service is there, instead of starting it.
    #[arg(long, requires = "connect")]
    no_start: bool,

    /// How many sessions may exist at once.
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true, value_parser = max_sessions)]
    pub(crate) max_sessions: usize,

    /// For the answer to a tool call, to 86400; 0: for ever.
    #[arg(long, value_name = "SECONDS", default_value = "120", allow_negative_numbers = true, value_parser = seconds::tool_timeout)]
    pub(crate) tool_timeout: ToolTimeout,

    /// Refuse scripted models in requests.
    #[arg(long)]
    pub(crate) no_scripted_models: bool,

    /// What to log: debug, info, warn(ing) or error.
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, hide_possible_values = true)]
    #[arg(default_value_t = LogLevel::Warning)]
    pub(crate) log_level: LogLevel,

    #[command(flatten)]
    pub(crate) workers: WorkerArguments,

    #[command(flatten)]
    pub(crate) recordings: RecordingArguments,
}

/// What is said of a bridge of one's own, which the service has arguments of its own for.
const OF_A_BRIDGE: [&str; 16] = [
    "max_sessions",
    "tool_timeout",
    "no_scripted_models",
    "worker",
    "workers",
    "spare",
    "no_spare",
    "streaming",
    "step_timeout",
    "max_step_crashes",
    "record",
    "append",
    "redact",
    "pace",
    "replay",
    "replay_match",
];

const EXAMPLES: &str = "\
Examples:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | oam stdio
  oam stdio --connect
  oam stdio --worker 'oam worker scripted --fault abort:p=0.05' --log-level info

Environment:
  OAM_SCRIPT=FILE       a script, or recording (OAM_REPLAY_MATCH), that each session plays
  OAM_RECORD=FILE       like --record; OAM_RECORD_APPEND=1, _REDACT=1 and _PACE=1: the same
  OAM_WORKER=CMD        like --worker; looked at after --worker and OAM_SCRIPT
  OAM_WORKER_…          handed to workers, which see little else of the environment

Exit codes: 0 done, also by SIGTERM; 1 the client did not read, a stream failed, the service was \
lost, or the recording cannot be written; 2 wrong arguments, an unusable script, recording or worker \
program; 130 interrupted (SIGINT). More: docs/PROTOCOL.md, docs/OPERATIONS.md, docs/SERVICE.md.";

pub(crate) fn max_sessions(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("must be a whole number of at least 1".to_owned()),
        Ok(count) => Ok(count),
    }
}

pub(crate) fn run(arguments: &StdioArguments) -> ExitCode {
    if arguments.connect.is_some() {
        return connect::run(arguments);
    }
    // Without a log there is still a bridge.
    let _logging = logging::init(Some("oam stdio"), arguments.log_level);
    let model = match SystemModel::choose_with_settings(&arguments.workers, &arguments.recordings) {
        Ok(model) => model,
        Err(error) => {
            tracing::error!("{error}");
            return ExitCode::from(error.code.exit_code());
        }
    };
    match serve_until_end(arguments, model) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tracing::error!(%error, "cannot serve standard input and output");
            ExitCode::FAILURE
        }
    }
}

fn greet_terminal() {
    if io::stdin().is_terminal() {
        let hint =
            "This reads JSON-RPC messages, one a line, from the terminal. Ctrl-D ends it; --help shows more.";
        Console::stderr().line(hint);
    }
}

fn serve_until_end(arguments: &StdioArguments, model: SystemModel) -> io::Result<u8> {
    greet_terminal();
    let handles = take_stdio()?;
    // One thread: a message costs less than waking another one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        // Before there is a worker that a signal could leave behind.
        let mut signals = StopSignals::listen()?;
        let StartedModels { models, pool, recording } = model.start();
        let mut config = BridgeConfig {
            max_sessions: arguments.max_sessions,
            tool_timeout: arguments.tool_timeout.0,
            allow_scripted_models: !arguments.no_scripted_models,
            models,
            ..BridgeConfig::default()
        };
        if let Some(pool) = &pool {
            config.method_sets.push(Arc::new(SupervisorMethods::new(pool.clone())));
            tokio::select! {
                () = signals.arrived() => {}
                // A worker that takes longer is reported as not ready until it is.
                _ = tokio::time::timeout(SETTLE_TIME, pool.settled()) => {}
            }
        }
        let (bridge, messages) = Bridge::connect(config);
        // As a task: when a turn wakes what the runtime itself waits for, that looks for input before it goes on.
        let serving = tokio::spawn(async move {
            let end = serve(handles, messages, &bridge, &mut signals).await;
            (end, signals)
        });
        let (end, mut signals) = serving.await?;
        if let Some(pool) = &pool {
            tokio::select! {
                biased;
                // The end of the runtime kills what is left.
                () = signals.insisted() => tracing::info!("a second signal: workers are not waited for"),
                () = pool.stop() => {}
            }
        }
        let saved = recording.map_or(Ok(()), ActiveRecording::finish);
        end.map(|end| (end, saved))
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    let (end, saved) = end?;
    Ok(match saved {
        Ok(()) => end.exit_code(),
        Err(failure) => {
            tracing::error!("{failure}");
            failure.code.exit_code()
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, error::ErrorKind};

    use super::*;

    #[test]
    fn the_service_is_told_nothing_that_is_said_of_a_bridge_of_ones_own() {
        let command = StdioArguments::augment_args(Command::new("stdio"));
        let refusal =
            |words: &[&str]| command.clone().try_get_matches_from(words).err().map(|error| error.kind());
        for argument in command.get_arguments() {
            let flag = format!("--{}", argument.get_long().unwrap_or_default());
            if ["--connect", "--no-start", "--log-level"].contains(&&*flag) {
                continue;
            }
            let possible = argument.get_possible_values();
            let value = possible.first().map_or("1", |value| value.get_name());
            let mut words = vec!["stdio", "--connect", &flag];
            words.extend(argument.get_action().takes_values().then_some(value));
            assert_eq!(refusal(&words), Some(ErrorKind::ArgumentConflict), "{flag}");
        }
        assert_eq!(refusal(&["stdio", "--connect", "--no-start", "--log-level", "info"]), None);
    }
}
