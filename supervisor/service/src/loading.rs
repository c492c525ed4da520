//! How a realm comes from the store into memory.

use std::sync::Arc;

use oam_bridge::{BridgeConfig, Realm, RealmName, StorageFailure};
use oam_store::{Store, StoreError};

use crate::realms::{InUse, storage_failure};

/// Why a realm cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Unreadable(String),
}

impl Error {
    pub(crate) fn to_failure(&self, name: &RealmName) -> StorageFailure {
        match self {
            Self::Store(error) => storage_failure(error),
            Self::Unreadable(reason) => {
                StorageFailure { path: None, reason: format!("realm '{name}' cannot be loaded: {reason}") }
            }
        }
    }
}

/// Reads the realm, or makes an empty one.
pub(crate) fn load(
    _store: &Store,
    _name: &RealmName,
    _bridge: &BridgeConfig,
    _in_use: InUse,
) -> Result<Arc<Realm>, Error> {
    Err(Error::Unreadable("not yet".to_owned()))
}
