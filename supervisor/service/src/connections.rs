//! The connections that are open.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use oam_bridge::Bridge;
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::Instant};

/// The longest name of a client that is shown, in characters.
const LONGEST_NAME: usize = 100;

/// The open connections by their numbers.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<BTreeMap<u64, Arc<OpenConnection>>>,
    last: Mutex<u64>,
    /// Changes with every connection that comes, goes, or enters a realm.
    counts: watch::Sender<Counts>,
}

/// How many connections are open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) all: usize,
    pub(crate) in_realms: usize,
}

/// What is known of an open connection.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) id: u64,
    pub(crate) peer: Option<u32>,
    pub(crate) since: Instant,
    bridge: OnceLock<Bridge>,
    introduction: Mutex<Introduction>,
}

/// What a client said of itself.
#[derive(Debug, Clone, Default)]
struct Introduction {
    name: Option<String>,
    version: Option<String>,
    realm: Option<String>,
}

/// A connection's place among the open ones, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) connection: Arc<OpenConnection>,
    connections: Weak<Connections>,
}

impl Connections {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            last: Mutex::default(),
            counts: watch::Sender::new(Counts::default()),
        })
    }

    /// A place for a connection to this process; `None` when `limit` are taken.
    pub(crate) fn admit(self: &Arc<Self>, limit: NonZeroUsize, peer: Option<u32>) -> Option<Place> {
        let mut open = self.open();
        if open.len() >= limit.get() {
            return None;
        }
        let id = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last += 1;
            *last
        };
        let connection = Arc::new(OpenConnection {
            id,
            peer,
            since: Instant::now(),
            bridge: OnceLock::new(),
            introduction: Mutex::default(),
        });
        open.insert(id, Arc::clone(&connection));
        drop(open);
        self.count();
        Some(Place { connection, connections: Arc::downgrade(self) })
    }

    pub(crate) fn counts(&self) -> watch::Receiver<Counts> {
        self.counts.subscribe()
    }

    pub(crate) fn all(&self) -> Vec<Arc<OpenConnection>> {
        self.open().values().cloned().collect()
    }

    /// Looks again at how many connections there are.
    pub(crate) fn count(&self) {
        let open = self.open();
        let in_realms = open.values().filter(|connection| connection.realm().is_some()).count();
        let counts = Counts { all: open.len(), in_realms };
        self.counts.send_if_modified(|old| std::mem::replace(old, counts) != counts);
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<OpenConnection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(connections) = self.connections.upgrade() else { return };
        connections.open().remove(&self.connection.id);
        connections.count();
    }
}

impl OpenConnection {
    pub(crate) fn has_bridge(&self, bridge: Bridge) {
        let _ = self.bridge.set(bridge);
    }

    /// The client said this of itself with `initialize`.
    pub(crate) fn introduce(&self, client: &Map<String, Value>) {
        let text = |name: &str| {
            let text = client.get(name)?.as_str()?;
            Some(text.chars().filter(|char| !char.is_control()).take(LONGEST_NAME).collect::<String>())
        };
        let said = Introduction { name: text("name"), version: text("version"), realm: text("realm") };
        let mut known = self.introduction();
        *known = Introduction { realm: said.realm.or(known.realm.take()), ..said };
    }

    pub(crate) fn client(&self) -> Option<String> {
        self.introduction().name.clone()
    }

    /// The realm that it shares with others.
    pub(crate) fn realm(&self) -> Option<String> {
        self.introduction().realm.clone()
    }

    /// The requests that are being worked on.
    pub(crate) fn busy(&self) -> usize {
        self.bridge.get().map_or(0, Bridge::unanswered)
    }

    /// As `service/status` shows it.
    pub(crate) fn to_json(&self) -> Value {
        let Introduction { name, version, realm } = self.introduction().clone();
        json!({
            "id": self.id,
            "pid": self.peer,
            "client": name.map(|name| json!({"name": name, "version": version})),
            "realm": realm,
            "busy": self.busy(),
            "connectedSeconds": self.since.elapsed().as_secs(),
        })
    }

    fn introduction(&self) -> MutexGuard<'_, Introduction> {
        self.introduction.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
