//! Merge patches for JSON objects (RFC 7386).

use serde_json::{Map, Value};

/// Applies a patch: objects merge, `null` deletes, anything else replaces. It nests no deeper than a message.
pub(crate) fn merge_patch(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, new) in patch {
        match (target.get_mut(&key), new) {
            (_, Value::Null) => {
                target.shift_remove(&key);
            }
            (Some(Value::Object(target)), Value::Object(patch)) => merge_patch(target, patch),
            (_, Value::Object(patch)) => {
                let mut made = Map::new();
                merge_patch(&mut made, patch);
                target.insert(key, Value::Object(made));
            }
            (_, new) => {
                target.insert(key, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_says_what_changes() {
        let cases = [
            (json!({"a": 1, "b": 2}), json!({}), json!({"a": 1, "b": 2})),
            (json!({"a": 1, "b": 2}), json!({"a": null, "c": null}), json!({"b": 2})),
            (json!({"a": 1, "b": 2}), json!({"a": "x", "c": [null]}), json!({"a": "x", "b": 2, "c": [null]})),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": null, "d": 3}}),
                json!({"a": {"c": 2, "d": 3}}),
            ),
            (json!({"a": 1}), json!({"a": {"b": null, "c": {"d": null}}}), json!({"a": {"c": {}}})),
        ];
        for (before, patch, after) in cases {
            let (Value::Object(mut target), Value::Object(patch)) = (before, patch) else {
                panic!("objects")
            };
            merge_patch(&mut target, patch);
            assert_eq!(Value::Object(target).to_string(), after.to_string());
        }
    }
}
