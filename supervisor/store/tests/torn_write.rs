//! The power fails while a transaction is written: some of its bytes are on disk and others are not, or are garbage.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use oam_store::Store;
use support::{Contents, contents, one, open_realm, world};
use tempfile::tempdir;

const WAL: &str = "realms.db-wal";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    // The third file is rebuilt from the second, and has no meaning after a crash.
    for file in ["realms.db", WAL] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

#[test]
fn a_torn_transaction_is_dropped_as_a_whole_and_everything_before_it_kept() {
    let folder = tempdir().unwrap();
    let live = folder.path().join("live");
    let store = Store::open(&live).unwrap();
    let (realm, _) = open_realm(&store, "realm").unwrap();
    realm.append(&world("w"), vec![b'a'; 5000]).unwrap();
    store.flush().unwrap();
    let whole = fs::metadata(live.join(WAL)).unwrap().len();
    for _ in 0..40 {
        realm.append(&world("w"), vec![b'b'; 500]).unwrap();
    }
    store.flush().unwrap();
    let end = fs::metadata(live.join(WAL)).unwrap().len();

    let before = one("w", &[b'a'; 5000]);
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..40 {
        let torn = folder.path().join(format!("torn-{round}"));
        copy(&live, &torn);
        let wal = OpenOptions::new().write(true).open(torn.join(WAL)).unwrap();
        let from = random.u64(whole..end);
        match round % 4 {
            0 => wal.set_len(from).unwrap(),
            1 => wal.write_all_at(&garbage(&mut random, end - from), from).unwrap(),
            2 => wal.write_all_at(&vec![0; usize::try_from(end - from).unwrap()], from).unwrap(),
            // The end has come to the disk, the middle has not.
            _ => wal.write_all_at(&garbage(&mut random, (end - from).min(512)), from).unwrap(),
        }
        drop(wal);
        let found = contents(&torn, "realm");
        assert!(is_prefix(&before, &found), "round {round}, from {from} of {whole}..{end}");
        goes_on(&torn, found);
        fs::remove_dir_all(torn).unwrap();
    }
}

/// What was written in several transactions may be there in part, by whole records.
fn is_prefix(before: &Contents, found: &Contents) -> bool {
    let (old, new) = (&before[&world("w")], &found[&world("w")]);
    new.starts_with(old)
        && new[old.len()..].iter().all(|byte| *byte == b'b')
        && (new.len() - old.len()) % 500 == 0
}

fn goes_on(folder: &Path, mut contents: Contents) {
    let store = Store::open(folder).unwrap();
    open_realm(&store, "realm").unwrap().0.append(&world("w"), "later").unwrap();
    store.close().unwrap();
    contents.get_mut(&world("w")).unwrap().extend(b"later");
    assert_eq!(support::contents(folder, "realm"), contents);
}

fn garbage(random: &mut fastrand::Rng, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|_| random.u8(..)).collect()
}
