use std::sync::mpsc::{Receiver, channel};

use serde_json::json;

use super::*;

fn path(text: &str) -> WorldPath {
    text.parse().unwrap()
}

fn world(state: Value) -> World {
    World::new(state).unwrap()
}

/// Observes a world; each change arrives as `(name, path, old, new)`.
fn observe(world: &World, at: &str, name: &'static str) -> (Observation, Receiver<Value>) {
    let (sender, receiver) = channel();
    let observation = world.observe(path(at), move |change| {
        let told = json!([name, change.path, change.old_value, change.new_value]);
        sender.send(told).unwrap();
    });
    (observation, receiver)
}

fn heard(receiver: &Receiver<Value>) -> Value {
    receiver.try_iter().collect()
}

#[test]
fn a_world_is_an_object_that_fits_a_message() {
    assert_eq!(World::default().snapshot(), json!({}));
    for state in [json!([]), json!(null), json!("x")] {
        let error = World::new(state).unwrap_err();
        assert!(matches!(error, WorldError::RootMustBeAnObject { .. }), "{error}");
    }
    let nested = |levels| (0..levels).fold(json!(1), |value, _| json!({"x": value}));
    assert_eq!(world(nested(MAX_DEPTH)).snapshot(), nested(MAX_DEPTH));
    assert_eq!(World::new(nested(MAX_DEPTH + 1)).unwrap_err(), WorldError::TooDeep { path: path("") });
}

#[test]
fn the_version_counts_operations_that_change_something() {
    let world = world(json!({"player": {"gold": 12, "tags": ["a"]}}));
    let root = WorldPath::root();
    let versions = [
        world.set(&path("player.gold"), json!(12.0)),
        world.set(&path("player"), json!({"tags": ["a"], "gold": 12})),
        world.merge(&root, json!({"player": {"gold": 12}, "nobody": null})),
        world.modify(&path("player.gold"), |gold| Some(gold?.clone())),
        world.modify(&path("nobody"), |_| None),
        Ok(world.remove(&path("nobody")).version),
    ];
    assert_eq!(versions, [const { Ok(0) }; 6]);
    let versions = [
        world.set(&path("player.gold"), json!(13)),
        world.merge(&root, json!({"player": {"gold": 1, "hp": 2}, "day": 3})),
        world.modify(&path("day"), |day| Some(json!(day?.as_i64()? + 1))),
        world.modify(&path("day"), |_| None),
        Ok(world.remove(&path("player")).version),
    ];
    assert_eq!(versions, [1, 2, 3, 4, 5].map(Ok));
    assert!(world.set(&path(""), json!(1)).is_err());
    assert_eq!((world.version(), world.snapshot()), (5, json!({})));
}

#[test]
fn a_stored_null_is_there() {
    let world = world(json!({"horse": null}));
    assert_eq!(world.get(&path("horse")), Some(Value::Null));
    assert_eq!(world.get(&path("Horse")), None);
    assert_eq!(world.remove(&path("horse")), Removal { old_value: Some(Value::Null), version: 1 });
    assert_eq!(world.remove(&path("horse")), Removal { old_value: None, version: 1 });
}

#[test]
fn removing_the_root_empties_the_world() {
    let world = world(json!({"a": 1}));
    assert_eq!(world.remove(&path("")), Removal { old_value: Some(json!({"a": 1})), version: 1 });
    assert_eq!(world.remove(&path("")), Removal { old_value: Some(json!({})), version: 1 });
    assert_eq!(world.snapshot(), json!({}));
}

#[test]
fn observers_hear_of_changes_at_inside_and_above_their_path() {
    let world = world(json!({"player": {"gold": 12, "name": "Aria"}, "quests": {}}));
    let (_player, player) = observe(&world, "player", "player");
    let (_gold, gold) = observe(&world, "player[gold]", "gold");
    let (_quests, quests) = observe(&world, "quests", "quests");
    world.set(&path("/player/gold"), json!(50)).unwrap();
    world.merge(&path("player"), json!({"name": null, "gold": 50, "hp": 1})).unwrap();
    world.set(&path("player"), json!({"gold": 1})).unwrap();
    world.remove(&path("player.gold"));
    assert_eq!(
        heard(&gold),
        json!([
            ["gold", "player.gold", 12, 50],
            ["gold", "player", {"gold": 50, "hp": 1}, {"gold": 1}],
            ["gold", "player.gold", 1, null],
        ])
    );
    assert_eq!(
        heard(&player),
        json!([
            ["player", "player.gold", 12, 50],
            ["player", "player.name", "Aria", null],
            ["player", "player.hp", null, 1],
            ["player", "player", {"gold": 50, "hp": 1}, {"gold": 1}],
            ["player", "player.gold", 1, null],
        ])
    );
    assert_eq!(heard(&quests), json!([]));
}

#[test]
fn observers_are_told_in_the_order_of_their_creation_until_they_are_dropped() {
    let world = World::default();
    let (sender, receiver) = channel();
    let observe = |name: &'static str| {
        let sender = sender.clone();
        world.observe(WorldPath::root(), move |change| sender.send((name, change.path.to_string())).unwrap())
    };
    let [a, b, c] = ["a", "b", "c"].map(observe);
    world.merge(&path(""), json!({"x": 1, "y": 2})).unwrap();
    drop(a);
    let d = observe("d");
    world.remove(&path("y"));
    drop((b, c, d));
    world.remove(&path("x"));
    let told: Vec<_> = receiver.try_iter().collect();
    let told: Vec<_> = told.iter().map(|(name, path)| format!("{name}:{path}")).collect();
    assert_eq!(told.join(" "), "a:x b:x c:x a:y b:y c:y b:y c:y d:y");
}

#[test]
fn a_callback_is_dropped_with_its_observation_or_its_world() {
    let (world, (sender, receiver)) = (World::default(), channel::<()>());
    let observation = world.observe(WorldPath::root(), move |_| sender.send(()).unwrap());
    drop(observation);
    assert!(receiver.recv().is_err(), "the sender is gone");

    let (sender, receiver) = channel::<()>();
    let observation = world.observe(WorldPath::root(), move |_| sender.send(()).unwrap());
    drop(world);
    assert!(receiver.recv().is_err(), "an observation does not keep a world alive");
    drop(observation);
}

#[test]
fn a_callback_that_panics_leaves_the_world_whole() {
    let world = World::default();
    let observation = world.observe(path("x"), |_| panic!("a bug of the host"));
    let written =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.set(&path("x.y"), json!(1))));
    assert!(written.is_err());
    drop(observation);
    assert_eq!((world.version(), world.snapshot()), (1, json!({"x": {"y": 1}})));
    assert_eq!(world.set(&path("x"), json!(2)), Ok(2));
}

#[test]
fn all_threads_observers_see_one_order() {
    let world = world(json!({"n": 0}));
    let (_first, first) = observe(&world, "n", "n");
    let (_second, second) = observe(&world, "", "n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    world.modify(&path("n"), |n| Some(json!(n?.as_i64()? + 1))).unwrap();
                }
            });
        }
    });
    let expected: Value = (1..=400).map(|n| json!(["n", "n", n - 1, n])).collect();
    assert_eq!(heard(&first), expected);
    assert_eq!(heard(&second), expected);
}

#[test]
fn a_large_world_is_changed_without_walking_it_for_every_member() {
    let members = |value: fn(usize) -> Value| -> Value {
        Value::Object((0..20_000).map(|number| (format!("key{number}"), value(number))).collect())
    };
    let world = world(members(|number| json!(number)));
    world.merge(&path(""), members(|_| Value::Null)).unwrap();
    assert_eq!(world.snapshot(), json!({}));
    world.merge(&path("a"), members(|number| json!([number]))).unwrap();
    world.merge(&path("a"), members(|number| json!([number + 1]))).unwrap();
    assert_eq!((world.get(&path("a.key7.0")), world.version()), (Some(json!(8)), 3));
}
