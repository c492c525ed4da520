//! One node: types, keywords, descriptions, warnings.

use serde_json::{Value, json};

use super::{convert, converted, error, property, warnings};

#[test]
fn each_keyword_becomes_what_the_dialect_has_for_it() {
    let cases = [
        (json!({"type": "string"}), json!({"type": "string"})),
        (json!({"type": "boolean"}), json!({"type": "boolean"})),
        (json!({"type": "string", "description": "d"}), json!({"type": "string", "description": "d"})),
        (json!({"type": "string", "description": ""}), json!({"type": "string"})),
        (json!({"type": "string", "description": 5}), json!({"type": "string"})),
        (
            json!({"type": "string", "enum": ["a", "b", "a"]}),
            json!({"type": "string", "enum": ["a", "b", "a"]}),
        ),
        (json!({"type": "integer", "enum": ["a"]}), json!({"type": "string", "enum": ["a"]})),
        (json!({"const": "fixed"}), json!({"type": "string", "enum": ["fixed"]})),
        (
            json!({"const": "fixed", "description": "d", "default": "x"}),
            json!({"type": "string", "enum": ["fixed"], "description": "d"}),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3.0}),
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
        ),
        (
            json!({"items": {"type": "string"}, "minItems": 0.5, "maxItems": -1}),
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (
            json!({"type": "array", "description": "Foes.", "items": {"type": "string", "description": "A name."}}),
            json!({"type": "array", "items": {"type": "string"}, "description": "Foes. Each item: A name."}),
        ),
        (json!({"minimum": 1, "maximum": 2.5}), json!({"type": "number", "minimum": 1, "maximum": 2.5})),
        (
            json!({"type": "string", "default": "c", "examples": ["a", 1, true, "not shown"]}),
            json!({"type": "string", "description": "(examples: a, 1, true; default: c)"}),
        ),
        (
            json!({"type": "boolean", "default": true, "examples": [true], "description": "d"}),
            json!({"type": "boolean", "description": "d"}),
        ),
        (
            json!({"type": "string", "not": {}, "if": {}, "then": {}, "else": {}, "$id": "x", "$anchor": "y"}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
            json!({"type": "number", "minimum": 1}),
        ),
        (json!({"type": "number", "minimum": "1"}), json!({"type": "number"})),
    ];
    for (schema, expected) in cases {
        assert_eq!(property(&schema), (expected, true, vec![]), "{schema}");
    }
}

#[test]
fn integer_bounds_are_made_inclusive_and_fit_64_bit() {
    let cases = [
        (json!({"minimum": 0, "maximum": 97}), json!({"minimum": 0, "maximum": 97})),
        (json!({"minimum": 0.5, "maximum": 9.5}), json!({"minimum": 1, "maximum": 9})),
        (json!({"exclusiveMinimum": 0, "exclusiveMaximum": 10}), json!({"minimum": 1, "maximum": 9})),
        (json!({"exclusiveMinimum": 0.5, "exclusiveMaximum": 9.5}), json!({"minimum": 1, "maximum": 9})),
        (json!({"minimum": 3, "exclusiveMinimum": 1}), json!({"minimum": 3})),
        (json!({"maximum": 3, "exclusiveMaximum": 3}), json!({"maximum": 2})),
        (
            json!({"minimum": -1e300, "maximum": 1e300, "exclusiveMaximum": 1e40}),
            json!({"minimum": i64::MIN, "maximum": i64::MAX}),
        ),
        (json!({"maximum": u64::MAX}), json!({"maximum": i64::MAX})),
        (json!({"exclusiveMinimum": true}), json!({})),
    ];
    for (mut schema, mut expected) in cases {
        schema["type"] = json!("integer");
        expected["type"] = json!("integer");
        assert_eq!(property(&schema), (expected, true, vec![]), "{schema}");
    }
}

fn described(keyword: &str) -> String {
    format!("'{keyword}' is described to the model but not enforced")
}

#[track_caller]
fn assert_properties<const N: usize>(cases: [(Value, Value, Vec<String>); N]) {
    for (schema, json, texts) in cases {
        let nullable = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
        assert_eq!(property(&schema), (json, !nullable, texts), "{schema}");
    }
}

#[test]
fn types_that_are_missing_or_too_many_are_warned_about() {
    assert_properties([
        (
            json!({}),
            json!({"type": "string"}),
            vec!["schema without a type is generated as a string".to_owned()],
        ),
        (
            json!(true),
            json!({"type": "string"}),
            vec!["unconstrained schema `true` is generated as a string".into()],
        ),
        (
            json!({"type": ["null", "string", "integer"]}),
            json!({"type": "string"}),
            vec![r#"multiple types ["string", "integer"] are not supported; using 'string'"#.into()],
        ),
        (
            json!({"type": "array"}),
            json!({"type": "array", "items": {"type": "string"}}),
            vec!["array without 'items' is generated as an array of strings".into()],
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}),
            json!({"type": "array", "items": {"type": "integer"}}),
            vec!["tuple arrays (prefixItems) are generated as arrays of the first item type".into()],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 1}),
            json!({"type": "array", "items": {"type": "string"}}),
            vec!["empty item count range is ignored".into()],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "contains": {"const": "a"}}),
            json!({
                "type": "array", "items": {"type": "string"},
                "description": "(uniqueItems: true; contains: {\"const\":\"a\"})",
            }),
            vec![described("uniqueItems"), described("contains")],
        ),
    ]);
}

#[test]
fn constraints_that_are_only_described_are_warned_about() {
    assert_properties([
        (
            json!({"type": "string", "description": "When", "pattern": "^a+$", "maxLength": 9.0, "format": "date"}),
            json!({
                "type": "string",
                "description": "When (format: date; maxLength: 9) Must match the regular expression ^a+$.",
            }),
            vec![
                described("format"),
                described("maxLength"),
                "pattern '^a+$' is described to the model but not enforced".into(),
            ],
        ),
        (
            json!({"type": "string", "minLength": 1, "contentMediaType": "a/b", "contentEncoding": "base64"}),
            json!({
                "type": "string",
                "description": "(minLength: 1; contentEncoding: base64; contentMediaType: a/b)",
            }),
            vec![described("minLength"), described("contentEncoding"), described("contentMediaType")],
        ),
        (
            json!({"format": "date"}),
            json!({"type": "string", "description": "(format: date)"}),
            vec![described("format")],
        ),
        (
            json!({"type": "integer", "multipleOf": 5, "minimum": 5, "maximum": 1, "default": 2}),
            json!({"type": "integer", "description": "(multipleOf: 5; default: 2)"}),
            vec!["empty integer range is ignored".into(), described("multipleOf")],
        ),
        (
            json!({"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 5, "exclusiveMaximum": 1}),
            json!({"type": "number", "description": "(multipleOf: 0.5)"}),
            vec![
                "exclusive number bounds are enforced as inclusive".into(),
                "empty number range is ignored".into(),
                described("multipleOf"),
            ],
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
            json!({"type": "number", "minimum": 1, "maximum": 9}),
            vec!["exclusive number bounds are enforced as inclusive".into()],
        ),
    ]);
}

#[test]
fn choices_and_constants_of_other_values_than_strings_are_warned_about() {
    assert_properties([
        (
            json!({"enum": [4, 8, 6.0], "description": "Dice."}),
            json!({"type": "integer", "minimum": 4, "maximum": 8, "description": "Dice. One of: 4, 8, 6."}),
            vec!["integer enum is enforced as a range 4...8; exact values are described".into()],
        ),
        (
            json!({"enum": ["a", 1, true, 0.5, {"b": 2.0}]}),
            json!({"type": "string", "enum": ["a", "1", "true", "0.5", "{\"b\":2}"]}),
            vec!["mixed-type enum is generated as strings".into()],
        ),
        (
            json!({"type": "integer", "const": 5.0, "description": "d", "multipleOf": 5}),
            json!({"type": "integer", "description": "d Must be exactly 5. (multipleOf: 5)"}),
            vec!["non-string const 5 is described instead of enforced".into(), described("multipleOf")],
        ),
        (
            json!({"const": null}),
            json!({"type": "string", "description": "Must be exactly null."}),
            vec![
                "non-string const null is described instead of enforced".into(),
                "schema without a type is generated as a string".into(),
            ],
        ),
    ]);
}

#[test]
fn objects_say_what_they_cannot_enforce_on_the_type_and_the_property() {
    let (json, _, texts) = property(&json!({
        "type": "object", "description": "d", "minProperties": 1, "maxProperties": 2,
        "patternProperties": {"^a": {}}, "dependentRequired": {"a": ["b"]}, "additionalProperties": {},
    }));
    let keywords = ["minProperties", "maxProperties", "patternProperties", "dependentRequired"];
    let mut expected: Vec<_> = keywords.map(described).into();
    expected.push(
        "free-form objects (additionalProperties without properties) cannot be generated; producing an empty object"
            .into(),
    );
    assert_eq!(texts, expected);
    assert_eq!(
        json["description"],
        "d (minProperties: 1; maxProperties: 2; patternProperties: {\"^a\":{}}; dependentRequired: {\"a\":[\"b\"]})"
    );
}

#[test]
fn additional_properties_matter_only_without_properties() {
    for quiet in [
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
    ] {
        assert_eq!(warnings(&quiet), [""; 0], "{quiet}");
    }
    assert_eq!(warnings(&json!({"type": "object", "additionalProperties": true})).len(), 1);
}

#[test]
fn a_nullable_property_is_optional() {
    let cases = [
        (json!({"type": ["string", "null"]}), json!({"type": "string"})),
        (json!({"type": ["null"]}), json!({"type": "null"})),
        (json!({"type": "null", "description": "d"}), json!({"type": "null", "description": "d"})),
        (json!({"enum": ["a", null]}), json!({"type": "string", "enum": ["a"]})),
        (json!({"enum": [null]}), json!({"type": "null"})),
        (json!({"enum": []}), json!({"type": "null"})),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!({"type": "string"})),
        (json!({"oneOf": [{"type": "string"}, {"const": null}]}), json!({"type": "string"})),
        (
            json!({"anyOf": [{"type": "null"}], "description": "d"}),
            json!({"type": "null", "description": "d"}),
        ),
        (json!({"anyOf": []}), json!({"type": "null"})),
    ];
    for (schema, json) in cases {
        assert_eq!(property(&schema), (json, false, vec![]), "{schema}");
    }
}

#[test]
fn a_nullable_root_or_item_is_not_nullable() {
    assert_eq!(
        converted(&json!({"type": ["array", "null"], "items": {"type": ["string", "null"]}})),
        json!({"type": "array", "items": {"type": "string"}})
    );
}

#[test]
fn properties_follow_x_order_then_the_document() {
    let object = converted(&json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}},
        "required": ["c", "a", "unknown", 5],
        "x-order": ["c", "unknown", 7, "c"],
    }));
    assert_eq!(object["x-order"], json!(["c", "a", "b"]));
    assert_eq!(object["required"], json!(["c", "a"]));
    assert_eq!(object["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["c", "a", "b"]);
    assert_eq!(object["additionalProperties"], json!(false));
}

#[test]
fn properties_that_are_no_object_are_none() {
    let object = converted(&json!({"properties": [], "required": {}}));
    assert_eq!((&object["type"], &object["properties"]), (&json!("object"), &json!({})));
}

#[test]
fn unusable_nodes_are_errors_with_their_place() {
    let cases = [
        (json!(5), "expected a schema object (at #)"),
        (json!(false), "expected a schema object (at #)"),
        (json!({"type": 5}), "invalid 'type' (at #)"),
        (json!({"type": null}), "invalid 'type' (at #)"),
        (json!({"type": []}), "invalid 'type' (at #)"),
        (json!({"type": ["string", 5]}), "invalid 'type' (at #)"),
        (json!({"type": "wat"}), "unsupported type 'wat' (at #)"),
        (json!({"type": ["null", "wat"]}), "unsupported type 'wat' (at #)"),
        (json!({"properties": {"a/b": "string"}}), "expected a schema object (at #/properties/a/b)"),
        (json!({"items": [{"type": "string"}]}), "expected a schema object (at #/items)"),
        (json!({"items": {"items": {"type": "wat"}}}), "unsupported type 'wat' (at #/items/items)"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "wat"}]}),
            "unsupported type 'wat' (at #/anyOf/1)",
        ),
        (json!({"oneOf": [{"type": "wat"}, {"type": "null"}]}), "unsupported type 'wat' (at #/anyOf/0)"),
        (json!({"allOf": [{"type": "object"}, 5]}), "expected a schema object (at #/allOf/1)"),
        (
            json!({"allOf": [{"properties": {"x": {"type": "wat"}}}]}),
            "unsupported type 'wat' (at #/properties/x)",
        ),
    ];
    for (schema, text) in cases {
        assert_eq!(error(&schema), text, "{schema}");
    }
}

#[test]
fn warnings_come_in_the_order_of_the_document() {
    let schema = json!({
        "type": "object", "minProperties": 1,
        "properties": {
            "b": {"type": "string", "pattern": "x", "minLength": 1},
            "a": {"type": "array", "uniqueItems": true, "items": {"anyOf": [{"type": "integer"}, {}]}},
        },
    });
    assert_eq!(
        warnings(&schema),
        [
            "#: 'minProperties' is described to the model but not enforced",
            "#/properties/b: 'minLength' is described to the model but not enforced",
            "#/properties/b: pattern 'x' is described to the model but not enforced",
            "#/properties/a: 'uniqueItems' is described to the model but not enforced",
            "#/properties/a/items/anyOf/1: schema without a type is generated as a string",
        ]
    );
}

#[test]
fn a_name_is_reserved_for_every_property_item_and_branch() {
    let object = |title: Option<&str>| match title {
        Some(title) => json!({"type": "object", "title": title}),
        None => json!({"type": "object"}),
    };
    let json = converted(&json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": object(Some("Response_a")),
            "c": object(None),
            "d": {"type": "array", "items": object(None)},
            "e": {"anyOf": [object(None), {"type": "string"}, object(Some("3 d"))]},
            "f": object(Some("Response_e_option2")),
            "": object(None),
        },
    }));
    let names: Vec<_> = json["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "Response_a2",
            "Response_c",
            "Response_d_item",
            "Response_e",
            "Response_e_option22",
            "Response_",
            "Response_e_option1",
            "_3_d",
        ]
    );
    for (name, definition) in json["$defs"].as_object().unwrap() {
        assert_eq!(definition["title"], **name);
    }
}

#[test]
fn the_root_is_named_by_its_title() {
    let name = |schema| convert(&schema).unwrap().schema.name().to_owned();
    assert_eq!(name(json!({"type": "object"})), "Response");
    assert_eq!(name(json!({"type": "object", "title": "Quest log"})), "Quest_log");
    assert_eq!(name(json!({"type": "string"})), "Response");
    assert_eq!(name(json!({"$ref": "#/$defs/Quest", "$defs": {"Quest": {"type": "object"}}})), "Quest");
}
