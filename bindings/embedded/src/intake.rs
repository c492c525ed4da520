//! The way in: what the host sends takes its place at once, in order.
//!
//! Lines are handled on the thread that sends them, because that costs less than waking another one. Only at the very
//! start they wait, until the first worker is ready or it is clear that it will not be soon, so that the first thing a
//! host asks, whether there is a model, gets a true answer. The host never waits for that.

use std::{
    mem,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use oam_bridge::{
    Bridge,
    transport::{Connection, MAX_LINE_BYTES},
};

type Entry = Box<dyn FnOnce(&Bridge) + Send>;

/// What has been sent and not yet been handled.
#[derive(Default)]
pub(crate) struct Intake {
    /// Set when nothing waits any more.
    open: OnceLock<Bridge>,
    waiting: Mutex<Waiting>,
}

enum Waiting {
    Entries(Vec<Entry>),
    /// The bridge came or went; nobody will take entries.
    Over,
}

impl Default for Waiting {
    fn default() -> Self {
        Self::Entries(Vec::new())
    }
}

impl Intake {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::take`], for a line; `None` stands for one that is too long. It is copied only if it has to wait.
    pub(crate) fn take_line(&self, line: Option<&str>) {
        if let Some(bridge) = self.open.get() {
            return receive(bridge, line);
        }
        let line = line.map(str::to_owned);
        self.take(move |bridge| receive(bridge, line.as_deref()));
    }

    /// Does `entry` now, or, while nothing is handled yet, keeps it. After the end it is dropped.
    pub(crate) fn take(&self, entry: impl FnOnce(&Bridge) + Send + 'static) {
        if let Some(bridge) = self.open.get() {
            return entry(bridge);
        }
        let mut waiting = self.waiting();
        if let Waiting::Entries(entries) = &mut *waiting {
            return entries.push(Box::new(entry));
        }
        drop(waiting);
        if let Some(bridge) = self.open.get() {
            entry(bridge);
        }
    }

    /// Does what waits, and from now on everything at once.
    pub(crate) fn open(&self, bridge: &Bridge) {
        let mut waiting = self.waiting();
        let Waiting::Entries(entries) = mem::replace(&mut *waiting, Waiting::Over) else { return };
        // Under the lock: nobody overtakes what waited.
        for entry in entries {
            entry(bridge);
        }
        let _ = self.open.set(bridge.clone());
    }

    /// Drops what waits.
    pub(crate) fn close(&self) {
        let entries = mem::replace(&mut *self.waiting(), Waiting::Over);
        drop(entries);
    }
}

fn receive(bridge: &Bridge, line: Option<&str>) {
    match line {
        Some(line) => bridge.receive(line.as_bytes()),
        None => bridge.oversized_line(MAX_LINE_BYTES),
    }
}
