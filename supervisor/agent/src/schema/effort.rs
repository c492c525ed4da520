//! Will a check take long?
//!
//! A check costs what compiling the schema costs, and at worst, with unions, what all of the schema costs for each part of
//! the value. Both are measured by the JSON values they consist of, counted no further than it takes.

use serde_json::Value;

/// What others can be made to wait for: about a millisecond, in looks at a JSON value of the schema.
const SHORT: usize = 100_000;
/// What it takes to compile one JSON value of a schema.
const COMPILING: usize = 100;

pub(super) fn is_large_for_value(schema: &Value, value: &Value) -> bool {
    is_large(schema, count(value, SHORT))
}

pub(super) fn is_large_for_text(schema: &Value, text: &str) -> bool {
    // A value and what parts it from the next one are at least two bytes.
    is_large(schema, text.len() / 2)
}

/// For a value that consists of so many.
fn is_large(schema: &Value, values: usize) -> bool {
    let most = SHORT / values.saturating_add(COMPILING);
    count(schema, most + 1) > most
}

/// The JSON values that `value` consists of, or `most` if they are more.
fn count(value: &Value, most: usize) -> usize {
    let mut values = 0;
    let mut open = vec![value];
    while values < most
        && let Some(value) = open.pop()
    {
        values += 1;
        match value {
            Value::Array(elements) => open.extend(elements.iter().take(most)),
            Value::Object(members) => open.extend(members.values().take(most)),
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_and_value_count_together() {
        let schema = |properties: usize| json!({"properties": vec![json!({"type": "string"}); properties]});
        let value = |values: usize| json!(vec![0; values]);
        let cases = [
            (schema(20), value(20), false),
            (schema(450), value(1), false),
            (schema(500), value(1), true),
            (schema(1), value(20_000), false),
            (schema(1), value(30_000), true),
            (schema(100), value(300), false),
            (schema(100), value(500), true),
            (schema(1), value(200_000), true),
        ];
        for (schema, value, is_large) in cases {
            let what = (count(&schema, SHORT), count(&value, SHORT));
            assert_eq!(is_large_for_value(&schema, &value), is_large, "{what:?}");
            assert_eq!(is_large_for_text(&schema, &value.to_string()), is_large, "{what:?}");
        }
    }
}
