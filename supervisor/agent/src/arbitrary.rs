//! Arbitrary JSON for property tests.

use proptest::{collection, prelude::*};
use serde_json::{Map, Value};

/// Any JSON value, some levels deep. Its numbers read back the same from the text that `json_text` writes.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) + 0.5)),
        any::<String>().prop_map(Value::from),
        r#"["\\/\n\x{1}\x{2028}é😀]{0,6}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any JSON object.
pub(crate) fn object() -> impl Strategy<Value = Map<String, Value>> {
    collection::vec((any::<String>(), json()), 0..4).prop_map(|members| members.into_iter().collect())
}
