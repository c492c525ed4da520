//! `oam service start`, `stop` and `restart`: through the system's manager where the service is installed, by ourselves
//! elsewhere.

use clap::Args;
use serde_json::Value;

use super::{Place, SocketArgument};
use crate::{
    console::Console,
    failure::Failure,
    service::{
        manager::Manager,
        reach::{MayStart, Reach, replace},
        running::{self, IfItGoesOn},
        starts::StartList,
    },
};

/// Start the service now. Failed starts before that are forgotten.
#[derive(Debug, Args)]
#[command(after_help = START_EXAMPLES)]
pub(crate) struct StartArguments {
    #[command(flatten)]
    socket: SocketArgument,
}

const START_EXAMPLES: &str = "\
Example:
  oam service start

Where the service is installed, the system starts it; elsewhere it is started in the background, with \
the variables of this command (OAM_WORKER and others).

Exit codes: 0 it runs; 1 it does not, and why.";

/// Stop the service: turns under way have some seconds to end.
#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub(crate) struct StopArguments {
    /// Kill it if it does not answer, or does not end.
    #[arg(long)]
    kill: bool,

    #[command(flatten)]
    socket: SocketArgument,
}

const STOP_EXAMPLES: &str = "\
Examples:
  oam service stop
  oam service stop --kill

An installed service starts again with oam service start and with oam stdio --connect; after the next \
login it starts when any program connects. The system kills one that does not end; elsewhere --kill \
does. What realms hold is there again either way.

Exit codes: 0 it does not run; 1 that failed.";

/// Stop the service and start it anew, also with a new program. No program that connects is refused.
#[derive(Debug, Args)]
#[command(after_help = RESTART_EXAMPLES)]
pub(crate) struct RestartArguments {
    #[command(flatten)]
    socket: SocketArgument,
}

const RESTART_EXAMPLES: &str = "\
Example:
  oam service restart

Exit codes: 0 it runs; 1 it does not, and why.";

pub(super) fn start(arguments: &StartArguments) -> Result<(), Failure> {
    let manager = Manager::of_this_system()?;
    let place = arguments.socket.place(&manager)?;
    let before = place.status(&manager)?;
    StartList::beside(&place.data).forget();
    if place.is_managed {
        manager.start()?;
    }
    connect(arguments.socket.named().as_deref())?;
    tell_running(&place, before.as_ref())
}

pub(super) fn stop(arguments: &StopArguments) -> Result<(), Failure> {
    let manager = Manager::of_this_system()?;
    let place = arguments.socket.place(&manager)?;
    let was_running = if place.is_managed {
        let was_running = manager.is_running();
        manager.stop()?;
        was_running
    } else {
        let if_it_goes_on = if arguments.kill { IfItGoesOn::Kill } else { IfItGoesOn::Fail };
        running::stop(&place.socket, if_it_goes_on)?
    };
    Console::stdout().line(if was_running {
        "The service was stopped."
    } else {
        "The service does not run."
    });
    Ok(())
}

pub(super) fn restart(arguments: &RestartArguments) -> Result<(), Failure> {
    let manager = Manager::of_this_system()?;
    let place = arguments.socket.place(&manager)?;
    StartList::beside(&place.data).forget();
    let named = arguments.socket.named();
    if place.is_managed {
        manager.restart()?;
        connect(named.as_deref())?;
    } else if let Some(status) = running::status(&place.socket)? {
        replace(named.as_deref(), &place.socket, &status["pid"])
            .map_err(|failure| saying_who_serves(failure, &place, &status))?;
    } else {
        connect(named.as_deref())?;
    }
    tell_running(&place, None)
}

/// Has the service there, started if need be.
fn connect(socket: Option<&std::path::Path>) -> Result<(), Failure> {
    let reach = Reach::new(socket, "--socket", MayStart::Yes)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(format!("cannot start: {error}")))?;
    runtime.block_on(reach.connect()).map(drop)
}

/// A restart that failed, and that the service before still runs.
fn saying_who_serves(failure: Failure, place: &Place, before: &Value) -> Failure {
    match running::status(&place.socket) {
        Ok(Some(status)) if status["pid"] == before["pid"] => {
            let reason = failure.message.trim_end_matches('.');
            Failure { message: format!("{reason}. Process {} still serves.", status["pid"]), ..failure }
        }
        _ => failure,
    }
}

/// Tells which process runs, and whether it did so `before`.
fn tell_running(place: &Place, before: Option<&Value>) -> Result<(), Failure> {
    let status = running::status(&place.socket)?
        .ok_or_else(|| Failure::io("the service has ended again; `oam service logs` may tell why"))?;
    let already = before.is_some_and(|before| before["pid"] == status["pid"]);
    Console::stdout().line(&format!(
        "The service runs{}: process {}, at {}",
        if already { " already" } else { "" },
        status["pid"],
        place.socket.display()
    ));
    Ok(())
}
