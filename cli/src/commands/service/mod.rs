//! `oam service`: the service that a user's programs share, run, managed and looked at (docs/SERVICE.md).

pub(crate) mod configured;
mod control;
mod delete_realm;
mod install;
mod logs;
pub(crate) mod run;
pub(crate) mod status;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use oam_service::paths;
use serde_json::Value;

use crate::{
    failure::{Failure, ReportForm},
    files,
    service::{manager::Manager, running},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    Run(Box<run::RunArguments>),
    Install(install::InstallArguments),
    Uninstall(install::UninstallArguments),
    Start(control::StartArguments),
    Stop(control::StopArguments),
    Restart(control::RestartArguments),
    Status(status::StatusArguments),
    Logs(logs::LogsArguments),
    DeleteRealm(delete_realm::DeleteRealmArguments),
}

pub(crate) fn run(command: &ServiceCommand) -> ExitCode {
    let done = match command {
        ServiceCommand::Run(arguments) => return run::run(arguments),
        ServiceCommand::Status(arguments) => return status::run(arguments),
        ServiceCommand::Install(arguments) => install::install(arguments),
        ServiceCommand::Uninstall(arguments) => install::uninstall(arguments),
        ServiceCommand::Start(arguments) => control::start(arguments),
        ServiceCommand::Stop(arguments) => control::stop(arguments),
        ServiceCommand::Restart(arguments) => control::restart(arguments),
        ServiceCommand::Logs(arguments) => logs::run(arguments),
        ServiceCommand::DeleteRealm(arguments) => delete_realm::run(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(ReportForm::Text),
    }
}

/// Which service is meant.
#[derive(Debug, Default, Args)]
pub(crate) struct SocketArgument {
    /// The service at this socket [default: the installed one, or at the usual place].
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// A service and its files.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) socket: PathBuf,
    pub(crate) data: PathBuf,
    /// Absent where it logs to standard error.
    pub(crate) log: Option<PathBuf>,
    /// Whether the system's manager listens there.
    pub(crate) is_managed: bool,
}

impl Place {
    /// What the service says of itself, if it runs. To connect would start one that the manager listens for.
    pub(crate) fn status(&self, manager: &Manager) -> Result<Option<Value>, Failure> {
        let may_run = !self.is_managed || manager.is_running() || !manager.is_listening();
        if may_run { running::status(&self.socket) } else { Ok(None) }
    }
}

impl SocketArgument {
    /// Where a service is to listen that nobody manages.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        self.socket.as_ref().map(|path| files::absolute(&files::with_home(path)))
    }

    /// The service that is meant: its files are those of the installed service if it is that one.
    pub(crate) fn place(&self, manager: &Manager) -> Result<Place, Failure> {
        let installed = manager.installed()?;
        let usual = manager.socket_of(installed.as_ref())?;
        let socket = self.named().unwrap_or_else(|| usual.clone());
        paths::check_socket(&socket)?;
        match installed.filter(|_| socket == usual) {
            Some(arguments) => Ok(Place {
                socket,
                data: arguments.data_folder()?,
                log: arguments.log_path()?,
                is_managed: true,
            }),
            None => Ok(Place {
                socket,
                data: paths::data_folder()?,
                log: Some(paths::log_file()?),
                is_managed: false,
            }),
        }
    }
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oam service install          have the system start it when a program connects
  oam service status
  oam service logs -f
  oam stdio --connect          what an engine starts to use it";
