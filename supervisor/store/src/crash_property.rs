//! Whatever is done to a realm, and whenever the store ends without notice: what is read afterwards is what there was after
//! some change at or after the last durable one.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Entry, ObjectName, Realm, Sequence, Store, StoreError};

/// An object here is the list of what was appended; a snapshot is that list.
type Contents = BTreeMap<ObjectName, Vec<u8>>;

#[derive(Debug, Clone)]
enum Step {
    Append {
        object: u8,
        byte: u8,
    },
    /// A snapshot of what the object was `ago` changes before.
    Rewrite {
        object: u8,
        ago: usize,
    },
    Remove {
        object: u8,
    },
    Flush,
    Close,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let object = 0..3_u8;
    let step = prop_oneof![
        10 => (object.clone(), any::<u8>()).prop_map(|(object, byte)| Step::Append { object, byte }),
        3 => (object.clone(), 0..4_usize).prop_map(|(object, ago)| Step::Rewrite { object, ago }),
        1 => object.prop_map(|object| Step::Remove { object }),
        1 => Just(Step::Flush),
        1 => Just(Step::Close),
        2 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..60)
}

fn name(object: u8) -> ObjectName {
    ObjectName::new("object", object.to_string())
}

fn open(folder: &std::path::Path) -> (Store, Realm, Contents) {
    let store = Store::open(folder).unwrap();
    let mut contents = Contents::new();
    let realm = store
        .realm("realm", |name, entry| {
            let list = contents.entry(name.clone()).or_default();
            match entry {
                Entry::Snapshot(snapshot) => {
                    assert!(list.is_empty(), "a snapshot comes first");
                    list.extend(snapshot);
                }
                Entry::Record(record) => list.extend(record),
            }
            Ok::<_, StoreError>(())
        })
        .unwrap();
    (store, realm, contents)
}

fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, mut realm, contents) = open(folder.path());
    let mut history: Vec<(Sequence, Contents)> = vec![(realm.last(), contents)];
    for step in steps {
        let mut now = history.last().unwrap().1.clone();
        match *step {
            Step::Append { object, byte } => {
                now.entry(name(object)).or_default().push(byte);
                let appended = realm.append(&name(object), [byte]).unwrap();
                history.push((appended.sequence, now));
            }
            Step::Rewrite { object, ago } => {
                let (up_to, then) = &history[history.len().saturating_sub(1 + ago)];
                if let Some(list) = then.get(&name(object)) {
                    // May be stale: then it must change nothing.
                    let _ = realm.rewrite(&name(object), list.clone(), *up_to);
                }
            }
            Step::Remove { object } => {
                now.remove(&name(object));
                history.push((realm.remove(&name(object)).unwrap(), now));
            }
            Step::Flush => store.flush().unwrap(),
            Step::Close | Step::Crash => {
                drop(realm);
                let watch = store.watch();
                if matches!(step, Step::Close) {
                    store.close().unwrap();
                } else {
                    store.abandon();
                }
                let durable = watch.borrow().durable;
                let contents;
                (store, realm, contents) = open(folder.path());
                let kept = history.iter().rev().find(|(sequence, _)| *sequence <= durable).unwrap();
                prop_assert_eq!(&contents, &kept.1, "after {:?}", step);
                if matches!(step, Step::Close) {
                    prop_assert_eq!(&contents, &now);
                }
                history = vec![(realm.last(), contents)];
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_durable_is_read_and_nothing_is_read_in_part(steps in steps()) {
        check(&steps)?;
    }
}
