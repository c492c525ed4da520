//! `oam stdio`: the bridge on the process's own input and output.

use std::{io, process::ExitCode, sync::Arc};

use oam_bridge::{
    Bridge, BridgeConfig, NoSystemModel,
    transport::stdio::{serve, take_stdio},
};

use crate::{
    arguments::StdioArguments,
    logging,
    script_file::{self, ScriptedSystem},
};

const USAGE_ERROR: u8 = 2;

pub(crate) fn run(arguments: &StdioArguments) -> ExitCode {
    // Without a log there is still a bridge.
    let _logging = logging::init("stdio", arguments.log_level);
    let script = match script_file::from_environment() {
        Ok(script) => script,
        Err(error) => {
            tracing::error!("{error}");
            return ExitCode::from(USAGE_ERROR);
        }
    };
    let config = BridgeConfig {
        max_sessions: arguments.max_sessions,
        tool_timeout: arguments.tool_timeout.0,
        allow_scripted_models: !arguments.no_scripted_models,
        models: match script {
            Some(script) => Arc::new(ScriptedSystem::new(script)),
            None => Arc::new(NoSystemModel),
        },
        ..BridgeConfig::default()
    };
    match serve_until_end(config) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tracing::error!(%error, "cannot serve standard input and output");
            ExitCode::FAILURE
        }
    }
}

fn serve_until_end(config: BridgeConfig) -> io::Result<u8> {
    let handles = take_stdio()?;
    // One thread: a message costs less than waking another one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        let (bridge, messages) = Bridge::connect(config);
        serve(handles, messages, &bridge).await
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    Ok(end?.exit_code())
}
