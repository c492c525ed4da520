//! What holds messages back until the disk has what they tell of.
//!
//! Everything that is pushed into a guarded outbox is stamped with the journal's last record. What the disk has already
//! leaves at once; the rest waits here, in order, until the disk has come that far. So a client that reads sees answers and
//! events in the order in which they were pushed, only later, and never hears of something that a crash could undo.
//!
//! A disk that fails gets some patience. Then what is held leaves in its order all the same, but each result of a change has
//! become the error `storage_failed`: nothing is said to be done that is not on disk. What only looks goes on meanwhile.
//! A failure that has no end gets no patience.

use std::{collections::VecDeque, future::pending, mem, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::Shared;
use crate::{
    journal::{Durability, Journal, Sequence, StorageFailure},
    message::{BridgeError, Outgoing, RequestId},
};

/// How long messages are held back for a disk that fails.
pub const STORAGE_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Gate {
    journal: Arc<dyn Journal>,
    /// How far the disk has come, as far as was looked.
    durable: Sequence,
    held: VecDeque<Held>,
    held_bytes: usize,
    /// The stamp of what is merged and not written.
    merged: Sequence,
}

/// Messages with one stamp.
#[derive(Debug)]
struct Held {
    stamp: Sequence,
    /// Each with its line end.
    text: Vec<u8>,
    /// It is one message, the result of this request, which changed something.
    changed_by: Option<RequestId>,
}

impl Gate {
    pub(super) fn new(journal: Arc<dyn Journal>) -> Self {
        let Durability { durable, .. } = journal.durability();
        Self { journal, durable, held: VecDeque::new(), held_bytes: 0, merged: Sequence::default() }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(super) fn is_holding(&self, anything_merged: bool) -> bool {
        !self.held.is_empty() || anything_merged && self.merged > self.durable
    }

    /// What a message that is pushed now has to wait for.
    pub(super) fn stamp(&self) -> Sequence {
        self.journal.last()
    }

    /// What the merged events have to wait for.
    pub(super) fn stamp_of_merged(&self) -> Sequence {
        self.merged
    }

    /// Events are merged, to be written later.
    pub(super) fn note_merged(&mut self) {
        self.merged = self.stamp();
    }

    /// Writes a message where it may leave at once, which is `open`, or behind those that are held.
    pub(super) fn write(
        &mut self,
        stamp: Sequence,
        changed_by: Option<&RequestId>,
        open: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.held.is_empty() && self.is_durable(stamp) {
            return write(open);
        }
        let is_run = |last: &Held| last.stamp == stamp && last.changed_by.is_none() && changed_by.is_none();
        if !self.held.back().is_some_and(is_run) {
            self.held.push_back(Held { stamp, text: Vec::new(), changed_by: changed_by.cloned() });
        }
        if let Some(Held { text, .. }) = self.held.back_mut() {
            let before = text.len();
            write(text);
            self.held_bytes += text.len() - before;
        }
    }

    /// What the disk has by now becomes free to leave.
    fn release(&mut self, durable: Sequence, open: &mut Vec<u8>) {
        self.durable = self.durable.max(durable);
        while let Some(held) = self.held.pop_front_if(|held| held.stamp <= self.durable) {
            self.held_bytes -= held.text.len();
            open.extend_from_slice(&held.text);
        }
    }

    /// Everything that is held leaves, no change as a success.
    fn give_up_waiting(&mut self, failing: &Failing, open: &mut Vec<u8>) {
        self.held_bytes = 0;
        for Held { text, changed_by, .. } in mem::take(&mut self.held) {
            if let Some(id) = changed_by {
                let error = failing.error();
                Outgoing::Error { id: Some(&id), error: &error }.write(open);
                open.push(b'\n');
            } else {
                open.extend_from_slice(&text);
            }
        }
    }

    fn is_durable(&mut self, stamp: Sequence) -> bool {
        if stamp > self.durable {
            self.durable = self.journal.durability().durable;
        }
        stamp <= self.durable
    }
}

/// Watches `journal` while messages are held, and lets them go. Ends with the outbox.
pub(super) async fn watch(shared: Arc<Shared>, journal: Arc<dyn Journal>) {
    let mut patience = Patience::default();
    loop {
        if shared.is_holding() {
            let now = journal.durability();
            patience.look_at(&now);
            if shared.let_go(now.durable, patience.failure_beyond()) {
                tokio::select! {
                    _ = journal.changed(&now) => {}
                    () = patience.ends() => {}
                    () = shared.gate_turned.notified() => {}
                }
            }
        } else if shared.state().is_closed {
            return;
        } else {
            shared.gate_turned.notified().await;
        }
    }
}

/// How long the disk has failed, and has taken nothing.
#[derive(Default)]
struct Patience(Option<Failing>);

struct Failing {
    durable: Sequence,
    failure: Arc<StorageFailure>,
    is_final: bool,
    ends: Instant,
}

impl Failing {
    /// What the result of a change becomes that is not on disk.
    fn error(&self) -> BridgeError {
        if self.is_final {
            BridgeError::change_lost(&self.failure)
        } else {
            BridgeError::not_yet_stored(&self.failure)
        }
    }
}

impl Patience {
    fn look_at(&mut self, now: &Durability) {
        let &Durability { durable, is_final, .. } = now;
        let patience = if is_final { Duration::ZERO } else { STORAGE_PATIENCE };
        self.0 = now.failure.clone().map(|failure| {
            let same = self.0.as_ref().filter(|failing| failing.durable == durable);
            let until = Instant::now() + patience;
            let ends = same.map_or(until, |failing| failing.ends.min(until));
            Failing { durable, failure, is_final, ends }
        });
    }

    /// The failure, once it has lasted too long.
    fn failure_beyond(&self) -> Option<&Failing> {
        self.0.as_ref().filter(|failing| failing.ends <= Instant::now())
    }

    async fn ends(&self) {
        match &self.0 {
            Some(failing) => sleep_until(failing.ends).await,
            None => pending().await,
        }
    }
}

impl Shared {
    fn is_holding(&self) -> bool {
        self.state().is_holding()
    }

    /// Lets go what is durable; everything, when there is a failure beyond patience. Whether something is still held.
    fn let_go(&self, durable: Sequence, failing: Option<&Failing>) -> bool {
        let mut state = self.state();
        let state = &mut *state;
        if failing.is_some() {
            state.write_merged();
        }
        let Some(gate) = &mut state.gate else { return false };
        gate.release(durable, &mut state.pending);
        if let Some(failing) = failing {
            gate.give_up_waiting(failing, &mut state.pending);
        }
        if let Some(consumer) = state.consumer.take() {
            consumer.wake();
        }
        state.is_holding()
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
