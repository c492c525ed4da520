//! The way out: messages are handed to the host one at a time, in order, on a thread that does nothing else.
//!
//! Whoever closes the bridge sets the end and waits for a callback in progress; the thread looks at the end before each
//! callback. So there is none afterwards. From within a callback nothing is waited for: that one is the last.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    str::from_utf8,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::Instant,
};

use oam_bridge::outbox::OutboxConsumer;
use tokio::runtime::Handle;

/// Where the delivery stands, for everybody who waits for it.
#[derive(Default)]
pub(crate) struct Delivery {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many messages the host has taken, as [`Outbox::place`](oam_bridge::outbox::Outbox::place) counts them.
    handed: u64,
    callback: Option<ThreadId>,
    end: Option<DeliveryEnd>,
    /// How many threads wait for a change.
    waiting: usize,
}

/// Why there are no more callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryEnd {
    Closed,
    /// The callback did not take its messages.
    GivenUp,
}

impl Delivery {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over all messages until there will be no more.
    pub(crate) fn run(&self, runtime: &Handle, mut messages: OutboxConsumer, mut callback: impl FnMut(&str)) {
        while let Some(batch) = runtime.block_on(messages.next_batch()) {
            for line in batch.split_inclusive(|byte| *byte == b'\n') {
                let text = from_utf8(line).expect("outgoing messages are JSON text");
                if !self.hand_over(text, &mut callback) {
                    return;
                }
                messages.note_written(line.len());
            }
            messages.recycle(batch);
        }
        if messages.is_overflowed() {
            self.end(DeliveryEnd::GivenUp);
        }
    }

    /// `false` when there may be no callback any more.
    fn hand_over(&self, line: &str, callback: &mut impl FnMut(&str)) -> bool {
        {
            let mut state = self.state();
            if state.end.is_some() {
                return false;
            }
            state.callback = Some(thread::current().id());
        }
        // A callback that panics has been told; the next message is none of its business.
        let told = catch_unwind(AssertUnwindSafe(|| callback(line.trim_end_matches('\n'))));
        if told.is_err() {
            tracing::error!("the host's callback panicked");
        }
        let mut state = self.state();
        state.callback = None;
        state.handed += 1;
        self.tell(&state);
        true
    }

    /// There is no callback after this, except one that this is called from.
    pub(crate) fn close(&self) {
        self.end(DeliveryEnd::Closed);
        let mut state = self.state();
        state.waiting += 1;
        let is_elsewhere =
            |state: &mut State| state.callback.is_some_and(|thread| thread != thread::current().id());
        state = self.changed.wait_while(state, is_elsewhere).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }

    /// Notes the end, unless there is one already.
    pub(crate) fn end(&self, end: DeliveryEnd) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        self.tell(&state);
    }

    pub(crate) fn ended(&self) -> Option<DeliveryEnd> {
        self.state().end
    }

    /// Whether this is called from within a callback.
    pub(crate) fn is_callback_thread(&self) -> bool {
        self.state().callback == Some(thread::current().id())
    }

    /// How many messages have been handed over.
    pub(crate) fn handed(&self) -> u64 {
        self.state().handed
    }

    /// Waits until everything before `place` has been handed over, for `limit` at most, or the end.
    pub(crate) fn wait_until_handed(&self, place: u64, limit: Option<Instant>) {
        let mut state = self.state();
        state.waiting += 1;
        let is_behind = |state: &mut State| state.handed < place && state.end.is_none();
        state = match limit.map(|limit| limit.saturating_duration_since(Instant::now())) {
            Some(rest) => {
                let waited = self.changed.wait_timeout_while(state, rest, is_behind);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(state, is_behind).unwrap_or_else(PoisonError::into_inner),
        };
        state.waiting -= 1;
    }

    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}
