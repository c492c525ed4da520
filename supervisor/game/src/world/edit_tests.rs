use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::world::arbitrary::{any_path, json_value, root};

fn path(text: &str) -> WorldPath {
    text.parse().unwrap()
}

/// What an edit tells, written as `(path, old, new)`.
fn told(changes: &[Change], root: &Value) -> Value {
    let told = |change: &Change| {
        let mut told = json!({"path": change.path.to_string()});
        told.as_object_mut().unwrap().extend(change.old.clone().map(|old| ("old".to_owned(), old)));
        told.as_object_mut()
            .unwrap()
            .extend(change.new_value(root).cloned().map(|new| ("new".to_owned(), new)));
        told
    };
    changes.iter().map(told).collect()
}

fn edited(
    before: &Value,
    edit: impl FnOnce(&mut Value, &mut Vec<Change>) -> Result<(), WorldError>,
) -> Result<(Value, Value), WorldError> {
    let (mut root, mut changes) = (before.clone(), Vec::new());
    match edit(&mut root, &mut changes) {
        Ok(()) => {
            let told = told(&changes, &root);
            Ok((root, told))
        }
        Err(error) => {
            assert_eq!((&root, changes.len()), (before, 0), "a refused edit changes nothing");
            Err(error)
        }
    }
}

#[test]
fn set_stores_a_value_and_makes_what_is_missing_on_the_way() {
    let cases = [
        (json!({"a": 1}), "a", json!(2), json!({"a": 2}), json!([{"path": "a", "old": 1, "new": 2}])),
        (
            json!({}),
            "a.b.c",
            json!([]),
            json!({"a": {"b": {"c": []}}}),
            json!([{"path": "a.b.c", "new": []}]),
        ),
        (json!({"a": null}), "a.b", json!(1), json!({"a": {"b": 1}}), json!([{"path": "a.b", "new": 1}])),
        (json!({"a": null}), "a", json!(1), json!({"a": 1}), json!([{"path": "a", "old": null, "new": 1}])),
        (json!({}), "a", json!(null), json!({"a": null}), json!([{"path": "a", "new": null}])),
        (
            json!({"l": [1, 2]}),
            "l[1]",
            json!(3),
            json!({"l": [1, 3]}),
            json!([{"path": "l.1", "old": 2, "new": 3}]),
        ),
        (json!({"l": [1]}), "l.1", json!(2), json!({"l": [1, 2]}), json!([{"path": "l.1", "new": 2}])),
        (
            json!({"l": []}),
            "l.0.name",
            json!("x"),
            json!({"l": [{"name": "x"}]}),
            json!([{"path": "l.0.name", "new": "x"}]),
        ),
        (
            json!({"l": [null]}),
            "l.0.n",
            json!(1),
            json!({"l": [{"n": 1}]}),
            json!([{"path": "l.0.n", "new": 1}]),
        ),
        (json!({}), "a.0", json!(1), json!({"a": {"0": 1}}), json!([{"path": "a.0", "new": 1}])),
        (
            json!({"a": 1}),
            "",
            json!({"b": 2}),
            json!({"b": 2}),
            json!([{"path": "", "old": {"a": 1}, "new": {"b": 2}}]),
        ),
        // What is there already is left as it is.
        (json!({"a": 1}), "a", json!(1.0), json!({"a": 1}), json!([])),
        (
            json!({"a": {"x": 1, "y": 2}}),
            "a",
            json!({"y": 2, "x": 1}),
            json!({"a": {"x": 1, "y": 2}}),
            json!([]),
        ),
        (json!({"a": null}), "a", json!(null), json!({"a": null}), json!([])),
    ];
    for (before, at, value, after, changes) in cases {
        let result = edited(&before, |root, changes| set(root, &path(at), value, changes)).unwrap();
        assert_eq!((result.0.to_string(), &result.1), (after.to_string(), &changes), "{before} {at}");
    }
}

#[test]
fn writes_that_lead_nowhere_are_refused() {
    let world = json!({"gold": 1, "name": "A", "on": true, "l": [1, 2]});
    let cases = [
        ("gold.x", "gold.x", "Cannot write 'gold.x': 'gold' is a number, not an object or list."),
        ("name.x.y", "name.x.y", "Cannot write 'name.x.y': 'name' is a string, not an object or list."),
        ("on/x", "on.x", "Cannot write 'on.x': 'on' is a boolean, not an object or list."),
        ("l[0].x", "l.0.x", "Cannot write 'l.0.x': 'l.0' is a number, not an object or list."),
        ("l.3", "l.3", "Cannot write 'l.3': 'l' has 2 items; use an index from 0 to 2 (2 appends)."),
        (
            "l.x",
            "l.x",
            "Cannot write 'l.x': 'x' is not an index; 'l' has 2 items; use an index from 0 to 2 (2 appends).",
        ),
        (
            "l.-1",
            "l.-1",
            "Cannot write 'l.-1': '-1' is not an index; 'l' has 2 items; use an index from 0 to 2 (2 appends).",
        ),
        ("l.01", "l.01", "Cannot write 'l.01': 'l' has 2 items; use an index from 0 to 2 (2 appends)."),
        ("", "", "The root of the world must stay an object; a number cannot take its place."),
    ];
    for (at, canonical, message) in cases {
        for edit in [set, merge] {
            let error = edited(&world, |root, changes| edit(root, &path(at), json!(5), changes)).unwrap_err();
            assert_eq!((error.path().as_str(), error.to_string().as_str()), (canonical, message));
        }
    }
}

#[test]
fn merge_follows_rfc_7386_and_tells_each_changed_leaf() {
    let player = json!({"player": {"name": "Aria", "gold": 12, "hp": 30}, "day": 1});
    let cases = [
        (
            player.clone(),
            "",
            json!({"player": {"gold": 20, "hp": null, "title": "Knight", "name": "Aria"}, "day": 1}),
            json!({"player": {"name": "Aria", "gold": 20, "title": "Knight"}, "day": 1}),
            json!([
                {"path": "player.gold", "old": 12, "new": 20},
                {"path": "player.hp", "old": 30},
                {"path": "player.title", "new": "Knight"},
            ]),
        ),
        (player.clone(), "", json!({"player": {}, "nobody": null}), player.clone(), json!([])),
        (
            json!({}),
            "",
            json!({"a": {"b": 1, "c": null, "d": {"e": null}, "l": [null, {"f": null}]}}),
            json!({"a": {"b": 1, "d": {}, "l": [null, {"f": null}]}}),
            json!([{"path": "a", "new": {"b": 1, "d": {}, "l": [null, {"f": null}]}}]),
        ),
        (
            json!({"a": {"b": 1}, "l": [1]}),
            "",
            json!({"a": "gone", "l": {"x": null, "y": 1}}),
            json!({"a": "gone", "l": {"y": 1}}),
            json!([
                {"path": "a", "old": {"b": 1}, "new": "gone"},
                {"path": "l", "old": [1], "new": {"y": 1}},
            ]),
        ),
        (
            json!({"l": [{"a": 1}]}),
            "l.0",
            json!({"b": 2}),
            json!({"l": [{"a": 1, "b": 2}]}),
            json!([{"path": "l.0.b", "new": 2}]),
        ),
        (json!({}), "a.b", json!({"c": null}), json!({"a": {"b": {}}}), json!([{"path": "a.b", "new": {}}])),
        (
            json!({"a": null}),
            "a",
            json!({}),
            json!({"a": {}}),
            json!([{"path": "a", "old": null, "new": {}}]),
        ),
        (
            json!({"a": 1}),
            "a",
            json!(null),
            json!({"a": null}),
            json!([{"path": "a", "old": 1, "new": null}]),
        ),
        (
            json!({"a": {"b": 1}}),
            "a",
            json!([1]),
            json!({"a": [1]}),
            json!([{"path": "a", "old": {"b": 1}, "new": [1]}]),
        ),
        (json!({}), "", json!({"x.y": 1}), json!({"x.y": 1}), json!([{"path": "x.y", "new": 1}])),
    ];
    for (before, at, patch, after, changes) in cases {
        let result = edited(&before, |root, changes| merge(root, &path(at), patch, changes)).unwrap();
        assert_eq!((result.0.to_string(), &result.1), (after.to_string(), &changes), "{before} {at}");
    }
}

#[test]
fn a_member_keeps_its_place_and_a_new_one_comes_last() {
    let mut root = json!({"c": 1, "a": 2, "b": 3});
    let mut changes = Vec::new();
    set(&mut root, &path("a"), json!(9), &mut changes).unwrap();
    set(&mut root, &path("d"), json!(4), &mut changes).unwrap();
    merge(&mut root, &path(""), json!({"e": 5, "c": 8, "b": null}), &mut changes).unwrap();
    assert_eq!(root.to_string(), r#"{"c":8,"a":9,"d":4,"e":5}"#);
    remove(&mut root, &path("a")).unwrap();
    assert_eq!(root.to_string(), r#"{"c":8,"d":4,"e":5}"#);
}

#[test]
fn remove_takes_a_value_away_if_there_is_one() {
    let world = json!({"a": {"b": null}, "l": [1, 2, 3], "n": 5});
    let cases = [
        ("a.b", Some(json!(null)), json!({"a": {}, "l": [1, 2, 3], "n": 5})),
        ("l.0", Some(json!(1)), json!({"a": {"b": null}, "l": [2, 3], "n": 5})),
        ("", Some(world.clone()), json!({})),
        ("x", None, world.clone()),
        ("x.y", None, world.clone()),
        ("l.3", None, world.clone()),
        ("l.b", None, world.clone()),
        ("n.x", None, world.clone()),
        ("a.b.c", None, world.clone()),
    ];
    for (at, old, after) in cases {
        let mut root = world.clone();
        let change = remove(&mut root, &path(at));
        assert_eq!(root, after, "{at}");
        assert_eq!(change.as_ref().and_then(|change| change.old.clone()), old, "{at}");
        assert_eq!(change.and_then(|change| change.new_value(&root).cloned()), None, "{at}");
    }
}

#[test]
fn a_patch_below_64_levels_is_stored_as_it_is() {
    let nested = |levels: usize, inner: Value| {
        (0..levels).fold(inner, |value, _| Value::Object(Map::from_iter([("x".to_owned(), value)])))
    };
    for (levels, kept) in [(63, json!({"old": 1, "b": 2})), (64, json!({"a": null, "b": 2}))] {
        let mut root = nested(levels, json!({"old": 1, "a": 1}));
        let patch = nested(levels, json!({"a": null, "b": 2}));
        merge(&mut root, &WorldPath::root(), patch.clone(), &mut Vec::new()).unwrap();
        assert_eq!(root, nested(levels, kept), "{levels} levels, merged");

        let mut root = json!({});
        merge(&mut root, &WorldPath::root(), patch, &mut Vec::new()).unwrap();
        let kept = if levels < 64 { json!({"b": 2}) } else { json!({"a": null, "b": 2}) };
        assert_eq!(root, nested(levels, kept), "{levels} levels, new");
    }
}

#[test]
fn a_world_nests_no_deeper_than_a_message() {
    let lists = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    let cases = [("a", 97, true), ("a", 98, false), ("a.b", 96, true), ("a.b", 97, false)];
    for (at, levels, fits) in cases {
        for edit in [set, merge] {
            let result = edited(&json!({}), |root, changes| edit(root, &path(at), lists(levels), changes));
            assert_eq!(result.is_ok(), fits, "{at} {levels}");
        }
    }
    let far = vec!["x"; 99].join(".");
    let error = edited(&json!({}), |root, changes| set(root, &path(&far), json!(1), changes)).unwrap_err();
    assert_eq!(error, WorldError::TooDeep { path: path(&far) });
}

/// RFC 7386 as its section 2 has it.
fn merge_patch(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut target = match target {
        Value::Object(target) => target,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            target.shift_remove(&name);
        } else {
            let old = target.get(&name).cloned().unwrap_or_default();
            target.insert(name, merge_patch(old, value));
        }
    }
    Value::Object(target)
}

fn replayed(mut before: Value, changes: &[Change], after: &Value) -> Value {
    for change in changes {
        assert_eq!(value::get(&before, &change.path), change.old.as_ref(), "at {}", change.path);
        match change.new_value(after) {
            Some(new) => set(&mut before, &change.path, new.clone(), &mut Vec::new()).unwrap(),
            None => drop(remove(&mut before, &change.path)),
        }
    }
    before
}

proptest! {
    #[test]
    fn merging_does_what_the_rfc_says(before in root(), patch in root()) {
        let mut after = before.clone();
        merge(&mut after, &WorldPath::root(), patch.clone(), &mut Vec::new()).unwrap();
        let expected = merge_patch(before, patch);
        prop_assert!(value::same(&after, &expected), "{after}, not {expected}");
        prop_assert_eq!(keys(&after), keys(&expected));
    }

    #[test]
    fn changes_played_on_the_old_state_give_the_new_one(
        before in root(), path in any_path(), new in json_value(), merges in any::<bool>(), removes in any::<bool>()
    ) {
        let (mut after, mut changes) = (before.clone(), Vec::new());
        let edit = if merges { merge } else { set };
        if removes {
            changes.extend(remove(&mut after, &path));
        } else if edit(&mut after, &path, new, &mut changes).is_err() {
            prop_assert_eq!(&after, &before);
            prop_assert!(changes.is_empty());
        }
        prop_assert!(!changes.is_empty() || value::same(&after, &before));
        prop_assert_eq!(replayed(before, &changes, &after), after);
    }
}

/// The keys of all objects in their order.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            members.iter().flat_map(|(key, value)| std::iter::once(key.clone()).chain(keys(value))).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}
