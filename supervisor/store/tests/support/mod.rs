//! What the tests of the store share: a realm read into memory, and scenes that run in a process of their own.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test program uses its part; failing is what tests do"
)]

use std::{collections::BTreeMap, env, path::Path, process::Command};

use oam_store::{Entry, ObjectName, Realm, Store, StoreError};

/// Objects by name: their snapshot and records, put together.
pub(crate) type Contents = BTreeMap<ObjectName, Vec<u8>>;

pub(crate) fn world(id: &str) -> ObjectName {
    ObjectName::new("world", id)
}

pub(crate) fn open_realm(store: &Store, name: &str) -> Result<(Realm, Contents), StoreError> {
    let mut contents = Contents::new();
    let realm = store.realm(name, |object, entry| {
        let (Entry::Snapshot(bytes) | Entry::Record(bytes)) = entry;
        contents.entry(object.clone()).or_default().extend(bytes);
        Ok::<_, StoreError>(())
    })?;
    Ok((realm, contents))
}

/// What the realm of the store in `folder` holds.
pub(crate) fn contents(folder: &Path, realm: &str) -> Contents {
    open_realm(&Store::open(folder).unwrap(), realm).unwrap().1
}

pub(crate) fn one(id: &str, bytes: &[u8]) -> Contents {
    Contents::from([(world(id), bytes.to_vec())])
}

const SCENE: &str = "OAM_STORE_SCENE";

/// The folder that [`scene`] hands to an ignored test that it runs; `None` when somebody else runs it.
pub(crate) fn scene_folder() -> Option<std::path::PathBuf> {
    env::var_os(SCENE).map(Into::into)
}

/// This test program, so that it runs the ignored test `name` alone. `launcher` is put in front.
pub(crate) fn scene(name: &str, folder: &Path, launcher: &[&str]) -> Command {
    let program = env::current_exe().unwrap();
    let mut command = match launcher {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.args(["--exact", name, "--ignored", "--nocapture"]).env(SCENE, folder);
    command
}
