//! The server over real sockets.

mod bodies;
pub(crate) mod client;
mod faults;
mod held_bodies;
mod lifecycle;
mod long_work;
mod malformed;
mod mutations;
mod requests;
mod sockets;

pub(super) use faults::Faults;
