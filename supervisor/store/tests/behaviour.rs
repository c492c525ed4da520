//! What a store does for its owner while nothing goes wrong, and how it refuses.
#![allow(clippy::unwrap_used)]

mod support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};

use oam_store::{ChangeError, Entry, ObjectName, Realm, Store, StoreError, StoreOptions};
use support::{Contents, contents, one, open_realm, world};
use tempfile::{TempDir, tempdir};

fn store() -> (TempDir, Store) {
    let folder = tempdir().unwrap();
    let store = Store::open(&folder.path().join("new/folder")).unwrap();
    (folder, store)
}

fn reopen(store: Store, folder: &TempDir) -> Store {
    store.close().unwrap();
    Store::open(&folder.path().join("new/folder")).unwrap()
}

#[test]
fn what_was_appended_is_read_in_order_and_objects_in_the_order_of_their_creation() {
    let (folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let names = [ObjectName::new("world", "z"), ObjectName::new("npc", "a"), ObjectName::new("session", "m")];
    for round in 0..3 {
        for name in &names {
            realm.append(name, [round]).unwrap();
        }
    }
    let store = reopen(store, &folder);
    let mut read = Vec::new();
    store
        .realm("realm", |name, entry| {
            let Entry::Record(record) = entry else { panic!("nobody made a snapshot") };
            read.push((name.clone(), record.to_vec()));
            Ok::<_, StoreError>(())
        })
        .unwrap();
    let expected: Vec<_> =
        names.iter().flat_map(|name| (0..3).map(move |round| (name.clone(), vec![round]))).collect();
    assert_eq!(read, expected);
}

#[test]
fn a_snapshot_takes_the_place_of_the_records_up_to_it() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    realm.append(&world("w"), "a").unwrap();
    let second = realm.append(&world("w"), "b").unwrap().sequence;
    realm.append(&world("w"), "c").unwrap();
    realm.rewrite(&world("w"), "AB", second).unwrap();
    realm.append(&world("w"), "d").unwrap();
    drop(realm);
    let mut read = Vec::new();
    store
        .realm("realm", |_, entry| {
            read.push(match entry {
                Entry::Snapshot(bytes) => (true, bytes.to_vec()),
                Entry::Record(bytes) => (false, bytes.to_vec()),
            });
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(read, [(true, b"AB".to_vec()), (false, b"c".to_vec()), (false, b"d".to_vec())]);
}

#[test]
fn a_snapshot_older_than_its_object_or_another_snapshot_is_refused_and_harmless() {
    let (folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let first = realm.append(&world("w"), "a").unwrap().sequence;
    let second = realm.append(&world("w"), "b").unwrap().sequence;
    realm.rewrite(&world("w"), "ab", second).unwrap();
    assert!(matches!(realm.rewrite(&world("w"), "a", first), Err(ChangeError::Stale)));
    realm.remove(&world("w")).unwrap();
    assert!(matches!(realm.rewrite(&world("w"), "ab", second), Err(ChangeError::Stale)));
    realm.append(&world("w"), "new").unwrap();
    assert!(matches!(realm.rewrite(&world("w"), "ab", second), Err(ChangeError::Stale)));
    store.close().unwrap();
    assert_eq!(contents(&folder.path().join("new/folder"), "realm"), one("w", b"new"));
}

#[test]
fn a_removed_object_is_gone_and_its_name_is_free() {
    let (folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    realm.append(&world("gone"), "x").unwrap();
    realm.append(&world("again"), "old").unwrap();
    realm.remove(&world("gone")).unwrap();
    realm.remove(&world("again")).unwrap();
    realm.remove(&world("never was")).unwrap();
    realm.append(&world("again"), "new").unwrap();
    let store = reopen(store, &folder);
    assert_eq!(open_realm(&store, "realm").unwrap().1, one("again", b"new"));
}

#[test]
fn following_rewrite_due_keeps_what_is_on_disk_in_proportion() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let (snapshot, record) = (vec![1; 100_000], vec![2; 1000]);
    let mut rewrites = 0;
    for _ in 0..1000 {
        let appended = realm.append(&world("w"), record.clone()).unwrap();
        if appended.rewrite_due {
            realm.rewrite(&world("w"), snapshot.clone(), appended.sequence).unwrap();
            rewrites += 1;
        }
    }
    assert_eq!(rewrites, 10, "first after 64 KiB, then whenever 100,000 bytes are outweighed");
    assert!(realm.size().bytes <= 2 * snapshot.len() as u64 + record.len() as u64, "{:?}", realm.size());
    store.flush().unwrap();
    assert_eq!(store.sizes().unwrap().realms, [realm.size()]);
}

#[test]
fn what_a_realm_holds_counts_on_after_it_is_opened_anew() {
    let (folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let first = realm.append(&world("w"), vec![0; 40 * 1024]).unwrap();
    realm.rewrite(&world("w"), vec![0; 70 * 1024], first.sequence).unwrap();
    realm.append(&world("w"), vec![0; 40 * 1024]).unwrap();
    let size = realm.size();
    let store = reopen(store, &folder);
    let (realm, _) = open_realm(&store, "realm").unwrap();
    assert_eq!(realm.size(), size);
    let appended = realm.append(&world("w"), vec![0; 40 * 1024]).unwrap();
    assert!(appended.rewrite_due, "80 KiB of records outweigh 70 KiB");
    realm.rewrite(&world("w"), "all", realm.last()).unwrap();
    drop(realm);
    assert_eq!(open_realm(&store, "realm").unwrap().1, one("w", b"all"));
}

#[test]
fn a_change_is_durable_when_the_status_says_so() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let sequence = realm.append(&world("w"), "x").unwrap().sequence;
    store.flush().unwrap();
    let status = store.status();
    assert!(status.durable >= sequence);
    assert_eq!(status.failure, None);
    drop(realm);
    assert_eq!(open_realm(&store, "realm").unwrap().1, one("w", b"x"));
}

#[test]
fn changes_are_taken_while_somebody_looks_at_the_status() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let watch = store.watch();
    let looked_at = watch.borrow();
    realm.append(&world("w"), "x").unwrap();
    store.flush().unwrap();
    realm.append(&world("w"), "y").unwrap();
    drop(looked_at);
    store.flush().unwrap();
}

#[test]
fn realms_are_apart_listed_and_deleted() {
    let (folder, store) = store();
    let (one_realm, _) = open_realm(&store, "one").unwrap();
    let (two, _) = open_realm(&store, "zwei \u{1f600}").unwrap();
    one_realm.append(&world("w"), "1").unwrap();
    two.append(&world("w"), vec![2; 8 << 20]).unwrap();
    drop((one_realm, two));
    let store = reopen(store, &folder);
    assert_eq!(store.realms(), ["one", "zwei \u{1f600}"]);
    let before = store.sizes().unwrap();
    assert_eq!(before.realms[1].bytes, 8 << 20);
    store.delete_realm("zwei \u{1f600}").unwrap();
    let store = reopen(store, &folder);
    assert_eq!(store.realms(), ["one"]);
    assert!(store.sizes().unwrap().file_bytes < 1 << 20, "the space is given back");
    assert_eq!(open_realm(&store, "one").unwrap().1, one("w", b"1"));
    assert_eq!(open_realm(&store, "zwei \u{1f600}").unwrap().1, Contents::new());
}

#[test]
fn a_realm_has_one_owner_and_cannot_be_deleted_under_it() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let clone = realm.clone();
    drop(realm);
    assert!(matches!(open_realm(&store, "realm"), Err(StoreError::RealmOpen { .. })));
    assert!(matches!(store.delete_realm("realm"), Err(StoreError::RealmOpen { .. })));
    assert!(matches!(store.delete_realm("other"), Err(StoreError::NoRealm { .. })));
    drop(clone);
    open_realm(&store, "realm").unwrap();
}

#[test]
fn an_error_of_the_reader_ends_the_reading_and_leaves_the_realm_closed() {
    let (_folder, store) = store();
    open_realm(&store, "realm").unwrap().0.append(&world("w"), "x").unwrap();
    let refused = store.realm("realm", |_, _| Err(StoreError::Closed));
    assert!(matches!(refused, Err(StoreError::Closed)));
    assert_eq!(open_realm(&store, "realm").unwrap().1, one("w", b"x"));
}

#[test]
fn a_store_has_one_process_and_says_which() {
    let (folder, store) = store();
    let path = folder.path().join("new/folder");
    let Err(error) = Store::open(&path) else { panic!("two have it open") };
    assert_eq!(error.to_string(), format!("{} is in use by process {}", path.display(), std::process::id()));
    drop(store);
    Store::open(&path).unwrap();
}

#[test]
fn what_it_keeps_is_for_its_owner_alone() {
    let (folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    realm.append(&world("w"), "x").unwrap();
    store.flush().unwrap();
    let path = folder.path().join("new/folder");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in ["realms.db", "realms.db-wal", "realms.db-shm"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
}

#[test]
fn something_else_in_its_place_is_refused_and_left_alone() {
    let other_database = {
        let folder = tempdir().unwrap();
        let path = folder.path().join("db");
        rusqlite::Connection::open(&path).unwrap().execute_batch("create table t (x)").unwrap();
        fs::read(path).unwrap()
    };
    for bytes in [b"Dear diary, this is no database, however long it may become.".repeat(100), other_database]
    {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("realms.db"), &bytes).unwrap();
        assert!(matches!(Store::open(folder.path()), Err(StoreError::Foreign { .. })));
        assert!(fs::read(folder.path().join("realms.db")).unwrap() == bytes, "it was changed");
    }
}

#[test]
fn a_place_that_cannot_be_is_an_error_that_names_it() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = Store::open(&folder.path().join("file/store")).unwrap_err();
    assert!(error.to_string().contains("file/store"), "{error}");
}

#[test]
fn too_much_at_once_is_refused_and_the_realm_must_be_opened_anew() {
    let folder = tempdir().unwrap();
    let store = Store::open_with(folder.path(), &StoreOptions { queue_bytes: 10_000 }).unwrap();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    let mut taken = 0;
    let refused = loop {
        match realm.append(&world("w"), [taken]) {
            Ok(_) => taken = taken.wrapping_add(1),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, ChangeError::Backlog { limit: 10_000, .. }));
    for refused in [
        realm.append(&world("w"), "later").map(drop),
        realm.remove(&world("w")).map(drop),
        realm.rewrite(&world("w"), "later", realm.last()).map(drop),
        realm.ready(),
    ] {
        assert!(matches!(refused, Err(ChangeError::Behind)));
    }
    drop(realm);
    let (realm, contents) = open_realm(&store, "realm").unwrap();
    let list = &contents[&world("w")];
    assert!(list.iter().enumerate().all(|(place, byte)| place % 256 == usize::from(*byte)));
    assert_eq!(list.last().copied(), Some(taken.wrapping_sub(1)), "all that was taken, and no more");
    realm.append(&world("w"), "later").unwrap();
}

#[test]
fn a_record_larger_than_the_queue_goes_alone_and_one_beyond_the_limit_not_at_all() {
    let folder = tempdir().unwrap();
    let store = Store::open_with(folder.path(), &StoreOptions { queue_bytes: 10_000 }).unwrap();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    realm.append(&world("w"), vec![7; 100_000]).unwrap();
    store.flush().unwrap();
    let refused = realm.append(&world("w"), vec![7; Realm::MAX_BYTES + 1]);
    assert!(matches!(refused, Err(ChangeError::TooLarge { .. })));
    drop(realm);
    assert_eq!(open_realm(&store, "realm").unwrap().1, one("w", &vec![7; 100_000]));
}

#[test]
fn a_closed_store_takes_nothing() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    store.close().unwrap();
    assert!(matches!(realm.ready(), Err(ChangeError::Closed)));
    assert!(matches!(realm.append(&world("w"), "x"), Err(ChangeError::Closed)));
}

#[test]
fn threads_share_a_realm_and_every_object_keeps_its_order() {
    let (_folder, store) = store();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let realm = realm.clone();
            scope.spawn(move || {
                for number in 0..200 {
                    realm.append(&world(&thread.to_string()), [number]).unwrap();
                }
            });
        }
    });
    drop(realm);
    let (_, contents) = open_realm(&store, "realm").unwrap();
    assert_eq!(contents.len(), 4);
    assert!(contents.values().all(|list| list.iter().copied().eq(0..200)));
}

#[test]
fn a_file_in_the_place_of_the_lock_is_left_alone() {
    let folder = tempdir().unwrap();
    let lock = folder.path().join("lock");
    fs::write(&lock, "precious").unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotALock { .. }), "{error}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), "precious");
}
