//! A journal in memory, on which everything is durable at once as long as its disk does not fail.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use oam_agent::BoxFuture;
use oam_bridge::journal::{Appended, Durability, Journal, ObjectName, Sequence, StorageFailure};
use tokio::sync::watch;

/// When a journal asks for snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewriting {
    Never,
    /// After every record.
    Always,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Snapshot(Vec<u8>),
    Record(Vec<u8>),
}

pub(crate) struct MemoryJournal {
    rewriting: Rewriting,
    state: Mutex<State>,
    durability: watch::Sender<Durability>,
}

#[derive(Default, Clone)]
struct State {
    /// In the order of their creation, each entry with its place in the order of all.
    objects: Vec<(ObjectName, Vec<(Sequence, Entry)>)>,
    last: u64,
    /// What is wrong with the disk.
    failure: Option<StorageFailure>,
    /// Records are refused, too.
    refuses: bool,
}

impl MemoryJournal {
    pub(crate) fn new(rewriting: Rewriting) -> Arc<Self> {
        Arc::new(Self { rewriting, state: Mutex::default(), durability: watch::Sender::default() })
    }

    /// Another journal with the same entries.
    pub(crate) fn copy(&self) -> Arc<Self> {
        let state = State { failure: None, refuses: false, ..self.state().clone() };
        let durability = watch::Sender::new(state.durability(Sequence::default()));
        Arc::new(Self { rewriting: self.rewriting, state: Mutex::new(state), durability })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// All that is recorded: of the earlier created objects first.
    pub(crate) fn entries(&self) -> Vec<(ObjectName, Entry)> {
        let state = self.state();
        let entries = |(name, entries): &(ObjectName, Vec<(Sequence, Entry)>)| {
            let named = |(_, entry): &(Sequence, Entry)| (name.clone(), entry.clone());
            entries.iter().map(named).collect::<Vec<_>>()
        };
        state.objects.iter().flat_map(entries).collect()
    }

    pub(crate) fn objects(&self) -> Vec<ObjectName> {
        self.state().objects.iter().map(|(name, _)| name.clone()).collect()
    }

    /// From now on the disk cannot be written.
    pub(crate) fn fail(&self, refuses: bool) {
        let mut state = self.state();
        state.failure = Some(StorageFailure { path: None, reason: "the disk is full".to_owned() });
        state.refuses = refuses;
        self.tell(&state);
    }

    pub(crate) fn recover(&self) {
        let mut state = self.state();
        (state.failure, state.refuses) = (None, false);
        self.tell(&state);
    }

    fn tell(&self, state: &State) {
        self.durability.send_modify(|now| *now = state.durability(now.durable));
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").finish_non_exhaustive()
    }
}

impl State {
    fn durability(&self, before: Sequence) -> Durability {
        let durable = if self.failure.is_some() { before } else { Sequence(self.last) };
        Durability { durable, failure: self.failure.clone().map(Arc::new), is_final: false }
    }

    fn taken(&mut self) -> Result<Sequence, StorageFailure> {
        match &self.failure {
            Some(failure) if self.refuses => Err(failure.clone()),
            _ => {
                self.last += 1;
                Ok(Sequence(self.last))
            }
        }
    }
}

impl Journal for MemoryJournal {
    fn ready(&self) -> Result<(), StorageFailure> {
        self.state().failure.clone().map_or(Ok(()), Err)
    }

    fn append(&self, object: &ObjectName, record: Vec<u8>) -> Result<Appended, StorageFailure> {
        let mut state = self.state();
        let sequence = state.taken()?;
        let entry = (sequence, Entry::Record(record));
        match state.objects.iter_mut().find(|(name, _)| name == object) {
            Some((_, entries)) => entries.push(entry),
            None => state.objects.push((object.clone(), vec![entry])),
        }
        self.tell(&state);
        Ok(Appended { sequence, rewrite_due: self.rewriting == Rewriting::Always })
    }

    fn rewrite(&self, object: &ObjectName, snapshot: Vec<u8>, up_to: Sequence) -> Result<(), StorageFailure> {
        let mut state = self.state();
        let (_, entries) =
            state.objects.iter_mut().find(|(name, _)| name == object).expect("the object exists");
        entries.retain(|(sequence, _)| *sequence > up_to);
        entries.insert(0, (up_to, Entry::Snapshot(snapshot)));
        Ok(())
    }

    fn remove(&self, object: &ObjectName) -> Result<Sequence, StorageFailure> {
        let mut state = self.state();
        let removed = state.taken()?;
        state.objects.retain(|(name, _)| name != object);
        self.tell(&state);
        Ok(removed)
    }

    fn last(&self) -> Sequence {
        Sequence(self.state().last)
    }

    fn durability(&self) -> Durability {
        self.durability.borrow().clone()
    }

    fn changed<'a>(&'a self, seen: &'a Durability) -> BoxFuture<'a, Durability> {
        let mut news = self.durability.subscribe();
        Box::pin(
            async move { news.wait_for(|now| now != seen).await.expect("the sender is borrowed").clone() },
        )
    }
}
