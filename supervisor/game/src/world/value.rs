//! Looking at JSON values: what lies at a path, what kind it is, whether two are the same.

use serde_json::{Number, Value};

use super::path::{WorldPath, list_position};

/// The value at the path. Keys match exactly.
pub(super) fn get<'v>(root: &'v Value, path: &WorldPath) -> Option<&'v Value> {
    path.segments().try_fold(root, child)
}

/// The value at the end of the segments.
pub(super) fn get_mut<'v, 's>(
    root: &'v mut Value,
    segments: impl IntoIterator<Item = &'s str>,
) -> Option<&'v mut Value> {
    segments.into_iter().try_fold(root, |value, segment| match value {
        Value::Object(members) => members.get_mut(segment),
        Value::Array(items) => items.get_mut(list_position(segment)?),
        _ => None,
    })
}

/// The member or item that a segment names.
pub(super) fn child<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(segment),
        Value::Array(items) => items.get(list_position(segment)?),
        _ => None,
    }
}

/// What the value is, as sentences say it: `a number`.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether the two say the same: numbers count by value, and the order of keys does not count.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    // Integers beyond 2^53 are compared as such where both are; as doubles, neighbours would be the same.
    if one.is_f64() || other.is_f64() { one.as_f64() == other.as_f64() } else { one == other }
}

/// Whether the value has at most this many nested lists and objects.
pub(super) fn nests_within(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(items), Some(levels)) => items.iter().all(|item| nests_within(item, levels)),
        (Value::Object(members), Some(levels)) => members.values().all(|member| nests_within(member, levels)),
        (Value::Array(_) | Value::Object(_), None) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_the_same_by_value_and_objects_whatever_their_order() {
        let cases = [
            (json!(1), json!(1.0), true),
            (json!(0.0), json!(-0.0), true),
            (json!(u64::MAX), json!(u64::MAX), true),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64), false),
            (json!(1), json!("1"), false),
            (json!(null), json!(false), false),
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!({"a": null}), json!({"b": null}), false),
            (json!([1, 2]), json!([2, 1]), false),
            (json!([1, 2]), json!([1]), false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(same(&one, &other), expected, "{one} {other}");
            assert_eq!(same(&other, &one), expected, "{other} {one}");
        }
    }

    #[test]
    fn depth_counts_lists_and_objects() {
        for (value, depth) in [(json!(1), 0), (json!([]), 1), (json!({"a": [{}], "b": 1}), 3)] {
            assert!(nests_within(&value, depth), "{value}");
            assert!(depth == 0 || !nests_within(&value, depth - 1), "{value}");
        }
    }
}
