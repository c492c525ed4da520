//! `oam service install` and `uninstall`.

use clap::Args;

use super::SocketArgument;
use crate::{
    console::Console,
    failure::Failure,
    service::{
        installation::Installation,
        manager::{Change, Manager, System},
        running::{self, IfItGoesOn},
        starts::StartList,
    },
};

/// Have the system start the service when a program connects.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct InstallArguments {
    /// Show the files that would be written, and write none.
    #[arg(long)]
    print: bool,

    /// Show those of another system: macos or linux.
    #[arg(long = "for", value_name = "SYSTEM", value_enum, requires = "print", hide_possible_values = true)]
    system: Option<System>,

    /// Arguments for oam service run.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  oam service install
  oam service install --print --for macos
  oam service install -- --worker \"'/opt/my worker/run' --fast\" --idle-exit 600

On macOS it writes a LaunchAgent for launchd, on Linux two units for systemd. It is started with this \
program, these arguments and this PATH; other variables are not handed on. Installing again changes \
what has changed.

Exit codes: 0 installed, or shown; 1 the system does not manage services for this user, or a file \
cannot be written; 2 wrong arguments.";

/// Stop the service, and have the system forget it. What is in realms stays.
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_EXAMPLES)]
pub(crate) struct UninstallArguments {}

const UNINSTALL_EXAMPLES: &str = "\
Example:
  oam service uninstall

Exit codes: 0 it is not installed any more, or was not; 1 that failed.";

pub(super) fn install(arguments: &InstallArguments) -> Result<(), Failure> {
    let manager = Manager::of(arguments.system.unwrap_or(System::here()))?;
    let installation = Installation::new(arguments.arguments.clone(), &manager)?;
    let stdout = Console::stdout();
    if !arguments.print {
        installation.expect_here()?;
        manager.expect_manager()?;
    }
    for variable in Installation::variables_not_handed_on() {
        Console::stderr().warning(&format!(
            "{variable} is set here, and the service does not get it; say it behind --, such as --worker CMD"
        ));
    }
    if arguments.print {
        for (index, file) in manager.files(&installation)?.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            stdout.write(&format!("{gap}# {}\n{}", file.path.display(), file.content));
        }
        return Ok(());
    }
    // The manager is to listen where somebody else does. Where it listens already, to connect would start the service.
    if !manager.is_running()
        && !manager.is_listening()
        && running::stop(&installation.socket, IfItGoesOn::Fail)?
    {
        stdout.line("The service that ran without a manager was stopped.");
    }
    let change = manager.install(&installation)?;
    let place = SocketArgument::default().place(&manager)?;
    StartList::beside(&place.data).forget();
    let verb = match change {
        Change::Made => "was installed",
        Change::Unneeded => "is installed already",
    };
    stdout.line(&format!(
        "The service {verb}; {} starts it when a program connects.",
        manager.system().manager()
    ));
    for path in manager.paths() {
        stdout.line(&format!("  {}", path.display()));
    }
    stdout.line(&format!("Socket: {}", place.socket.display()));
    Ok(())
}

pub(super) fn uninstall(_: &UninstallArguments) -> Result<(), Failure> {
    let manager = Manager::of_this_system()?;
    let stdout = Console::stdout();
    // Also where what is installed cannot be understood.
    let data = SocketArgument::default().place(&manager).map(|place| place.data).ok();
    let removed = manager.uninstall()?;
    if removed.is_empty() {
        stdout.line("The service is not installed.");
    } else {
        stdout.line("The service was stopped and is not installed any more. Removed:");
    }
    for path in &removed {
        stdout.line(&format!("  {}", path.display()));
    }
    if let Some(data) = data.filter(|data| data.exists()) {
        stdout.line(&format!("What realms hold is kept in {}", data.display()));
    }
    Ok(())
}
