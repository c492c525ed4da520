//! Schemas that are too deep or expand too far.

use serde_json::{Map, Value, json};

use super::{convert, converted, error};
use crate::schema::budget::MAX_NODES;

fn nested(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (1..levels).fold(json!({"type": "string"}), |inner, _| wrap(inner))
}

#[test]
fn thirty_two_levels_are_enough() {
    let ways: [fn(Value) -> Value; 4] = [
        |inner| json!({"type": "object", "properties": {"v": inner}}),
        |inner| json!({"type": "array", "items": inner}),
        |inner| json!({"anyOf": [inner, {"type": "null"}]}),
        |inner| json!({"anyOf": [{"type": "boolean"}, inner]}),
    ];
    for wrap in ways {
        assert!(convert(&nested(32, wrap)).is_ok());
        let error = convert(&nested(33, wrap)).unwrap_err();
        assert_eq!(error.message, "the schema nests or references more than 32 levels deep");
        assert!(convert(&nested(100, wrap)).is_err());
    }
    let deep = nested(33, |inner| json!({"items": inner}));
    assert_eq!(convert(&deep).unwrap_err().path, format!("#{}", "/items".repeat(32)));
}

#[test]
fn references_and_merges_are_levels() {
    let chain = |length: usize| {
        let mut definitions: Map<_, _> =
            (1..length).map(|i| (i.to_string(), json!({"$ref": format!("#/$defs/{}", i + 1)}))).collect();
        definitions.insert(length.to_string(), json!({"type": "string"}));
        json!({"$ref": "#/$defs/1", "$defs": definitions})
    };
    assert!(convert(&chain(31)).is_ok());
    assert!(convert(&chain(32)).is_err());
    let merges = |count| nested(count, |inner| json!({"allOf": [inner]}));
    assert!(convert(&merges(32)).is_ok());
    assert!(convert(&merges(33)).is_err());
}

#[test]
fn expansion_is_limited() {
    // Each definition uses the next one four times: 4^8 strings.
    let multiplying = |wrap: fn(Value) -> Value| {
        let mut definitions: Map<_, _> =
            (0..8).map(|i| (i.to_string(), wrap(json!({"$ref": format!("#/$defs/{}", i + 1)})))).collect();
        definitions.insert("8".into(), json!({"type": "string"}));
        json!({"$ref": "#/$defs/0", "$defs": definitions})
    };
    let too_many = format!("the schema expands to more than {MAX_NODES} types and parts");
    let by_members = |next| json!({"allOf": [{"properties": {"a": next, "b": next, "c": next, "d": next}}]});
    assert_eq!(convert(&multiplying(by_members)).unwrap_err().message, too_many);
    let by_branches = |next| json!({"allOf": [{"anyOf": [next, next, next, next]}]});
    assert_eq!(convert(&multiplying(by_branches)).unwrap_err().message, too_many);
    let by_parts = |next| json!({"allOf": vec![next; 12], "minimum": 0});
    assert_eq!(convert(&multiplying(by_parts)).unwrap_err().message, too_many);

    let text = "x".repeat(1 << 20);
    let uses = |target: Value| {
        let uses: Map<_, _> = (0..500).map(|i| (i.to_string(), json!({"$ref": "#/$defs/T"}))).collect();
        json!({"properties": uses, "$defs": {"T": target}})
    };
    for target in [
        json!({"type": "string", "description": text}),
        json!({"type": "boolean", "description": text}),
        json!({"type": "object", "description": text}),
        json!({"type": "string", "pattern": text}),
        json!({"enum": [text]}),
        json!({"anyOf": [{"enum": [text]}, {"type": "null"}]}),
        json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "description": text}),
    ] {
        assert!(error(&uses(target)).starts_with("the schema expands to too much text"));
    }
}

#[test]
fn wide_schemas_are_fine_until_they_are_absurd() {
    let wide = |width: usize| {
        let properties: Map<_, _> =
            (0..width).map(|i| (format!("property {i}"), json!({"type": "object", "title": "T"}))).collect();
        json!({"properties": properties})
    };
    assert_eq!(converted(&wide(2000))["$defs"].as_object().unwrap().len(), 2000);
    assert!(convert(&wide(MAX_NODES)).is_err());
}
