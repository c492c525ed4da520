//! Failures that no test can bring about from outside.

use tokio::sync::Notify;

use crate::http::listener::{AcceptError, Accepted, Listener};

/// Listeners that fail when a test says so.
#[derive(Debug, Default)]
pub(in crate::http) struct Faults(Notify);

impl Faults {
    /// Accepts, unless it is time to fail.
    pub(in crate::http) async fn accept(&self, listener: &Listener) -> Result<Accepted, AcceptError> {
        tokio::select! {
            accepted = listener.accept() => accepted,
            () = self.0.notified() => Err(AcceptError::Listener(std::io::Error::other("broken by a test"))),
        }
    }

    /// Makes a listener fail, now or as soon as it accepts.
    pub(super) fn break_listener(&self) {
        self.0.notify_one();
    }
}
