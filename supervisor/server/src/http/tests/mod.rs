//! The server over real sockets.

#[cfg(target_os = "linux")]
mod breaking;
mod client;
mod lifecycle;
mod malformed;
mod requests;
mod sockets;

#[cfg(target_os = "linux")]
pub(super) use breaking::Descriptors;
