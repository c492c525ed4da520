use std::sync::mpsc::channel;

use oam_agent::json_text;
use proptest::{collection, prelude::*};
use serde_json::json;

use super::*;
use crate::world::arbitrary::{any_path, json_value, root};

fn path(text: &str) -> WorldPath {
    text.parse().unwrap()
}

#[derive(Debug, Clone)]
enum Write {
    Set(WorldPath, Value),
    Merge(WorldPath, Value),
    Remove(WorldPath),
}

impl Write {
    fn make(self, world: &World) {
        // Many are refused, which is none of the keeper's business.
        let _ = match self {
            Self::Set(path, value) => world.set(&path, value),
            Self::Merge(path, patch) => world.merge(&path, patch),
            Self::Remove(path) => Ok(world.remove(&path).version),
        };
    }
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        (any_path(), json_value()).prop_map(|(path, value)| Write::Set(path, value)),
        (any_path(), json_value()).prop_map(|(path, patch)| Write::Merge(path, patch)),
        any_path().prop_map(Write::Remove),
    ]
}

/// An edit as text.
fn record(edit: WorldEdit<'_>) -> String {
    let changes = edit.changes().map(|(path, new)| {
        let path: Vec<_> = path.segments().collect();
        new.map_or_else(|| json!([path]), |new| json!([path, new]))
    });
    json_text::compact(&json!([edit.version, changes.collect::<Value>()]))
}

fn replay(world: &World, record: &str) -> Result<(), ReplayError> {
    type Changes = Vec<(Vec<String>, Option<Value>)>;
    let (version, changes): (u64, Vec<Vec<Value>>) = serde_json::from_str(record).unwrap();
    let read = |change: Vec<Value>| {
        let mut parts = change.into_iter();
        (serde_json::from_value(parts.next().unwrap()).unwrap(), parts.next())
    };
    let changes: Changes = changes.into_iter().map(read).collect();
    world.replay(version, changes.into_iter().map(|(path, new)| (WorldPath::from_iter(path), new)))
}

/// State and version as text: the order of keys counts.
fn told(world: &World) -> String {
    world.read(|world| format!("{} {}", world.version, json_text::compact(world.state())))
}

fn read_back(state: &Value, version: u64) -> World {
    World::at_version(serde_json::from_str(&json_text::compact(state)).unwrap(), version).unwrap()
}

proptest! {
    #[test]
    fn edits_played_again_give_the_same_world(
        before in root(), version in 0_u64..3, writes in collection::vec(write(), 1..12), from in 0_usize..12
    ) {
        let world = World::at_version(before.clone(), version).unwrap();
        let (sender, receiver) = channel();
        world.keep(move |edit| sender.send((record(edit), read_back(edit.state, edit.version))).unwrap());
        for write in writes {
            write.make(&world);
        }
        let (records, snapshots): (Vec<_>, Vec<_>) = receiver.try_iter().unzip();
        prop_assert_eq!(records.len() as u64, world.version() - version);

        // From the start, and on a snapshot that has seen some of the edits.
        let start = read_back(&before, version);
        for restored in [Some(&start), snapshots.get(from)].into_iter().flatten() {
            for record in &records {
                replay(restored, record).unwrap();
            }
            prop_assert_eq!(told(restored), told(&world));
        }
    }
}

#[test]
fn the_keeper_is_told_before_the_observers_and_only_of_what_changed() {
    let world = World::new(json!({"gold": 1})).unwrap();
    let (sender, receiver) = channel();
    let observer = sender.clone();
    let _observation = world.observe(WorldPath::root(), move |change| {
        observer.send(format!("observed {}", change.path)).unwrap();
    });
    world.keep(move |edit| sender.send(record(edit)).unwrap());
    world.set(&path("gold"), json!(1.0)).unwrap();
    world.set(&path("gold.x"), json!(1)).unwrap_err();
    world.merge(&WorldPath::root(), json!({"gold": null, "a.b": 2})).unwrap();
    let told: Vec<_> = receiver.try_iter().collect();
    assert_eq!(told, [r#"[1,[[["gold"]],[["a.b"],2]]]"#, "observed gold", "observed a.b"]);

    world.stop_keeping();
    world.remove(&WorldPath::root());
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), ["observed "]);
}

#[test]
fn what_cannot_follow_is_refused() {
    let world = World::at_version(json!({"gold": 1}), 4).unwrap();
    assert_eq!(replay(&world, r#"[6,[[["gold"],2]]]"#), Err(ReplayError::Gap { at: 4, version: 6 }));
    let refused = replay(&world, r#"[5,[[["gold","x"],2]]]"#);
    assert!(matches!(refused, Err(ReplayError::Refused(WorldError::Blocked { .. }))), "{refused:?}");
    assert_eq!(told(&world), r#"4 {"gold":1}"#);
    replay(&world, r#"[5,[[["gold"]]]]"#).unwrap();
    assert_eq!(told(&world), "5 {}");
}
