//! Worlds and paths for property tests.

use proptest::{collection, prelude::*};
use serde_json::{Map, Value, json};

use super::path::WorldPath;

/// Any JSON value over few keys, so that values meet each other.
pub(super) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => Just(Value::Null),
        2 => (0..3).prop_map(Value::from),
        1 => Just(json!(1.0)),
        1 => any::<bool>().prop_map(Value::from),
        1 => "[ab]".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            1 => collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    collection::vec((r"[a-d]|a\.b|\]?", values), 0..4).prop_map(|members| members.into_iter().collect())
}

pub(super) fn root() -> impl Strategy<Value = Value> {
    members(json_value()).prop_map(Value::Object)
}

pub(super) fn any_path() -> impl Strategy<Value = WorldPath> {
    collection::vec(r"[a-d]|a\.b|[0-3]", 0..4).prop_map(WorldPath::from_iter)
}
