//! `oam service status`: whether the service runs, what it does, and why it does not run.

pub(crate) mod text;

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Place, SocketArgument};
use crate::{
    console::Console,
    failure::{Failure, FailureCode, ReportForm},
    service::{
        manager::Manager,
        running,
        starts::{FailedStart, StartList},
    },
};

/// Tell whether the service runs, what it does, and if it does not run, why.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusArguments {
    /// One JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    socket: SocketArgument,
}

const EXAMPLES: &str = "\
Examples:
  oam service status
  oam service status --json | jq .service.connections

Asking does not start it.

Exit codes: 0 it runs; 1 it does not, and the output says what to do.";

/// What is known of the service from outside, and what it says itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceStatus {
    pub(crate) running: bool,
    /// The socket that was asked about, if somebody named one.
    #[serde(skip)]
    named: Option<PathBuf>,
    pub(crate) socket: PathBuf,
    data: PathBuf,
    pub(crate) log: Option<PathBuf>,
    /// The files that the system's manager has of it; none where it is not installed.
    installed: Vec<PathBuf>,
    manager: &'static str,
    gave_up: bool,
    failed_starts: Vec<FailedStart>,
    /// The process that has the lock, though it does not answer, or listens no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<i32>,
    /// Why it says nothing, though it seems to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<String>,
    /// `service/status`, if it runs, without the connection that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service: Option<Value>,
}

impl ServiceStatus {
    /// Looks at the service that is meant, without starting it.
    pub(crate) fn look(asked: &SocketArgument) -> Result<Self, Failure> {
        let manager = Manager::of_this_system()?;
        let place = asked.place(&manager)?;
        let (mut service, silent) = match place.status(&manager) {
            Ok(service) => (service, None),
            Err(failure) => (None, Some(failure.message)),
        };
        if let Some(connections) = service.as_mut().and_then(|service| service["connections"].as_array_mut())
        {
            connections.retain(|connection| connection["isOwn"] != true);
        }
        let Place { socket, data, log, is_managed } = place;
        let failed_starts = StartList::beside(&data).failed();
        // One that was started by hand may have its realms somewhere else.
        let data = service.as_ref().and_then(folder_of).unwrap_or(data);
        let log = service.as_ref().map_or(log, log_of);
        let process = if service.is_none() { running::process(&socket) } else { None };
        Ok(Self {
            running: service.is_some(),
            named: asked.named(),
            socket,
            log,
            installed: if is_managed { manager.paths() } else { Vec::new() },
            manager: manager.system().manager(),
            gave_up: StartList::has_given_up(&failed_starts),
            failed_starts,
            process: process.map(Pid::as_raw),
            silent,
            service,
            data,
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        json!(self)
    }
}

/// Where a service says that its realms are.
fn folder_of(service: &Value) -> Option<PathBuf> {
    service["store"]["folder"].as_str().map(PathBuf::from)
}

/// Where a service says that it logs; `None` is its standard error.
fn log_of(service: &Value) -> Option<PathBuf> {
    service["log"].as_str().map(PathBuf::from)
}

pub(super) fn run(arguments: &StatusArguments) -> ExitCode {
    let stdout = Console::stdout();
    match ServiceStatus::look(&arguments.socket) {
        Err(failure) => failure.report(if arguments.json { ReportForm::Json } else { ReportForm::Text }),
        Ok(status) => {
            if arguments.json {
                stdout.json(&status.to_json());
            } else {
                stdout.write(&stdout.shown(&text::of(&status)));
            }
            if status.running { ExitCode::SUCCESS } else { ExitCode::from(FailureCode::Io.exit_code()) }
        }
    }
}
