//! A request whose answer its sender waits for.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use oam_bridge::{Bridge, BridgeError, Canceller, Payload, message::CallRequest, outbox::Outbox};

/// How long a cancelled request may take to end; until then it may show in a transcript.
const CANCEL_GRACE: Duration = Duration::from_millis(100);
/// How long one may take that can no longer be cancelled, because its effect is certain.
const COMMIT_GRACE: Duration = Duration::from_secs(1);

/// An answer, and the place in the outbox behind everything that was said before it.
pub(crate) struct Answered {
    pub(crate) result: Result<Payload, BridgeError>,
    pub(crate) place: u64,
}

/// What the caller holds.
pub(crate) struct Waiter {
    answers: Receiver<Answered>,
    stage: Arc<Mutex<Stage>>,
}

/// What goes to the bridge.
pub(crate) struct Ticket {
    answer: SyncSender<Answered>,
    stage: Arc<Mutex<Stage>>,
}

enum Stage {
    /// The bridge has not seen the request yet.
    Waiting,
    Handled(Canceller),
    /// The caller has gone.
    Abandoned,
}

/// Both ends of a call.
pub(crate) fn call() -> (Waiter, Ticket) {
    // Room for the one answer, so that nobody waits to give it.
    let (answer, answers) = mpsc::sync_channel(1);
    let stage = Arc::new(Mutex::new(Stage::Waiting));
    (Waiter { answers, stage: Arc::clone(&stage) }, Ticket { answer, stage })
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ticket {
    /// Has the bridge handle the request, unless its caller has gone.
    pub(crate) fn present(self, bridge: &Bridge, outbox: Outbox, request: CallRequest) {
        let Self { answer, stage } = self;
        let mut stage = lock(&stage);
        if matches!(*stage, Stage::Abandoned) {
            return;
        }
        let CallRequest { id, method, params } = request;
        let canceller = bridge.call_then(&method, params, id, move |result| {
            // The caller may have gone.
            let _ = answer.try_send(Answered { result, place: outbox.place() });
        });
        *stage = Stage::Handled(canceller);
    }
}

impl Waiter {
    /// The answer; `None` when the bridge was closed before there was one.
    pub(crate) fn wait(self, method: &str, limit: Option<Duration>) -> Option<Answered> {
        let Some(limit) = limit else { return self.answers.recv().ok() };
        let answered = match self.answers.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => self.give_up(),
            answered => return answered.ok(),
        };
        Some(answered.unwrap_or_else(|| Answered { result: Err(timed_out(method, limit)), place: 0 }))
    }

    /// Cancels the request. Returns its answer if it was too late for that.
    fn give_up(&self) -> Option<Answered> {
        let is_cancelled = match mem::replace(&mut *lock(&self.stage), Stage::Abandoned) {
            Stage::Handled(canceller) => canceller.cancel(),
            Stage::Waiting | Stage::Abandoned => return None,
        };
        let grace = if is_cancelled { CANCEL_GRACE } else { COMMIT_GRACE };
        let answered = self.answers.recv_timeout(grace).ok();
        answered.filter(|_| !is_cancelled)
    }
}

fn timed_out(method: &str, limit: Duration) -> BridgeError {
    let message = format!("'{method}' took longer than {} ms; the request was cancelled.", limit.as_millis());
    BridgeError { message, ..BridgeError::timeout() }
}

/// The end of a wait that begins now; `None` where there is none, or none that a clock can tell.
pub(crate) fn deadline(limit: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(limit?)
}
