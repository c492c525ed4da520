//! The server over real sockets.

mod client;
mod faults;
mod held_bodies;
mod lifecycle;
mod malformed;
mod requests;
mod sockets;

pub(super) use faults::Faults;
