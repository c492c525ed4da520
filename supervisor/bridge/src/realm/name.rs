//! What realms are called.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Serialize, Serializer};

use crate::params::is_client_id;

/// The name of a shared realm: as the ids that clients choose, 1 to 128 characters without control or format
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealmName(Arc<str>);

/// A text that cannot be the name of a realm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRealmName;

impl RealmName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RealmName {
    type Err = InvalidRealmName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_client_id(text) { Ok(Self(text.into())) } else { Err(InvalidRealmName) }
    }
}

impl fmt::Display for RealmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RealmName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for InvalidRealmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a realm has 1 to 128 characters without control or format characters")
    }
}

impl std::error::Error for InvalidRealmName {}
