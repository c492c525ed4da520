//! Realms that live as long as a test wants them to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use oam_bridge::{
    BridgeConfig, BridgeError, LoadError, OpenedRealm, Realm, RealmDirectory, RealmLoader, RealmName,
};

use super::{Client, Entry, MemoryJournal, Rewriting};

/// What a host has of realms: those that are open, and all their journals.
pub(crate) struct Directory {
    rewriting: Rewriting,
    config: BridgeConfig,
    open: Mutex<HashMap<RealmName, Arc<Realm>>>,
    journals: Mutex<HashMap<RealmName, Arc<MemoryJournal>>>,
}

impl Directory {
    pub(crate) fn new(rewriting: Rewriting) -> Arc<Self> {
        Self::with(rewriting, BridgeConfig::default())
    }

    pub(crate) fn with(rewriting: Rewriting, config: BridgeConfig) -> Arc<Self> {
        Arc::new(Self { rewriting, config, open: Mutex::default(), journals: Mutex::default() })
    }

    /// What bridges of this host are made with.
    pub(crate) fn config(self: &Arc<Self>) -> BridgeConfig {
        BridgeConfig { realms: Some(Arc::clone(self) as _), ..self.config.clone() }
    }

    /// A client of a bridge of its own, in no realm yet.
    pub(crate) fn client(self: &Arc<Self>) -> Client {
        Client::new(self.config())
    }

    /// A client in this realm.
    pub(crate) async fn client_in(self: &Arc<Self>, realm: &str) -> Client {
        let mut client = self.client();
        client.join(realm).await;
        client
    }

    /// Lets go of the realms that it has in memory.
    pub(crate) fn forget(&self) {
        self.open.lock().unwrap().clear();
    }

    /// What a host finds that starts after this one was killed now.
    pub(crate) fn after_a_crash(&self) -> Arc<Self> {
        self.after_a_crash_with(self.config.clone())
    }

    /// The same for a host that is configured like this.
    pub(crate) fn after_a_crash_with(&self, config: BridgeConfig) -> Arc<Self> {
        let journals = self.journals.lock().unwrap();
        let copies = journals.iter().map(|(name, journal)| (name.clone(), journal.copy())).collect();
        Arc::new(Self {
            rewriting: self.rewriting,
            config,
            open: Mutex::default(),
            journals: Mutex::new(copies),
        })
    }

    pub(crate) fn journal(&self, realm: &str) -> Arc<MemoryJournal> {
        let mut journals = self.journals.lock().unwrap();
        let journal =
            journals.entry(realm.parse().unwrap()).or_insert_with(|| MemoryJournal::new(self.rewriting));
        Arc::clone(journal)
    }

    pub(crate) fn load(&self, realm: &str) -> Result<Arc<Realm>, LoadError> {
        let journal = self.journal(realm);
        let mut loader = RealmLoader::new(realm.parse().unwrap(), &self.config);
        for (object, entry) in journal.entries() {
            match entry {
                Entry::Snapshot(snapshot) => loader.snapshot(object, &snapshot)?,
                Entry::Record(record) => loader.record(object, &record)?,
            }
        }
        loader.finish(journal)
    }

    /// The realm, if it is open.
    pub(crate) fn realm(&self, name: &str) -> Option<Arc<Realm>> {
        self.open.lock().unwrap().get(&name.parse().unwrap()).cloned()
    }
}

impl RealmDirectory for Directory {
    fn open(&self, name: &RealmName) -> Result<OpenedRealm, BridgeError> {
        let mut open = self.open.lock().unwrap();
        if let Some(realm) = open.get(name) {
            return Ok(OpenedRealm { realm: Arc::clone(realm), is_new: false });
        }
        let is_new = !self.journals.lock().unwrap().contains_key(name);
        let realm =
            self.load(name.as_str()).map_err(|error| BridgeError::internal_error(error.to_string()))?;
        open.insert(name.clone(), Arc::clone(&realm));
        Ok(OpenedRealm { realm, is_new })
    }
}
