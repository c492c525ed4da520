//! Breaks listeners from outside, as nothing inside can.

use std::{
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::Mutex,
};

use nix::sys::socket::{Shutdown, shutdown};

use crate::http::listener::Listener;

/// The descriptors of a server's listeners once more.
#[derive(Debug, Default)]
pub(in crate::http) struct Descriptors(Mutex<Vec<OwnedFd>>);

impl Descriptors {
    /// Keeps those of `listener`.
    pub(in crate::http) fn note(&self, listener: &Listener) {
        let descriptor = match listener {
            Listener::Tcp(listener) => listener.as_fd().try_clone_to_owned(),
            Listener::Socket(file) => file.as_fd().try_clone_to_owned(),
        };
        self.0.lock().unwrap().push(descriptor.unwrap());
    }

    /// Makes all listeners fail.
    pub(super) fn break_all(&self) {
        for descriptor in self.0.lock().unwrap().drain(..) {
            shutdown(descriptor.as_raw_fd(), Shutdown::Both).unwrap();
        }
    }
}
