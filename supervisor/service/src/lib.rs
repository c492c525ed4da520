//! The service that all programs of one user share: a bridge on a Unix socket, over one pool of workers, with realms that
//! are on disk (docs/SERVICE.md).
//!
//! [`Service`] listens at the user's socket, or at one that [systemd or launchd](Activation) opened. Each connection is a
//! [`Bridge`](oam_bridge::Bridge) of its own; those that name a realm share one, which `oam-store` keeps. One service at a
//! time serves at a socket: a lock beside it decides. A newer one [takes over](ServiceConfig::replace) without a
//! connection being refused.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod activation;
mod config;
mod connection;
mod connections;
mod entry;
mod error;
mod fair_share;
mod folder;
mod giving_up;
mod handover;
mod journal;
mod launchd;
mod loading;
mod manager;
mod methods;
pub mod paths;
mod peer;
mod phase;
mod realms;
mod service;
mod settings;
mod shared_look;
mod socket;
mod status;
#[cfg(test)]
mod tests;
mod watchdog;

pub use activation::{Activation, ActivationError, LAUNCHD_SOCKET, Manager};
pub use config::{ServiceConfig, ServiceLimits};
pub use error::ServiceError;
pub use folder::FolderError;
pub use giving_up::give_up;
pub use phase::StopReason;
pub use service::Service;
pub use settings::{Settings, SettingsError};

/// The process that serves at `socket`, as far as its lock tells: also one that does not answer, or listens no more.
pub fn process_at(socket: &std::path::Path) -> Option<u32> {
    oam_store::ProcessLock::holder(&paths::lock_file(socket))
}
