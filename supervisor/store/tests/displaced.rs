//! What a store does whose files are removed or replaced while it is open.
#![allow(clippy::unwrap_used)]

mod support;

use std::{fs, path::Path};

use oam_store::{ChangeError, FailureKind, Store, StoreError};
use support::{contents, one, open_realm, world};
use tempfile::tempdir;

type Displace = fn(&Path);

fn is_displacement(error: &StoreError) -> bool {
    matches!(error, StoreError::Failed(failure) if failure.kind == FailureKind::Displaced)
}

#[test]
fn a_store_whose_files_were_taken_away_or_replaced_reads_and_writes_nothing_there() {
    let ways: [(&str, Displace); 3] = [
        ("removed", |folder| fs::remove_dir_all(folder).unwrap()),
        ("moved away", |folder| fs::rename(folder, folder.with_extension("old")).unwrap()),
        ("replaced by a copy", |folder| {
            fs::copy(folder.join("realms.db"), folder.join("copy")).unwrap();
            fs::rename(folder.join("copy"), folder.join("realms.db")).unwrap();
        }),
    ];
    for (way, displace) in ways {
        let root = tempdir().unwrap();
        let folder = root.path().join("store");
        let store = Store::open(&folder).unwrap();
        let (realm, _) = open_realm(&store, "realm").unwrap();
        drop(open_realm(&store, "another").unwrap());
        realm.append(&world("w"), "before").unwrap();
        store.flush().unwrap();
        store.check().unwrap();
        displace(&folder);
        let found = fs::read(folder.join("realms.db")).ok();

        assert!(is_displacement(&store.check().unwrap_err()), "{way}");
        realm.append(&world("w"), "after").unwrap();
        let error = store.flush().unwrap_err();
        assert!(is_displacement(&error), "{way}: {error}");
        assert!(matches!(realm.ready(), Err(ChangeError::Failed(_))), "{way}");
        let error = open_realm(&store, "another").unwrap_err();
        assert!(is_displacement(&error), "{way}: {error}");
        drop(realm);
        let error = store.close().unwrap_err();
        assert!(matches!(error, StoreError::Unwritten { .. }), "{way}: {error}");
        assert_eq!(fs::read(folder.join("realms.db")).ok(), found, "{way}");
    }
}

#[test]
fn a_store_whose_folder_comes_back_goes_on() {
    let root = tempdir().unwrap();
    let (folder, away) = (root.path().join("store"), root.path().join("away"));
    let store = Store::open(&folder).unwrap();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    fs::rename(&folder, &away).unwrap();
    realm.append(&world("w"), "kept").unwrap();
    store.flush().unwrap_err();
    fs::rename(&away, &folder).unwrap();
    drop(realm);
    store.close().unwrap();
    assert_eq!(contents(&folder, "realm"), one("w", b"kept"));
}
