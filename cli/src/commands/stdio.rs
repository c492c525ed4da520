//! `oam stdio`: the bridge on the process's own input and output.

use std::{io, process::ExitCode, sync::Arc, time::Duration};

use clap::Args;
use oam_bridge::{
    Bridge, BridgeConfig,
    transport::stdio::{StopSignals, serve, take_stdio},
};

use crate::{
    arguments::{
        model::WorkerArguments,
        seconds::{self, ToolTimeout},
    },
    logging::{self, LogLevel},
    models::SystemModel,
    supervisor_methods::SupervisorMethods,
};

const USAGE_ERROR: u8 = 2;

/// How long the first requests wait for the first worker, so that what is said of the model is true.
const SETTLE_TIME: Duration = Duration::from_secs(2);

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
    #[arg(long, value_name = "SECONDS", default_value = "120", allow_negative_numbers = true, value_parser = seconds::tool_timeout)]
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

pub(crate) fn run(arguments: &StdioArguments) -> ExitCode {
    // Without a log there is still a bridge.
    let _logging = logging::init("stdio", arguments.log_level);
    let model = match SystemModel::choose_with_settings(&arguments.workers) {
        Ok(model) => model,
        Err(error) => {
            tracing::error!("{error}");
            return ExitCode::from(USAGE_ERROR);
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

fn serve_until_end(arguments: &StdioArguments, model: SystemModel) -> io::Result<u8> {
    let handles = take_stdio()?;
    // One thread: a message costs less than waking another one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        // Before there is a worker that a signal could leave behind.
        let mut signals = StopSignals::listen()?;
        let (models, pool) = model.start();
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
        end
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    Ok(end?.exit_code())
}
