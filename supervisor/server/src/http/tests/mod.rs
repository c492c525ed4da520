//! The server over real sockets.

pub(crate) mod client;
mod faults;
mod lifecycle;
mod malformed;
mod requests;
mod sockets;

pub(super) use faults::Faults;
