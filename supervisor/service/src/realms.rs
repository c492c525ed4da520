//! The realms on disk: a store that is opened when it can be, and one [`Realm`] of each name for all who use it.
//!
//! A store that cannot be opened (another process has it, a newer version wrote it, it cannot be read) does not keep the
//! service from serving connections without a realm. Whoever asks for a realm hears why there is none, and each such request
//! tries anew.
//!
//! A realm stays in memory as long as a connection or an operation uses it. After that it is read from disk again.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use oam_bridge::{
    BridgeConfig, BridgeError, OpenedRealm, Realm, RealmDirectory, RealmName, RealmOverview, StorageFailure,
};
use oam_store::{Sizes, Status, Store, StoreError};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::watch,
};

use crate::{journal::disk_failure, loading};

/// Between attempts at what another thread or process is about to let go.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a realm that nobody uses any more may take to be closed.
const CLOSING_TIME: Duration = Duration::from_secs(5);

/// The realms of the service.
#[derive(Debug)]
pub(crate) struct Realms {
    folder: PathBuf,
    state: Mutex<State>,
    /// The store is open or is not, or a realm has been loaded or has not.
    settled: Condvar,
    /// The realms that are open in the store.
    in_use: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    store: StoreState,
    realms: HashMap<RealmName, Slot>,
    limit: NonZeroUsize,
    /// What realms are restored with.
    bridge: BridgeConfig,
}

#[derive(Debug, Clone)]
enum StoreState {
    /// It is being opened; another process may have it for a while.
    Opening,
    Open(Arc<Store>),
    Failed(Arc<StoreError>),
    Closed,
}

#[derive(Debug)]
enum Slot {
    Loading,
    Loaded(Weak<Realm>),
}

/// A realm that is open in the store, until this is dropped.
#[derive(Debug)]
pub(crate) struct InUse(watch::Sender<usize>);

/// What `service/status` shows of the realms.
#[derive(Debug)]
pub(crate) struct RealmsStatus {
    pub(crate) store: Result<Option<(Status, Sizes)>, String>,
    pub(crate) loaded: Vec<(RealmName, RealmOverview)>,
}

/// Why a realm is not deleted.
#[derive(Debug)]
pub(crate) enum DeleteError {
    Absent,
    InUse(usize),
    /// Nothing was done.
    Storage(StorageFailure),
    /// It is gone, but the disk does not have that yet.
    NotYetStored(StorageFailure),
}

impl Realms {
    /// Realms in `folder`, whose store is still to be [opened](Self::open_store).
    pub(crate) fn new(folder: PathBuf, limit: NonZeroUsize, bridge: BridgeConfig) -> Self {
        let state = State { store: StoreState::Opening, realms: HashMap::new(), limit, bridge };
        Self { folder, state: Mutex::new(state), settled: Condvar::new(), in_use: watch::Sender::new(0) }
    }

    pub(crate) fn reload(&self, limit: NonZeroUsize, bridge: BridgeConfig) {
        let mut state = self.state();
        state.limit = limit;
        state.bridge = bridge;
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Opens the store; as long as another process has it, tries again for `patience`. Blocks.
    pub(crate) fn open_store(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let opened = loop {
            match Store::open(&self.folder) {
                Err(StoreError::Held { .. }) if Instant::now() < until && !self.is_closed() => {
                    std::thread::sleep(PAUSE);
                }
                opened => break opened,
            }
        };
        let mut state = self.state();
        if !matches!(state.store, StoreState::Closed) {
            state.store = match opened {
                Ok(store) => StoreState::Open(Arc::new(store)),
                Err(error) => {
                    tracing::error!(%error, "connections in realms are refused: their store cannot be opened");
                    StoreState::Failed(Arc::new(error))
                }
            };
        }
        self.settled.notify_all();
    }

    /// Waits for the store no longer, if another process still has it.
    pub(crate) fn give_up_opening(&self) {
        let mut state = self.state();
        if matches!(state.store, StoreState::Opening) {
            state.store = StoreState::Closed;
        }
        drop(state);
        self.settled.notify_all();
    }

    /// Opens no more realms, writes what is queued and closes the store. Blocks.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let store = std::mem::replace(&mut state.store, StoreState::Closed);
        state.realms.clear();
        drop(state);
        self.settled.notify_all();
        let StoreState::Open(store) = store else { return };
        let mut shared = Some(store);
        // Whoever looks at it lets go in a moment.
        while let Some(store) = shared.take() {
            match Arc::try_unwrap(store) {
                Ok(store) => {
                    if let Err(error) = store.close() {
                        tracing::error!(%error, "the store was closed");
                    }
                }
                Err(store) => {
                    std::thread::sleep(PAUSE);
                    shared = Some(store);
                }
            }
        }
    }

    /// Resolves when no realm is open.
    pub(crate) async fn unused(&self) {
        // The sender lives as long as this does.
        let _ = self.in_use.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Whether work goes on in a realm, be it for nobody that is connected.
    pub(crate) fn is_busy(&self) -> bool {
        self.loaded().iter().any(|(_, realm)| realm.overview().pending_operations > 0)
    }

    /// How far the disk has come, and the last change, if the store is open.
    pub(crate) fn progress(&self) -> Option<(Status, oam_store::Sequence)> {
        match &self.state().store {
            StoreState::Open(store) => Some((store.status(), store.last())),
            _ => None,
        }
    }

    /// Fails when the open store does not get well by itself. Blocks.
    pub(crate) fn check_store(&self) -> Result<(), StoreError> {
        let StoreState::Open(store) = self.state().store.clone() else { return Ok(()) };
        store.check()
    }

    /// Deletes a realm that nobody uses; returns when that is on disk. Blocks.
    pub(crate) fn delete(&self, name: &RealmName) -> Result<(), DeleteError> {
        let store = self.store().map_err(DeleteError::Storage)?;
        let connections = self.loaded_realm(name).map(|realm| realm.overview().connections);
        if let Some(connections) = connections {
            return Err(DeleteError::InUse(connections));
        }
        let failed = |error: StoreError| match error {
            StoreError::NoRealm { .. } => DeleteError::Absent,
            StoreError::RealmOpen { .. } => DeleteError::InUse(0),
            other => DeleteError::Storage(storage_failure(&other)),
        };
        if let Some(failure) = store.status().failure {
            return Err(DeleteError::Storage(disk_failure(&failure)));
        }
        store.delete_realm(name.as_str()).map_err(failed)?;
        store.flush().map_err(|error| DeleteError::NotYetStored(storage_failure(&error)))
    }

    /// How much there is. Reads the index of the store: blocks.
    pub(crate) fn status(&self) -> RealmsStatus {
        let store = self.state().store.clone();
        let store = match store {
            StoreState::Open(store) => {
                store.sizes().map(|sizes| Some((store.status(), sizes))).map_err(|error| error.to_string())
            }
            StoreState::Failed(error) => Err(error.to_string()),
            StoreState::Opening | StoreState::Closed => Ok(None),
        };
        let loaded = self.loaded().into_iter().map(|(name, realm)| (name, realm.overview())).collect();
        RealmsStatus { store, loaded }
    }

    fn open_realm(&self, name: &RealmName) -> Result<OpenedRealm, BridgeError> {
        let store = self.store().map_err(|failure| unavailable(name, &failure))?;
        let mut state = self.state();
        loop {
            match state.realms.get(name) {
                Some(Slot::Loaded(realm)) => {
                    if let Some(realm) = realm.upgrade() {
                        return Ok(OpenedRealm { realm, is_new: false });
                    }
                    break;
                }
                Some(Slot::Loading) => {
                    state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        let (limit, known) = (state.limit.get(), store.realms());
        if known.len() >= limit && !known.iter().any(|known| known == name.as_str()) {
            return Err(BridgeError::limit_reached(limit, "realms"));
        }
        let bridge = state.bridge.clone();
        state.realms.insert(name.clone(), Slot::Loading);
        drop(state);
        let loading = Loading { realms: self, name };
        let opened = self.load(&store, name, &bridge)?;
        loading.done(&opened.realm);
        if opened.is_new {
            tracing::info!(realm = %name, "a realm was made");
        }
        Ok(opened)
    }

    fn load(
        &self,
        store: &Store,
        name: &RealmName,
        bridge: &BridgeConfig,
    ) -> Result<OpenedRealm, BridgeError> {
        let until = Instant::now() + CLOSING_TIME;
        loop {
            let in_use = InUse::new(&self.in_use);
            match loading::load(store, name, bridge, in_use) {
                // Its last user is letting go of it.
                Err(loading::Error::Store(StoreError::RealmOpen { .. })) if Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                loaded => {
                    return loaded.map_err(|error| {
                        tracing::error!(realm = %name, %error, "a realm cannot be loaded");
                        unavailable(name, &error.to_failure())
                    });
                }
            }
        }
    }

    /// The store, once it is open. Where that failed before, it is tried again.
    fn store(&self) -> Result<Arc<Store>, StorageFailure> {
        let mut state = self.state();
        let mut has_tried = false;
        loop {
            match &state.store {
                StoreState::Open(store) => return Ok(Arc::clone(store)),
                StoreState::Closed => {
                    return Err(StorageFailure {
                        path: Some(self.folder.clone()),
                        reason: "this service is ending, connect again".to_owned(),
                    });
                }
                StoreState::Failed(error) if has_tried => return Err(storage_failure(error)),
                StoreState::Failed(_) => {
                    state.store = StoreState::Opening;
                    has_tried = true;
                    drop(state);
                    self.open_store(Duration::ZERO);
                    state = self.state();
                }
                StoreState::Opening => {
                    has_tried = true;
                    state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn loaded(&self) -> Vec<(RealmName, Arc<Realm>)> {
        let state = self.state();
        let loaded = state.realms.iter().filter_map(|(name, slot)| match slot {
            Slot::Loaded(realm) => realm.upgrade().map(|realm| (name.clone(), realm)),
            Slot::Loading => None,
        });
        loaded.collect()
    }

    fn loaded_realm(&self, name: &RealmName) -> Option<Arc<Realm>> {
        match self.state().realms.get(name) {
            Some(Slot::Loaded(realm)) => realm.upgrade(),
            Some(Slot::Loading) | None => None,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.state().store, StoreState::Closed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RealmDirectory for Realms {
    fn open(&self, name: &RealmName) -> Result<OpenedRealm, BridgeError> {
        // Called by a task, which others share a thread with.
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.open_realm(name)),
            _ => self.open_realm(name),
        }
    }
}

/// A realm that is being loaded; if that fails, or panics, others may try.
struct Loading<'a> {
    realms: &'a Realms,
    name: &'a RealmName,
}

impl Loading<'_> {
    fn done(self, realm: &Arc<Realm>) {
        let mut state = self.realms.state();
        // Not after `close`.
        if let Some(slot) = state.realms.get_mut(self.name) {
            *slot = Slot::Loaded(Arc::downgrade(realm));
        }
        state.realms.retain(|_, slot| match slot {
            Slot::Loading => true,
            Slot::Loaded(realm) => realm.strong_count() > 0,
        });
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        let mut state = self.realms.state();
        if let Some(Slot::Loading) = state.realms.get(self.name) {
            state.realms.remove(self.name);
        }
        drop(state);
        self.realms.settled.notify_all();
    }
}

impl InUse {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The error of a client that asks for a realm which cannot be opened.
fn unavailable(name: &RealmName, failure: &StorageFailure) -> BridgeError {
    let message = format!("Realm '{name}' cannot be opened: {}.", failure.reason);
    BridgeError { message, ..BridgeError::storage_failed(failure) }
}

/// Why there is no store, in the bridge's words.
pub(crate) fn storage_failure(error: &StoreError) -> StorageFailure {
    match error {
        StoreError::Failed(failure) => disk_failure(failure),
        other => StorageFailure { path: None, reason: other.to_string() },
    }
}
