//! Who gets the answer to a request: exactly one answer, whatever happens to the work.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Notify, oneshot};

use crate::{
    message::{BridgeError, Outgoing, Payload, RequestId},
    outbox::Outbox,
};

/// Counts the requests and notifications whose work is not done.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    count: AtomicUsize,
    changed: Notify,
}

impl Unanswered {
    /// Resolves when none is left.
    pub(crate) async fn none(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }

    fn add(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    fn remove(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

/// Answers one request. Dropped without an answer (its work panicked), it answers `internal_error`.
#[derive(Debug)]
pub(crate) struct Responder {
    to: Option<Recipient>,
    unanswered: Arc<Unanswered>,
}

/// Where an answer goes.
#[derive(Debug)]
pub(crate) enum Recipient {
    /// To the client, as a response.
    Client {
        /// The request's id.
        id: RequestId,
        /// The way out.
        outbox: Outbox,
    },
    /// To code in this process.
    Caller(oneshot::Sender<Result<Payload, BridgeError>>),
    /// Nowhere: the message was a notification.
    Nobody {
        /// The method, for the log.
        method: String,
    },
}

impl Responder {
    pub(crate) fn new(to: Recipient, unanswered: &Arc<Unanswered>) -> Self {
        unanswered.add();
        Self { to: Some(to), unanswered: Arc::clone(unanswered) }
    }

    pub(crate) fn answer(mut self, result: Result<Payload, BridgeError>) {
        if let Some(to) = self.to.take() {
            to.deliver(result);
        }
    }
}

impl Recipient {
    fn deliver(self, result: Result<Payload, BridgeError>) {
        match self {
            Self::Client { id, outbox } => outbox.push(match &result {
                Ok(result) => Outgoing::Result { id: &id, result },
                Err(error) => Outgoing::Error { id: Some(&id), error },
            }),
            Self::Caller(caller) => {
                // A caller that went away asked for nothing more.
                let _ = caller.send(result);
            }
            Self::Nobody { method } => {
                if let Err(error) = result {
                    tracing::debug!(method, "a notification failed: {}", error.message);
                }
            }
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            to.deliver(Err(BridgeError::internal_error("The request's work ended without an answer.")));
        }
        self.unanswered.remove();
    }
}
