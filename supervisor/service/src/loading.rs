//! How a realm comes from the store into memory.

use std::sync::Arc;

use oam_bridge::{
    BridgeConfig, LoadError, ObjectName, OpenedRealm, RealmLoader, RealmName, StorageFailure,
    journal::UnknownObjectKind,
};
use oam_store::{Entry, Store, StoreError};

use crate::{
    journal::StoredJournal,
    realms::{InUse, storage_failure},
};

/// Why a realm cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Object(#[from] LoadError),
    #[error(transparent)]
    Kind(#[from] UnknownObjectKind),
}

impl Error {
    pub(crate) fn to_failure(&self) -> StorageFailure {
        match self {
            Self::Store(error) => storage_failure(error),
            Self::Object(_) | Self::Kind(_) => StorageFailure { path: None, reason: self.to_string() },
        }
    }
}

/// Reads the realm, or makes an empty one. Blocks.
pub(crate) fn load(
    store: &Store,
    name: &RealmName,
    bridge: &BridgeConfig,
    in_use: InUse,
) -> Result<OpenedRealm, Error> {
    let mut loader = RealmLoader::new(name.clone(), bridge);
    let stored = store.realm(name.as_str(), |object, entry| {
        let object = ObjectName { kind: object.kind.parse()?, id: (*object.id).into() };
        match entry {
            Entry::Snapshot(snapshot) => loader.snapshot(object, snapshot)?,
            Entry::Record(record) => loader.record(object, record)?,
        }
        Ok::<_, Error>(())
    })?;
    let is_new = stored.is_new();
    let journal = StoredJournal::new(stored, store.watch(), in_use);
    Ok(OpenedRealm { realm: loader.finish(Arc::new(journal))?, is_new })
}
