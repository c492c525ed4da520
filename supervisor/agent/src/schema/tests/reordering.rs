use serde_json::{Value, json};

use super::convert;
use crate::json_text::compact;

fn reordered(schema: &Value, value: Value) -> String {
    compact(&convert(schema).unwrap().schema.reorder(value).unwrap())
}

#[test]
fn members_follow_the_schema_and_unknown_ones_come_last() {
    let schema = json!({
        "properties": {
            "reasoning": {"type": "string"},
            "choice": {"type": "string"},
            "at": {"type": "array", "items": {"$ref": "#/$defs/Pos"}},
        },
        "$defs": {"Pos": {"properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "x-order": ["y"]}},
    });
    assert_eq!(
        reordered(
            &schema,
            json!({"b": 1, "choice": 5, "at": [{"x": 1, "y": 2}, "?", [{"x": 1, "y": 2}]], "a": {"y": 0, "x": 0}, "reasoning": null})
        ),
        r#"{"reasoning":null,"choice":5,"at":[{"y":2,"x":1},"?",[{"x":1,"y":2}]],"b":1,"a":{"y":0,"x":0}}"#
    );
}

#[test]
fn in_a_union_the_best_branch_decides() {
    let schema = json!({"anyOf": [
        {"type": "string"},
        {"type": "object", "title": "A", "properties": {"a": {}, "b": {}, "c": {}}},
        {"anyOf": [
            {"type": "object", "title": "B", "properties": {"c": {}, "b": {}}},
            {"type": "object", "title": "C", "properties": {"b": {}, "c": {}}},
        ]},
        {"type": "array", "items": {"type": "object", "properties": {"q": {}, "p": {}}}},
    ]});
    let cases = [
        (json!({"c": 1, "b": 2, "a": 3}), r#"{"a":3,"b":2,"c":1}"#),
        (json!({"b": 1, "c": 2}), r#"{"c":2,"b":1}"#),
        (json!({"z": 1, "b": 2}), r#"{"b":2,"z":1}"#),
        (json!({"z": 1}), r#"{"z":1}"#),
        (json!([{"p": 1, "q": 2}]), r#"[{"q":2,"p":1}]"#),
        (json!("text"), r#""text""#),
    ];
    for (value, expected) in cases {
        assert_eq!(reordered(&schema, value), expected);
    }
}

#[test]
fn deep_values_are_ordered_to_a_depth() {
    let schema = json!({"properties": {"n": {"$ref": "#"}, "v": {"type": "integer"}}});
    let value = |depth| (0..depth).fold(json!({}), |inner, _| json!({"v": 1, "n": inner}));
    let text = reordered(&schema, value(100));
    assert!(text.starts_with(&r#"{"n":"#.repeat(64)));
    assert!(text.contains(&r#"{"v":1,"n":"#.repeat(36)));
}

#[test]
fn branches_that_repeat_do_not_multiply() {
    let mut definitions = serde_json::Map::new();
    for i in 0..30 {
        let next = json!({"$ref": format!("#/$defs/{}", i + 1)});
        definitions.insert(i.to_string(), json!({"anyOf": [next, next, {"type": "string"}]}));
    }
    definitions.insert("30".into(), json!({"type": "object", "properties": {"a": {}, "b": {}}}));
    let schema = json!({"$ref": "#/$defs/16", "$defs": definitions});
    assert_eq!(reordered(&schema, json!({"b": 1, "a": 2})), r#"{"a":2,"b":1}"#);
}
