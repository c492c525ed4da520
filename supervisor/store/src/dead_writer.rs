//! What a store says and does whose writer has panicked.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use crate::{ChangeError, FailureKind, ObjectName, Realm, Store, StoreError};

const PANIC: &str = "the writer panicked: a fault of the test";

fn open_realm(store: &Store, name: &str) -> Result<Realm, StoreError> {
    store.realm(name, |_, _| Ok(()))
}

fn world() -> ObjectName {
    ObjectName::new("world", "w")
}

fn is_death(error: &StoreError) -> bool {
    matches!(error, StoreError::Failed(failure) if failure.kind == FailureKind::WriterDied && failure.message == PANIC)
}

/// Lines of the log, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_dead_writer_is_told_at_once_to_who_waits_and_to_who_makes_changes() {
    let log = Log::default();
    let lines = log.clone();
    // For all threads: the writer has its own.
    tracing_subscriber::fmt().with_writer(move || lines.clone()).init();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let realm = open_realm(&store, "realm").unwrap();
    drop(open_realm(&store, "another").unwrap());
    realm.append(&world(), "before").unwrap();
    store.flush().unwrap();
    store.check().unwrap();
    let durable = store.status().durable;

    store.break_writer();
    realm.append(&world(), "lost").unwrap();
    let error = store.flush().unwrap_err();
    assert!(is_death(&error), "{error}");
    assert!(is_death(&store.check().unwrap_err()));
    let status = store.status();
    assert_eq!(status.durable, durable);
    assert!(status.failure.is_some_and(|failure| failure.kind == FailureKind::WriterDied));

    assert!(matches!(realm.ready(), Err(ChangeError::Failed(_))));
    let refused = realm.append(&world(), "refused").unwrap_err();
    assert!(matches!(&refused, ChangeError::Failed(failure) if failure.message == PANIC), "{refused}");
    assert!(is_death(&open_realm(&store, "new").unwrap_err()));
    assert!(is_death(&store.delete_realm("another").unwrap_err()));
    drop(realm);
    let error = store.close().unwrap_err();
    assert!(
        matches!(&error, StoreError::Unwritten { changes: 1, failure } if failure.message == PANIC),
        "{error}"
    );
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("ERROR") && log.contains(PANIC), "{log}");
}
