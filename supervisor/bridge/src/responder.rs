//! Who gets the answer to a request: exactly one answer, whatever happens to the work.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

use crate::{
    message::{BridgeError, Outgoing, Payload, RequestId},
    outbox::Outbox,
};

/// Where answers leave, and how many are still owed.
#[derive(Debug)]
pub(crate) struct Answers {
    outbox: Outbox,
    /// Requests and notifications whose work is not done.
    owed: AtomicUsize,
    /// Somebody wants to know when none is owed; telling costs too much to do it for nobody.
    is_awaited: AtomicBool,
    settled: Notify,
}

impl Answers {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, owed: AtomicUsize::new(0), is_awaited: AtomicBool::new(false), settled: Notify::new() }
    }

    /// How many answers are owed.
    pub(crate) fn owed(&self) -> usize {
        self.owed.load(Ordering::SeqCst)
    }

    /// Resolves when no answer is owed.
    pub(crate) async fn none_owed(&self) {
        self.is_awaited.store(true, Ordering::SeqCst);
        loop {
            let mut settled = pin!(self.settled.notified());
            settled.as_mut().enable();
            if self.owed.load(Ordering::SeqCst) == 0 {
                return;
            }
            settled.await;
        }
    }

    fn settle_one(&self) {
        if self.owed.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_awaited.load(Ordering::SeqCst) {
            self.settled.notify_waiters();
        }
    }
}

/// Answers one request. Dropped without an answer (its work panicked), it answers `internal_error`.
pub(crate) struct Responder {
    to: Option<Recipient>,
    /// The request changes something.
    is_change: bool,
    answers: Arc<Answers>,
}

/// What takes the answer to a call from within this process.
pub(crate) type Caller = Box<dyn FnOnce(Result<Payload, BridgeError>) + Send>;

/// Where an answer goes.
pub(crate) enum Recipient {
    /// To the client, as a response.
    Client {
        /// The request's id.
        id: RequestId,
    },
    /// To code in this process.
    Caller(Caller),
    /// Nowhere: the message was a notification.
    Nobody,
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("is_answered", &self.to.is_none()).finish_non_exhaustive()
    }
}

impl Responder {
    pub(crate) fn new(to: Recipient, answers: &Arc<Answers>) -> Self {
        answers.owed.fetch_add(1, Ordering::SeqCst);
        Self { to: Some(to), is_change: false, answers: Arc::clone(answers) }
    }

    /// The request changes something: its result must not leave before that is on disk.
    pub(crate) fn is_of_change(&mut self) {
        self.is_change = true;
    }

    pub(crate) fn answer(mut self, result: Result<Payload, BridgeError>) {
        if let Some(to) = self.to.take() {
            to.deliver(result, self.is_change, &self.answers.outbox);
        }
    }
}

impl Recipient {
    fn deliver(self, result: Result<Payload, BridgeError>, is_change: bool, outbox: &Outbox) {
        if let Err(error) = &result {
            tracing::debug!(code = &*error.name, "a request failed: {}", error.message);
        }
        match self {
            Self::Client { id } => match &result {
                Ok(result) if is_change => outbox.push_change(&id, result),
                Ok(result) => outbox.push(Outgoing::Result { id: Some(&id), result }),
                Err(error) => outbox.push(Outgoing::Error { id: Some(&id), error }),
            },
            Self::Caller(caller) => caller(result),
            Self::Nobody => {}
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let error = BridgeError::internal_error("The request's work ended without an answer.");
            to.deliver(Err(error), self.is_change, &self.answers.outbox);
        }
        self.answers.settle_one();
    }
}
