//! The one way out: messages leave in the order in which they were pushed.
//!
//! Producers serialise into one shared buffer, and the consumer takes whatever has gathered there as one
//! batch, so that a burst of messages costs one write. Pushing never waits. What a client that stops reading
//! can cost is bounded in two steps:
//!
//! * Events in which an answer grows are normally written one by one. Past the high-water mark they are merged, one
//!   pending event for each turn, which grows no faster than the answer itself. Any other message is written behind the
//!   merged events that were pending, so events still come before the response they belong to.
//! * Past the hard limit the outbox overflows: everything unwritten is dropped, and the connection has to
//!   end.
//!
//! In a durable realm a message also waits for the disk: [`Outbox::guard`].

mod gate;
mod growth;

use std::{
    future::poll_fn,
    mem,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    journal::Journal,
    message::{EventContext, Outgoing, Payload, RequestId},
};
use gate::Gate;

pub use gate::STORAGE_PATIENCE;
pub use growth::Growth;

/// How much may wait to be written, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxLimits {
    /// From here on events in which an answer grows are merged.
    pub merge_growth_above: usize,
    /// A client that takes nothing for [`OVERFLOW_GRACE`] while more than this is unread is given up. A single message
    /// may be larger while nothing else waits.
    pub overflow_above: usize,
}

/// With more than this unwritten, in bytes, [`Outbox::is_heavy`].
const HEAVY_ABOVE: usize = 16 << 20;

/// How long a client may take nothing while more than the limit is unwritten. What one request or turn produces at
/// once is not held against a client that is reading, however long it takes to produce.
pub const OVERFLOW_GRACE: Duration = Duration::from_secs(2);

/// Beyond this many times the limit there is no grace.
const HOPELESS_FACTOR: usize = 8;

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { merge_growth_above: 256 << 10, overflow_above: 64 << 20 }
    }
}

/// Where messages are pushed. Clones push into the same outbox.
#[derive(Debug, Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

/// Where batches of messages are taken. Dropping it closes the outbox.
#[derive(Debug)]
pub struct OutboxConsumer {
    shared: Arc<Shared>,
    spare: Vec<u8>,
}

/// A new outbox.
pub fn outbox(limits: OutboxLimits) -> (Outbox, OutboxConsumer) {
    let shared = Arc::new(Shared {
        limits,
        state: Mutex::default(),
        overflowed: CancellationToken::new(),
        heavy: AtomicBool::new(false),
        turned: Notify::new(),
        gate_turned: Notify::new(),
    });
    (Outbox { shared: Arc::clone(&shared) }, OutboxConsumer { shared, spare: Vec::new() })
}

#[derive(Debug)]
struct Shared {
    limits: OutboxLimits,
    state: Mutex<State>,
    overflowed: CancellationToken,
    /// More than [`HEAVY_ABOVE`] is unwritten.
    heavy: AtomicBool,
    /// Notified when nothing is unwritten any more, and when more than the limit is.
    turned: Notify,
    /// Notified when the gate begins to hold something, and when nothing more will be held.
    gate_turned: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Messages, each with its line end.
    pending: Vec<u8>,
    /// Merged events that stand behind `pending`, one for each turn.
    merged: Vec<Merged>,
    merged_bytes: usize,
    /// What waits for the disk: it stands behind `pending` and before `merged`.
    gate: Option<Gate>,
    /// The size of the batch that the consumer is writing.
    taken: usize,
    /// How many messages have been written, here or behind the gate, and merged ones that were.
    messages: u64,
    is_closed: bool,
    /// Somebody waits until nothing is unwritten.
    is_awaited: bool,
    consumer: Option<Waker>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the client up.
    fn overflow(&self, state: &mut State) {
        tracing::error!(
            unwritten = state.unwritten(),
            waiting_for_disk = state.held_bytes(),
            limit = self.limits.overflow_above,
            "the client does not read its messages; the connection ends"
        );
        self.end(state);
        self.overflowed.cancel();
    }

    /// Drops what is in; nothing more comes in.
    fn end(&self, state: &mut State) {
        state.end();
        self.turned.notify_waiters();
        self.gate_turned.notify_one();
    }

    fn is_overfull(&self, state: &State) -> bool {
        state.unwritten() > self.limits.overflow_above
    }
}

impl Outbox {
    /// Puts a message in. After the end of the outbox it is dropped.
    pub fn push(&self, message: Outgoing<'_>) {
        self.put(None, message);
    }

    /// Puts in the result of a request that changed something. It leaves as `storage_failed` when the change is not on disk
    /// and [patience](STORAGE_PATIENCE) is over.
    pub fn push_change(&self, id: &RequestId, result: &Payload) {
        self.put(Some(id), Outgoing::Result { id: Some(id), result });
    }

    fn put(&self, changed_by: Option<&RequestId>, message: Outgoing<'_>) {
        self.append(|state, _| {
            state.write(changed_by, |out| {
                message.write(out);
                out.push(b'\n');
            });
        });
    }

    /// Puts in how the answer of a turn grew. Events that share a context (the same `Arc`) belong to one turn and may
    /// be merged.
    pub fn push_growth(&self, context: &Arc<EventContext>, growth: Growth<'_>) {
        self.append(|state, limits| {
            if state.unwritten() < limits.merge_growth_above {
                state.write(None, |out| growth.write(out, context));
            } else {
                state.merge(context, growth);
            }
        });
    }

    /// No more messages: those that are in are still delivered.
    pub fn close(&self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        let consumer = state.consumer.take();
        drop(state);
        self.shared.gate_turned.notify_one();
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    /// From now on a message leaves only when every record that `journal` had before it was pushed is on disk. While the
    /// disk fails, that is for [`STORAGE_PATIENCE`]; then messages leave, and results of [changes](Self::push_change) among them
    /// have become the error `storage_failed`. What is in the outbox already is not held. The first journal stays.
    ///
    /// The future watches the journal and has to run as long as the outbox, with which it ends.
    #[must_use = "messages wait for it"]
    pub fn guard(&self, journal: Arc<dyn Journal>) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.shared.state();
        state.write_merged();
        let is_first = state.gate.is_none();
        state.gate.get_or_insert_with(|| Gate::new(Arc::clone(&journal)));
        drop(state);
        let shared = Arc::clone(&self.shared);
        async move {
            if is_first {
                gate::watch(shared, journal).await;
            }
        }
    }

    /// The place behind everything that has been put in so far: how many messages the consumer takes until there, counted
    /// from the first one.
    pub fn place(&self) -> u64 {
        let mut state = self.shared.state();
        state.write_merged();
        state.messages
    }

    /// Whether more is unwritten than the limit, which a client may leave for [`OVERFLOW_GRACE`].
    pub fn is_overfull(&self) -> bool {
        self.shared.is_overfull(&self.shared.state())
    }

    /// Resolves when the outbox is overfull, or has overflowed.
    pub async fn overfull(&self) {
        self.turned_until(|state| self.shared.is_overfull(state) || self.is_overflowed()).await;
    }

    /// The client has taken nothing for [`OVERFLOW_GRACE`]: gives it up if more than the limit is unwritten, and tells
    /// whether it is.
    pub fn note_stuck(&self) -> bool {
        let mut state = self.shared.state();
        if self.shared.is_overfull(&state) {
            self.shared.overflow(&mut state);
        }
        state.is_closed && self.is_overflowed()
    }

    /// Whether the end came because too much was put in that nobody took.
    pub fn is_overflowed(&self) -> bool {
        self.shared.overflowed.is_cancelled()
    }

    /// How many bytes wait to be written, or for the disk; the batch being written included.
    pub fn unwritten(&self) -> usize {
        self.shared.state().unwritten()
    }

    /// Whether so much waits to be written that whoever makes more of it should wait a little.
    pub fn is_heavy(&self) -> bool {
        self.shared.heavy.load(Ordering::Relaxed)
    }

    /// Resolves when nothing waits to be written: all of it was, or the outbox has ended.
    pub async fn written(&self) {
        self.turned_until(|state| {
            let is_written = state.unwritten() == 0;
            state.is_awaited |= !is_written;
            is_written
        })
        .await;
    }

    /// Resolves when `holds` does, which is looked at now and at each turn.
    async fn turned_until(&self, holds: impl Fn(&mut State) -> bool) {
        loop {
            let mut turned = pin!(self.shared.turned.notified());
            turned.as_mut().enable();
            if holds(&mut self.shared.state()) {
                return;
            }
            turned.await;
        }
    }

    fn append(&self, write: impl FnOnce(&mut State, &OutboxLimits)) {
        let limits = &self.shared.limits;
        let mut state = self.shared.state();
        if state.is_closed {
            return;
        }
        let before = state.unwritten();
        let was_holding = state.is_holding();
        write(&mut state, limits);
        if !was_holding && state.is_holding() {
            self.shared.gate_turned.notify_one();
        }
        let after = state.unwritten();
        if after > HEAVY_ABOVE {
            self.shared.heavy.store(true, Ordering::Relaxed);
        }
        if before > 0 && after > limits.overflow_above.saturating_mul(HOPELESS_FACTOR) {
            self.shared.overflow(&mut state);
        }
        if before <= limits.overflow_above && after > limits.overflow_above {
            self.shared.turned.notify_waiters();
        }
        let consumer = state.consumer.take();
        drop(state);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }
}

impl OutboxConsumer {
    /// The next messages, each with its line end; all that wait at once. `None` is the end: the outbox was
    /// closed and is empty, or it overflowed. Asking for the next batch says that the one before has been
    /// written.
    pub async fn next_batch(&mut self) -> Option<Vec<u8>> {
        poll_fn(|context| self.poll_batch(context)).await
    }

    /// Gives a written batch back, so that its memory is used again.
    pub fn recycle(&mut self, mut batch: Vec<u8>) {
        const KEEP_AT_MOST: usize = 1 << 20;
        if batch.capacity() <= KEEP_AT_MOST {
            batch.clear();
            self.spare = batch;
        }
    }

    /// Whether the end came because too much was pushed that nobody took.
    pub fn is_overflowed(&self) -> bool {
        self.shared.overflowed.is_cancelled()
    }

    /// Resolves when too much was pushed that nobody took.
    pub fn overflowed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.shared.overflowed.clone().cancelled_owned()
    }

    /// Another handle to push with.
    pub fn outbox(&self) -> Outbox {
        Outbox { shared: Arc::clone(&self.shared) }
    }

    /// Notes that `count` bytes of the batch have been written.
    pub fn note_written(&mut self, count: usize) {
        let mut state = self.shared.state();
        state.taken = state.taken.saturating_sub(count);
        self.shared.heavy.store(state.unwritten() > HEAVY_ABOVE, Ordering::Relaxed);
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut state = self.shared.state();
        state.taken = 0;
        // As long as what is merged may not leave, more is merged into it.
        if !state.is_holding() {
            state.write_merged();
        }
        if !state.pending.is_empty() {
            let batch = mem::replace(&mut state.pending, mem::take(&mut self.spare));
            state.taken = batch.len();
            self.shared.heavy.store(state.unwritten() > HEAVY_ABOVE, Ordering::Relaxed);
            return Poll::Ready(Some(batch));
        }
        let unwritten = state.unwritten();
        self.shared.heavy.store(unwritten > HEAVY_ABOVE, Ordering::Relaxed);
        if unwritten == 0 {
            if mem::take(&mut state.is_awaited) {
                self.shared.turned.notify_waiters();
            }
            if state.is_closed {
                return Poll::Ready(None);
            }
        }
        state.consumer = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for OutboxConsumer {
    fn drop(&mut self) {
        self.shared.end(&mut self.shared.state());
    }
}

impl State {
    fn unwritten(&self) -> usize {
        self.taken + self.pending.len() + self.held_bytes() + self.merged_bytes
    }

    fn held_bytes(&self) -> usize {
        self.gate.as_ref().map_or(0, Gate::held_bytes)
    }

    fn is_holding(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.is_holding(!self.merged.is_empty()))
    }

    /// Writes a message behind all others. `changed_by` is the request whose result it is, if that changed something.
    fn write(&mut self, changed_by: Option<&RequestId>, write: impl FnOnce(&mut Vec<u8>)) {
        self.write_merged();
        self.messages += 1;
        match &mut self.gate {
            None => write(&mut self.pending),
            Some(gate) => gate.write(gate.stamp(), changed_by, &mut self.pending, write),
        }
    }

    fn merge(&mut self, context: &Arc<EventContext>, growth: Growth<'_>) {
        if let Some(gate) = &mut self.gate {
            gate.note_merged();
        }
        let position = self.merged.iter().position(|merged| Arc::ptr_eq(&merged.context, context));
        if let Some(merged) = position.map(|at| &mut self.merged[at]) {
            self.merged_bytes -= merged.growth.size();
            merged.growth.append(growth);
            self.merged_bytes += merged.growth.size();
        } else {
            let merged = Merged { context: Arc::clone(context), growth: growth.into_owned() };
            self.merged_bytes += merged.growth.size();
            self.merged.push(merged);
        }
    }

    /// Writes the merged events, so that what is written next stands behind them.
    fn write_merged(&mut self) {
        self.merged_bytes = 0;
        for Merged { context, growth } in self.merged.drain(..) {
            self.messages += 1;
            let write = |out: &mut Vec<u8>| growth.write(out, &context);
            match &mut self.gate {
                None => write(&mut self.pending),
                Some(gate) => gate.write(gate.stamp_of_merged(), None, &mut self.pending, write),
            }
        }
    }

    fn end(&mut self) {
        *self = Self {
            is_closed: true,
            consumer: self.consumer.take(),
            messages: self.messages,
            ..Self::default()
        };
    }
}

/// Events of one turn that became one.
#[derive(Debug)]
struct Merged {
    context: Arc<EventContext>,
    growth: Growth<'static>,
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
