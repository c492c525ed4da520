//! Changes on their way to the disk: one order, one bound, and how far the disk has come.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use crate::{ChangeError, Failure, ObjectName, StoreError};

/// A change's place in the order of all changes of a store, as long as the store is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub(crate) u64);

impl Sequence {
    /// Its number, for those who have a type of their own for it.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The sequence with this number.
    pub fn of_number(number: u64) -> Self {
        Self(number)
    }
}

/// How far the disk has come, and whether it goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Every change up to this one is on disk.
    pub durable: Sequence,
    /// Why nothing can be written at present. The store keeps trying; when that works it is `None` again.
    pub failure: Option<Arc<Failure>>,
}

#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) sequence: Sequence,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    CreateRealm { number: i64, name: String },
    DeleteRealm { number: i64 },
    CreateObject { number: i64, realm: i64, name: ObjectName },
    Append { object: i64, body: Vec<u8> },
    Rewrite { object: i64, up_to: Sequence, body: Vec<u8> },
    Remove { object: i64 },
}

impl Action {
    /// Roughly what it takes of memory, so that many small changes count as well.
    fn weight(&self) -> usize {
        mem::size_of::<Change>()
            + match self {
                Self::Append { body, .. } | Self::Rewrite { body, .. } => body.len(),
                Self::CreateRealm { name, .. } => name.len(),
                Self::CreateObject { name, .. } => name.kind.len() + name.id.len(),
                Self::DeleteRealm { .. } | Self::Remove { .. } => 0,
            }
    }
}

/// The changes of one transaction.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) changes: Vec<Change>,
    weight: usize,
}

#[derive(Debug)]
pub(crate) struct RealmEntry {
    pub(crate) number: i64,
    pub(crate) is_open: bool,
    /// It was made, and nobody has got it yet.
    pub(crate) is_new: bool,
    /// Its last change before it was closed.
    pub(crate) last: Sequence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// The writer has died of this: nothing is written any more.
    Dead(Arc<Failure>),
    /// Write what is queued, then end.
    Closing,
    /// End at once, as if the process had been killed.
    #[cfg(test)]
    Abandoned,
}

#[derive(Debug)]
pub(crate) struct State {
    pending: Vec<Change>,
    /// Of what is pending and what is being written.
    weight: usize,
    last: Sequence,
    status: Status,
    pub(crate) next_object: i64,
    pub(crate) next_realm: i64,
    pub(crate) realms: BTreeMap<String, RealmEntry>,
    phase: Phase,
    /// The writer is to panic when it has something to write.
    #[cfg(test)]
    pub(crate) is_faulty: bool,
}

/// Shared by the store, its realms and its writer.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// There is something to write, or the phase has changed.
    work: Condvar,
    /// The status has changed.
    progress: Condvar,
    /// Sends what the state's status is, without the lock: who looks at it may hold its own lock and append.
    news: watch::Sender<Status>,
    limit: usize,
}

impl Queue {
    pub(crate) fn new(
        limit: usize,
        last: Sequence,
        next_object: i64,
        realms: BTreeMap<String, RealmEntry>,
    ) -> Self {
        let next_realm = realms.values().map(|realm| realm.number).max().unwrap_or(0) + 1;
        let status = Status { durable: last, failure: None };
        let state = State {
            status: status.clone(),
            pending: Vec::new(),
            weight: 0,
            last,
            next_object,
            next_realm,
            realms,
            phase: Phase::Running,
            #[cfg(test)]
            is_faulty: false,
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            progress: Condvar::new(),
            news: watch::Sender::new(status),
            limit,
        }
    }

    /// Nothing that runs under this lock can leave the state half changed, so a panic elsewhere is no reason to stop.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Status> {
        self.news.subscribe()
    }

    pub(crate) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Whether a change made now would be written soon: refused at half of the limit, so that changes
    /// already on their way find room.
    pub(crate) fn ready(&self) -> Result<(), ChangeError> {
        let state = self.lock();
        if let Some(failure) = &state.status.failure {
            return Err(ChangeError::Failed(failure.clone()));
        }
        if state.phase != Phase::Running {
            return Err(ChangeError::Closed);
        }
        let limit = self.limit / 2;
        if state.weight > limit {
            return Err(ChangeError::Backlog { queued: state.weight, limit });
        }
        Ok(())
    }

    /// Queues all of `actions` or none.
    pub(crate) fn push<const N: usize>(
        &self,
        state: &mut State,
        actions: [Action; N],
    ) -> Result<Sequence, ChangeError> {
        let weight: usize = actions.iter().map(Action::weight).sum();
        // What is larger than the limit goes alone, or it never would.
        if state.weight > 0 && state.weight + weight > self.limit {
            return Err(ChangeError::Backlog { queued: state.weight, limit: self.limit });
        }
        self.push_in_any_case(state, actions)
    }

    /// For what is rare and small.
    pub(crate) fn push_in_any_case<const N: usize>(
        &self,
        state: &mut State,
        actions: [Action; N],
    ) -> Result<Sequence, ChangeError> {
        match &state.phase {
            Phase::Running => {}
            Phase::Dead(failure) => return Err(ChangeError::Failed(failure.clone())),
            Phase::Closing => return Err(ChangeError::Closed),
            #[cfg(test)]
            Phase::Abandoned => return Err(ChangeError::Closed),
        }
        for action in actions {
            state.weight += action.weight();
            state.last.0 += 1;
            state.pending.push(Change { sequence: state.last, action });
        }
        self.work.notify_one();
        Ok(state.last)
    }

    /// What is to be written next. Waits for it; `None` when the writer is to end.
    pub(crate) fn next_batch(&self) -> Option<Batch> {
        let mut state = self.lock();
        loop {
            #[cfg(test)]
            if state.phase == Phase::Abandoned {
                return None;
            }
            if !state.pending.is_empty() {
                #[cfg(test)]
                assert!(!state.is_faulty, "a fault of the test");
                // Nothing is being written now, so what is pending is all there is.
                return Some(Batch { weight: state.weight, changes: mem::take(&mut state.pending) });
            }
            if state.phase != Phase::Running {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn written(&self, batch: &Batch) {
        let durable = batch.changes.last().map(|change| change.sequence);
        self.tell(|state| {
            state.weight -= batch.weight;
            state.status = Status { durable: durable.unwrap_or(state.status.durable), failure: None };
        });
    }

    pub(crate) fn failed(&self, failure: Arc<Failure>) {
        self.tell(|state| state.status.failure = Some(failure));
    }

    /// Nothing is written any more.
    pub(crate) fn died(&self, failure: Arc<Failure>) {
        self.tell(|state| {
            state.phase = Phase::Dead(failure.clone());
            state.status.failure = Some(failure);
        });
    }

    /// Changes the status, and tells those who wait for that.
    fn tell(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let status = state.status.clone();
        drop(state);
        self.progress.notify_all();
        self.news.send_if_modified(|old| {
            let is_news = *old != status;
            *old = status;
            is_news
        });
    }

    pub(crate) fn is_running(&self) -> bool {
        self.lock().phase == Phase::Running
    }

    /// Waits before another attempt, not longer than the store is open.
    pub(crate) fn pause(&self, duration: Duration) {
        let is_running = |state: &mut State| state.phase == Phase::Running;
        drop(self.work.wait_timeout_while(self.lock(), duration, is_running));
    }

    /// Waits until `sequence` is on disk, or until the disk fails.
    pub(crate) fn wait_for(&self, sequence: Sequence) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            if state.status.durable >= sequence {
                return Ok(());
            }
            if let Some(failure) = &state.status.failure {
                return Err(StoreError::Failed(failure.clone()));
            }
            if state.phase != Phase::Running && state.pending.is_empty() {
                return Err(StoreError::Closed);
            }
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn end(&self, phase: Phase) {
        self.lock().phase = phase;
        self.work.notify_all();
        self.progress.notify_all();
    }

    pub(crate) fn last(&self) -> Sequence {
        self.lock().last
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.lock().weight
    }

    /// How many changes are not on disk, and why if that is known.
    pub(crate) fn unwritten(&self) -> (u64, Option<Arc<Failure>>) {
        let state = self.lock();
        (state.last.0 - state.status.durable.0, state.status.failure.clone())
    }
}
