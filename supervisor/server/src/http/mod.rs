//! The HTTP side of the server.
//!
//! hyper reads requests and writes responses. What it must not get to see is held back by the [`gate`] between it and the
//! socket; [`head`] and [`framing`] say what that is. The [`service`] checks the head of a request, reads its body and asks
//! [`Completions`](crate::Completions); the [`reply`] goes back through hyper. [`server`] owns listeners and connections.

mod access_log;
mod api_key;
mod budget;
mod config;
mod connection;
mod deadline;
mod framing;
mod gate;
mod head;
mod hosts;
mod json_values;
mod lifecycle;
mod listener;
mod origins;
mod reply;
mod route;
mod server;
mod service;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(unix)]
mod unix_socket;

pub use config::{HttpLimits, Recovery, ServerConfig, TcpAddress};
pub use lifecycle::{ServerState, StateObserver};
pub use server::{Server, StartError};
