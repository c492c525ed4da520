//! The service that programs share, as commands see it: how it is reached, started and managed (docs/SERVICE.md).

pub(crate) mod client;
mod detached;
pub(crate) mod installation;
mod launchd;
pub(crate) mod manager;
pub(crate) mod reach;
pub(crate) mod running;
pub(crate) mod starts;
mod systemd;

use std::path::Path;

use oam_service::paths::PathError;

use crate::failure::Failure;

/// A command about the service at a socket, if somebody named one, as it is typed: `oam service start --socket PATH`.
pub(crate) fn command(words: &str, socket: Option<&Path>) -> String {
    match socket {
        Some(path) => {
            format!("oam service {words} --socket {}", shell_words::quote(&path.to_string_lossy()))
        }
        None => format!("oam service {words}"),
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::usage(error.to_string())
    }
}
