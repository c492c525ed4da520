//! The connections that are open.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use oam_bridge::{Bridge, RealmName};
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::Instant};

/// The longest name of a client that is shown, in characters.
const LONGEST_NAME: usize = 100;

/// The open connections by their numbers.
#[derive(Debug)]
pub(crate) struct Connections {
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    open: BTreeMap<u64, Arc<OpenConnection>>,
    /// The number of the last one that was admitted.
    last: u64,
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
}

/// A connection's place among the open ones, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) connection: Arc<OpenConnection>,
    connections: Weak<Connections>,
}

impl Connections {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), count: watch::Sender::new(0) })
    }

    /// A place for a connection to this process; `None` when `limit` are taken.
    pub(crate) fn admit(self: &Arc<Self>, limit: NonZeroUsize, peer: Option<u32>) -> Option<Place> {
        let mut state = self.state();
        if state.open.len() >= limit.get() {
            return None;
        }
        state.last += 1;
        let id = state.last;
        let connection = Arc::new(OpenConnection {
            id,
            peer,
            since: Instant::now(),
            bridge: OnceLock::new(),
            introduction: Mutex::default(),
        });
        state.open.insert(id, Arc::clone(&connection));
        self.count.send_replace(state.open.len());
        Some(Place { connection, connections: Arc::downgrade(self) })
    }

    /// How many there are.
    pub(crate) fn counts(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    pub(crate) fn all(&self) -> Vec<Arc<OpenConnection>> {
        self.state().open.values().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(connections) = self.connections.upgrade() else { return };
        let mut state = connections.state();
        state.open.remove(&self.connection.id);
        connections.count.send_replace(state.open.len());
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
        *self.introduction() = Introduction { name: text("name"), version: text("version") };
    }

    pub(crate) fn client(&self) -> Option<String> {
        self.introduction().name.clone()
    }

    /// The realm that it shares with others.
    pub(crate) fn realm(&self) -> Option<&RealmName> {
        self.bridge.get()?.realm_name()
    }

    /// The requests that are being worked on.
    pub(crate) fn busy(&self) -> usize {
        self.bridge.get().map_or(0, Bridge::unanswered)
    }

    /// As `service/status` shows it to the connection `asker`, whose own question does not count as work.
    pub(crate) fn to_json(&self, asker: u64) -> Value {
        let is_own = self.id == asker;
        let Introduction { name, version } = self.introduction().clone();
        json!({
            "id": self.id,
            "pid": self.peer,
            "client": name.map(|name| json!({"name": name, "version": version})),
            "realm": self.realm(),
            "busy": self.busy().saturating_sub(usize::from(is_own)),
            "connectedSeconds": self.since.elapsed().as_secs(),
            "isOwn": is_own,
        })
    }

    fn introduction(&self) -> MutexGuard<'_, Introduction> {
        self.introduction.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
