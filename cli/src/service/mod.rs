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

use crate::failure::Failure;
use oam_service::paths::PathError;

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::usage(error.to_string())
    }
}
