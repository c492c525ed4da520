//! Services with real sockets, in this process.

mod connections;
mod handover;
mod kit;
mod places;
mod realms;
mod starts;
mod stops;
