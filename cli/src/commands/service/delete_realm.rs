//! `oam service delete-realm`.

use clap::Args;
use serde_json::json;

use super::SocketArgument;
use crate::{
    console::Console,
    failure::Failure,
    labelled::quoted,
    service::{client, command, manager::Manager},
};

/// Delete a realm and everything in it, for good.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DeleteRealmArguments {
    /// Its name.
    #[arg(value_name = "NAME")]
    realm: String,

    #[command(flatten)]
    socket: SocketArgument,
}

const EXAMPLES: &str = "\
Example:
  oam service delete-realm playtest

The service must run, and nobody may be connected in the realm.

Exit codes: 0 it is gone; 1 it is in use, or there is no such realm, or no service.";

pub(super) fn run(arguments: &DeleteRealmArguments) -> Result<(), Failure> {
    let place = arguments.socket.place(&Manager::of_this_system()?)?;
    let realm = &arguments.realm;
    match client::ask(&place.socket, "service/deleteRealm", &json!({"realm": realm}))? {
        Some(_) => {
            Console::stdout().line(&format!("The realm {} was deleted.", quoted(realm)));
            Ok(())
        }
        None => Err(Failure::io(format!(
            "no service listens at {}. `{}` starts it.",
            place.socket.display(),
            command("start", arguments.socket.named().as_deref())
        ))),
    }
}
