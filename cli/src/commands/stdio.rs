//! `oam stdio`: the bridge on the process's own input and output.

use std::{io, process::ExitCode, sync::Arc, time::Duration};

use oam_bridge::{
    Bridge, BridgeConfig,
    transport::stdio::{StopSignals, serve, take_stdio},
};

use crate::{arguments::StdioArguments, logging, models::SystemModel, supervisor_methods::SupervisorMethods};

const USAGE_ERROR: u8 = 2;

/// How long the first requests wait for the first worker, so that what is said of the model is true.
const SETTLE_TIME: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: &StdioArguments) -> ExitCode {
    // Without a log there is still a bridge.
    let _logging = logging::init("stdio", arguments.log_level);
    let model = match SystemModel::choose(&arguments.workers) {
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
