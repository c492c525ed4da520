//! The bridge as its host holds it.

use std::{
    fmt, io, mem, process,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use oam_agent::ErrorCode;
use oam_bridge::{
    BridgeError, RequestId,
    message::{CallRequest, Outgoing, Rejected, parse_call},
    outbox::Outbox,
    transport::MAX_LINE_BYTES,
};
use tokio_util::sync::CancellationToken;

use crate::{
    blocking,
    delivery::{Delivery, DeliveryEnd},
    intake::Intake,
    log::Log,
    options::EmbeddedOptions,
    signals,
    supervisor::{Started, Supervisor},
};

/// A bridge in this process. All of it may be used from any thread, also from within the callback, except where it says
/// otherwise. Dropping it closes it.
pub struct EmbeddedBridge {
    intake: Arc<Intake>,
    delivery: Arc<Delivery>,
    outbox: Outbox,
    log: Log,
    ending: Arc<Ending>,
    process: u32,
}

/// What ends with the bridge.
struct Ending {
    stop: CancellationToken,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Ending {
    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a bridge could not be started: the system has no more threads or descriptors.
#[derive(Debug, thiserror::Error)]
#[error("the bridge cannot be started: {0}")]
pub struct StartError(#[from] io::Error);

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The bridge was closed.
    #[error("the bridge is closed")]
    Closed,
    /// The bridge was given up, because its callback did not take the messages that waited for it.
    #[error("the bridge was given up: its callback did not take messages")]
    GivenUp,
    /// This process was forked from the one that has the bridge.
    #[error("the bridge is in the process from which this one was forked")]
    Forked,
}

/// What a bridge is to do.
pub(crate) enum Setup {
    Serving(EmbeddedOptions),
    /// Answer every request with this error.
    Refusing(BridgeError),
}

impl fmt::Debug for EmbeddedBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedBridge").field("process", &self.process).finish_non_exhaustive()
    }
}

impl EmbeddedBridge {
    /// Starts a bridge, which hands each message to `on_message`: one line without its end, one at a time, in the order
    /// in which they were produced, on a thread of the bridge. It should return soon; until it does, further messages
    /// wait. It may use the bridge, except for [`call`](Self::call).
    pub fn start(
        options: EmbeddedOptions,
        on_message: impl FnMut(&str) + Send + 'static,
    ) -> Result<Self, StartError> {
        Self::start_with(Setup::Serving(options), on_message)
    }

    /// Starts a bridge that answers every request with `error`, for a host that cannot be told in another way what is
    /// wrong with the options it gave.
    pub fn start_refusing(
        error: BridgeError,
        on_message: impl FnMut(&str) + Send + 'static,
    ) -> Result<Self, StartError> {
        Self::start_with(Setup::Refusing(error), on_message)
    }

    fn start_with(setup: Setup, on_message: impl FnMut(&str) + Send + 'static) -> Result<Self, StartError> {
        let log = Log::from_environment();
        let (intake, delivery) = (Arc::new(Intake::default()), Arc::new(Delivery::default()));
        let stop = CancellationToken::new();
        let supervisor =
            Supervisor { intake: Arc::clone(&intake), delivery: Arc::clone(&delivery), stop: stop.clone() };
        let (started, has_started) = mpsc::sync_channel(1);
        let thread_log = log.clone();
        let supervising = signals::blocked(|| {
            thread::Builder::new()
                .name("oam-supervisor".to_owned())
                .spawn(move || thread_log.during(|| supervisor.run(setup, &started)))
        })?;
        let started = has_started.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        let Started { runtime, outbox, messages } = started?;
        // From here on a failure stops the thread that was started.
        let ending = Arc::new(Ending { stop, threads: Mutex::new(vec![supervising]) });
        let bridge = Self { intake, delivery, outbox, log, ending, process: process::id() };
        let (thread_log, delivery) = (bridge.log.clone(), Arc::clone(&bridge.delivery));
        let delivering = signals::blocked_for_callbacks(|| {
            thread::Builder::new()
                .name("oam-callbacks".to_owned())
                .spawn(move || thread_log.during(|| delivery.run(&runtime, messages, on_message)))
        })?;
        bridge.ending.threads().push(delivering);
        Ok(bridge)
    }

    /// Takes in one message: a request, a notification, or the response to a `tool/call`. Never waits for model work.
    /// White space around it is ignored, and so is a blank line. Whatever is wrong with it is told through the callback.
    pub fn send(&self, line: &str) -> Result<(), SendError> {
        if self.is_forked() {
            return Err(SendError::Forked);
        }
        match self.delivery.ended() {
            Some(DeliveryEnd::Closed) => return Err(SendError::Closed),
            Some(DeliveryEnd::GivenUp) => return Err(SendError::GivenUp),
            None => {}
        }
        let line = (line.len() <= MAX_LINE_BYTES).then_some(line);
        self.log.during(|| self.intake.take_line(line));
        Ok(())
    }

    /// Makes one request and waits for its response, which does not go to the callback: `limit` at most, then the request
    /// is cancelled and the answer is the error `timeout`. Everything that was produced before the response has been handed
    /// to the callback by then, unless that takes longer than `limit`.
    ///
    /// The request takes its place among the messages that were sent. It needs neither `jsonrpc` nor `id`; without an `id`
    /// the response has `null`, and events and tool calls name a private one, `local-<n>`. Tool calls have to be answered
    /// by another thread, or in the callback. Within the callback itself it is refused: it would wait for itself.
    pub fn call(&self, request: &str, limit: Option<Duration>) -> String {
        let CallRequest { id, method, params } = match self.callable(request) {
            Ok(request) => request,
            Err(Rejected { id, error, .. }) => return failure(id.as_ref(), &error),
        };
        let deadline = blocking::deadline(limit);
        let (waiter, ticket) = blocking::call();
        let outbox = self.outbox.clone();
        let inner = CallRequest { id: id.clone(), method: method.clone(), params };
        self.log.during(|| self.intake.take(move |bridge| ticket.present(bridge, outbox, inner)));
        let answered = waiter.wait(&method, limit);
        let result = match (answered, self.delivery.ended()) {
            (Some(answered), None) => {
                self.delivery.wait_until_handed(answered.place, deadline);
                answered.result
            }
            (_, Some(end)) => Err(ended(end)),
            (None, None) => Err(BridgeError::shut_down()),
        };
        match result {
            Ok(result) => Outgoing::Result { id: id.as_ref(), result: &result }.to_text(),
            Err(error) => failure(id.as_ref(), &error),
        }
    }

    /// Whether this is a copy in a process that has none of the bridge's threads. Its locks are as somebody left them, and
    /// its descriptors are those of the host.
    fn is_forked(&self) -> bool {
        self.process != process::id()
    }

    fn callable(&self, request: &str) -> Result<CallRequest, Rejected> {
        if request.len() > MAX_LINE_BYTES {
            return Err(Rejected::new(None, BridgeError::line_too_long(MAX_LINE_BYTES)));
        }
        let request = parse_call(request.as_bytes())?;
        let problem = if self.is_forked() {
            Some(forked())
        } else if self.delivery.is_callback_thread() {
            let message = format!(
                "'{}' must not be called and waited for within the callback, which would wait for itself; send it.",
                request.method
            );
            Some(BridgeError::agent(ErrorCode::InvalidRequest, message))
        } else {
            self.delivery.ended().map(ended)
        };
        match problem {
            Some(error) => Err(Rejected::new(request.id, error)),
            None => Ok(request),
        }
    }

    /// Ends the bridge: cancels turns and tool calls, waits for a callback in progress and for the workers to end, half a
    /// second at most unless the callback takes longer. There is no callback afterwards, and no response to what was in
    /// flight. Within the callback nothing is waited for: that callback is the last one. Closing twice does nothing.
    pub fn close(&self) {
        if self.is_forked() {
            return;
        }
        self.delivery.close();
        self.intake.close();
        self.outbox.close();
        self.ending.stop.cancel();
        if self.delivery.is_callback_thread() {
            return;
        }
        for thread in self.ending.threads().drain(..) {
            // A callback that owns the bridge closes it when its thread ends and drops it.
            if thread.thread().id() != thread::current().id() {
                // A panic has been told where it happened.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for EmbeddedBridge {
    fn drop(&mut self) {
        if self.is_forked() {
            // It has locks, and the handles of threads that are not here.
            mem::forget(Arc::clone(&self.ending));
        }
        self.close();
    }
}

fn forked() -> BridgeError {
    BridgeError {
        message:
            "The bridge is in the process from which this one was forked; a process needs one of its own."
                .to_owned(),
        ..BridgeError::shut_down()
    }
}

fn ended(end: DeliveryEnd) -> BridgeError {
    match end {
        DeliveryEnd::Closed => BridgeError::shut_down(),
        DeliveryEnd::GivenUp => BridgeError {
            message: "The bridge has shut down: its callback did not take messages.".to_owned(),
            ..BridgeError::shut_down()
        },
    }
}

fn failure(id: Option<&RequestId>, error: &BridgeError) -> String {
    Outgoing::Error { id, error }.to_text()
}
