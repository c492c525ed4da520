//! `$ref`.

use serde_json::{Value, json};

use super::{convert, converted, error, warnings};

fn with_definitions(property: &Value, definitions: &Value) -> Value {
    json!({"type": "object", "properties": {"v": property}, "required": ["v"], "$defs": definitions})
}

#[test]
fn objects_and_unions_are_named_and_converted_once() {
    let schema = json!({
        "properties": {
            "a": {"$ref": "#/$defs/Pos", "description": "own", "type": "ignored"},
            "b": {"$ref": "#/$defs/Pos"},
            "c": {"type": "array", "items": {"$ref": "#/definitions/Act"}},
        },
        "required": ["a", "c"],
        "$defs": {
            "Pos": {"description": "target's", "properties": {"x": {"type": "string", "format": "f"}}},
            "Unused": {"type": "object"},
        },
        "definitions": {"Act": {"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/Pos"}]}},
    });
    let json = converted(&schema);
    assert_eq!(json["properties"]["a"], json!({"$ref": "#/$defs/Pos", "description": "own"}));
    assert_eq!(json["properties"]["b"], json!({"$ref": "#/$defs/Pos", "description": "target's"}));
    assert_eq!(json["properties"]["c"], json!({"type": "array", "items": {"$ref": "#/$defs/Act"}}));
    assert_eq!(json["required"], json!(["a", "c"]));
    assert_eq!(json["$defs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Pos", "Act"]);
    assert_eq!(json["$defs"]["Act"]["anyOf"], json!([{"type": "integer"}, {"$ref": "#/$defs/Pos"}]));
    assert_eq!(
        warnings(&schema),
        ["#/$defs/Pos/properties/x: 'format' is described to the model but not enforced"]
    );
}

#[test]
fn other_targets_are_inlined_at_each_use() {
    let schema = json!({
        "properties": {
            "a": {"$ref": "#/$defs/S", "description": "lost"},
            "b": {"$ref": "#/$defs/S"},
            "c": {"$ref": "#/$defs/T", "description": "kept"},
        },
        "$defs": {"S": {"type": "string", "format": "f", "description": "S"}, "T": {"$ref": "#/$defs/E"}, "E": {"enum": ["x"]}},
    });
    let json = converted(&schema);
    assert_eq!(json["properties"]["a"], json!({"type": "string", "description": "S (format: f)"}));
    assert_eq!(json["properties"]["a"], json["properties"]["b"]);
    assert_eq!(json["properties"]["c"], json!({"type": "string", "enum": ["x"], "description": "kept"}));
    assert_eq!(json.get("$defs"), None);
    assert_eq!(warnings(&schema), ["#/$defs/S: 'format' is described to the model but not enforced"; 2]);
}

#[test]
fn types_may_contain_themselves() {
    let json = converted(&with_definitions(
        &json!({"$ref": "#/$defs/Node"}),
        &json!({"Node": {"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            "root": {"$ref": "#"},
        }}}),
    ));
    assert_eq!(json["properties"]["v"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(
        json["$defs"]["Node"]["properties"],
        json!({"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}, "root": {"$ref": "#"}})
    );
}

#[test]
fn a_nullable_target_is_nullable_at_every_use() {
    let list = json!({"anyOf": [
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/List"}}, "required": ["next"]},
        {"type": "null"},
    ]});
    let json = converted(&json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/List"}, "b": {"$ref": "#/$defs/List"}},
        "required": ["a", "b"],
        "$defs": {"List": list},
    }));
    assert_eq!(json["required"], json!([]));
    assert_eq!(json["properties"]["a"], json!({"$ref": "#/$defs/List"}));
    assert_eq!(json["$defs"]["List"]["required"], json!([]));
}

#[test]
fn a_root_that_is_a_reference_is_its_target() {
    let json = converted(&json!({
        "$ref": "#/$defs/Tree",
        "$defs": {"Tree": {"properties": {"left": {"$ref": "#/$defs/Tree"}}}},
    }));
    assert_eq!(
        json,
        json!({
            "title": "Tree", "type": "object", "properties": {"left": {"$ref": "#"}}, "required": [],
            "additionalProperties": false, "x-order": ["left"],
        })
    );
}

#[test]
fn unions_that_come_to_one_plain_type_are_inlined() {
    let json = converted(&json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Name"}, "b": {"$ref": "#/$defs/Name", "description": "own"}},
        "required": ["a", "b"],
        "$defs": {"Name": {"description": "D", "anyOf": [{"type": "string"}, {"type": "null"}]}},
    }));
    assert_eq!(
        json["properties"],
        json!({"a": {"type": "string", "description": "D"}, "b": {"type": "string", "description": "own"}})
    );
    assert_eq!(json["required"], json!([]));
}

#[test]
fn any_pointer_into_the_document_works() {
    let cases = [
        ("#/$defs/a~1b", json!({"type": "boolean"})),
        ("#/$defs/c~0d", json!({"type": "integer"})),
        ("#/$defs/list/1", json!({"type": "number"})),
        ("#/properties/w", json!({"type": "null"})),
    ];
    for (reference, expected) in cases {
        let mut schema = with_definitions(
            &json!({"$ref": reference}),
            &json!({"a/b": {"type": "boolean"}, "c~d": {"type": "integer"}, "list": [5, {"type": "number"}]}),
        );
        schema["properties"]["w"] = json!({"type": "null"});
        assert_eq!(converted(&schema)["properties"]["v"], expected, "{reference}");
    }
}

#[test]
fn a_target_is_named_by_its_title_or_the_end_of_the_pointer() {
    let json = converted(&json!({
        "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/Tür"}},
        "$defs": {"a/b": {"type": "object"}, "B": {"type": "object", "title": "Title"}, "Tür": {"type": "object"}},
    }));
    assert_eq!(json["$defs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a_b", "Title", "Tür"]);
}

#[test]
fn inlined_targets_may_recur_through_named_types() {
    let definitions = json!({
        "Nodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        "Node": {"type": "object", "properties": {"children": {"$ref": "#/$defs/Nodes"}}},
    });
    let json = converted(&with_definitions(&json!({"$ref": "#/$defs/Nodes"}), &definitions));
    assert_eq!(json["properties"]["v"], json!({"type": "array", "items": {"$ref": "#/$defs/Node"}}));
    assert_eq!(json["$defs"]["Node"]["properties"]["children"], json["properties"]["v"]);
}

#[test]
fn references_that_lead_nowhere_are_errors_at_the_referring_node() {
    let recursive = |name| {
        format!("recursive $ref '#/$defs/{name}' must point to an object or union schema (at #/$defs/{name})")
    };
    let local = "only local $ref values are supported, got";
    let cases = [
        (
            json!({"$ref": "https://example.com/s.json"}),
            json!({}),
            format!("{local} 'https://example.com/s.json' (at #/properties/v)"),
        ),
        (json!({"$ref": "#anchor"}), json!({}), format!("{local} '#anchor' (at #/properties/v)")),
        (json!({"$ref": ""}), json!({}), format!("{local} '' (at #/properties/v)")),
        (json!({"$ref": "#/$defs/X"}), json!({}), "unresolvable $ref '#/$defs/X' (at #/properties/v)".into()),
        (
            json!({"allOf": [{"$ref": "#/$defs/X"}]}),
            json!({}),
            "unresolvable $ref '#/$defs/X' (at #/properties/v)".into(),
        ),
        (json!({"$ref": "#/$defs/X"}), json!({"X": 5}), "expected a schema object (at #/$defs/X)".into()),
        (
            json!({"$ref": "#/$defs/X"}),
            json!({"X": {"properties": {"y": {"type": "wat"}}}}),
            "unsupported type 'wat' (at #/$defs/X/properties/y)".into(),
        ),
        (json!({"$ref": "#/$defs/A"}), json!({"A": {"$ref": "#/$defs/A"}}), recursive("A")),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}),
            "recursive $ref '#/$defs/A' must point to an object or union schema (at #/$defs/B)".into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}),
            "recursive $ref '#/$defs/A' must point to an object or union schema (at #/$defs/A/items)".into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}),
            "recursive $ref '#/$defs/A' must point to an object or union schema (at #/$defs/A/anyOf/0)"
                .into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({
                "A": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]},
                "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
            }),
            "recursive $ref '#/$defs/A' must point to an object or union schema (at #/$defs/B/anyOf/0)"
                .into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({"A": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/A"}}]}}),
            "recursive $ref '#/$defs/A' must point to an object or union schema (at #/$defs/A/anyOf/0/items)"
                .into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}),
            "the union at '#/$defs/A' must not be a branch of itself (at #/$defs/A)".into(),
        ),
        (
            json!({"$ref": "#/$defs/A"}),
            json!({
                "A": {"anyOf": [{"anyOf": [{"$ref": "#/$defs/B"}, {"type": "object"}]}, {"type": "string"}]},
                "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
            }),
            "the union at '#/$defs/A' must not be a branch of itself (at #/$defs/A)".into(),
        ),
    ];
    for (property, definitions, text) in cases {
        assert_eq!(error(&with_definitions(&property, &definitions)), text, "{definitions}");
    }
}

#[test]
fn a_root_that_is_only_itself_is_an_error() {
    let text = "recursive $ref '#' must point to an object or union schema";
    assert_eq!(error(&json!({"$ref": "#"})), format!("{text} (at #)"));
    assert_eq!(error(&json!({"items": {"$ref": "#"}})), format!("{text} (at #/items)"));
    assert!(error(&json!({"allOf": [{"$ref": "#"}]})).contains("levels deep"));
}

#[test]
fn unions_may_contain_themselves_inside_objects_and_arrays() {
    let schema = json!({
        "title": "Expr",
        "anyOf": [
            {"type": "number"},
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "object", "title": "Add", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}},
        ],
    });
    let json = converted(&schema);
    assert_eq!(json["anyOf"][1], json!({"type": "array", "items": {"$ref": "#"}}));
    assert_eq!(json["$defs"]["Add"]["properties"]["l"], json!({"$ref": "#"}));
    assert!(convert(&schema).unwrap().schema.validate(&json!({"l": [1, {"r": 2}]})).is_ok());
}
