//! Services with real sockets, in this process.

mod connections;
mod handover;
mod kit;
mod realms;
mod starts;
mod stops;
