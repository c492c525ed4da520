//! Unions and merged parts.

use serde_json::json;

use super::{converted, property, warnings};

#[test]
fn one_branch_is_that_node_itself() {
    let cases = [
        (
            json!({"anyOf": [{"type": "integer", "minimum": 1}], "description": "union's"}),
            json!({"type": "integer", "minimum": 1, "description": "union's"}),
        ),
        (
            json!({"anyOf": [{"type": "integer", "description": "own"}], "description": "union's"}),
            json!({"type": "integer", "description": "own"}),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(property(&schema), (expected, true, vec![]), "{schema}");
    }
}

#[test]
fn an_optional_object_keeps_the_names_it_would_have_alone() {
    let object = |title: serde_json::Value| {
        converted(&json!({"properties": {"v": {"anyOf": [
            {"type": "object", "title": title, "properties": {"x": {"type": "object"}}},
            {"type": "null"},
        ]}}}))["$defs"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(object(json!(null)), ["Response_v", "Response_v_x"]);
    assert_eq!(object(json!("Pos")), ["Pos", "Pos_x"]);
}

#[test]
fn branches_of_strings_are_one_choice() {
    let cases = [
        json!({"anyOf": [{"const": "north"}, {"const": "south"}, {"enum": ["east", "north"]}]}),
        json!({"oneOf": [{"enum": ["north", "south"]}, {"enum": ["east", "north"], "title": "T"}]}),
        json!({"anyOf": [{"enum": ["north", "south"]}, {"anyOf": [{"const": "east"}, {"const": "north"}]}]}),
    ];
    for schema in cases {
        let expected = json!({"type": "string", "enum": ["north", "south", "east", "north"]});
        assert_eq!(property(&schema), (expected, true, vec![]), "{schema}");
    }
}

#[test]
fn other_branches_make_a_union() {
    let (json, required, texts) = property(&json!({
        "description": "What to do.",
        "anyOf": [
            {"type": "integer", "description": "lost"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"type": "object", "title": "Attack", "description": "kept"},
        ],
    }));
    assert_eq!(json, json!({"$ref": "#/$defs/Response_v", "description": "What to do."}));
    assert!(!required);
    assert!(texts.is_empty());
    let root = converted(&json!({"title": "Root", "anyOf": [{"type": "integer"}, {"enum": ["a"]}]}));
    assert_eq!(
        root,
        json!({"title": "Root", "anyOf": [{"type": "integer"}, {"type": "string", "enum": ["a"]}]})
    );
}

#[test]
fn a_branch_that_turns_out_to_be_null_is_a_null_branch() {
    let (json, required, _) = property(&json!({"anyOf": [{"type": "integer"}, {"enum": [null]}]}));
    assert_eq!((json, required), (json!({"type": "integer"}), false));
}

#[test]
fn the_first_of_any_of_and_one_of_counts() {
    let (json, ..) = property(&json!({"oneOf": [{"type": "string"}], "anyOf": [{"type": "integer"}]}));
    assert_eq!(json, json!({"type": "integer"}));
    let (json, ..) = property(&json!({"oneOf": [{"type": "string"}], "anyOf": {}}));
    assert_eq!(json, json!({"type": "string"}));
}

#[test]
fn parts_are_merged_into_the_node() {
    let json = converted(&json!({
        "description": "node's",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
        "allOf": [
            {"description": "part's", "title": "ignored", "properties": {"c": {"type": "string"}}},
            {"$ref": "#/$defs/Base"},
            {"properties": {"a": {"type": "boolean"}}, "required": ["c", "d"]},
        ],
        "$defs": {
            "Base": {"$ref": "#/$defs/Deeper"},
            "Deeper": {"allOf": [{"properties": {"d": {"type": "null"}, "e": {"type": "integer"}}}]},
        },
    }));
    assert_eq!(
        json,
        json!({
            "title": "Response",
            "description": "node's",
            "type": "object",
            "properties": {
                "a": {"type": "boolean"}, "b": {"type": "string"}, "c": {"type": "string"},
                "d": {"type": "null"}, "e": {"type": "integer"},
            },
            "required": ["a", "c"],
            "additionalProperties": false,
            "x-order": ["a", "b", "c", "d", "e"],
        })
    );
}

#[test]
fn parts_of_other_types_are_merged_too() {
    let cases = [
        (
            json!({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 5, "maximum": 9}]}),
            json!({"type": "integer", "minimum": 1, "maximum": 9}),
        ),
        (json!({"type": "string", "allOf": []}), json!({"type": "string"})),
        (
            json!({"allOf": [{"allOf": [{"type": "string"}]}, {"allOf": [{"enum": ["a"]}]}]}),
            json!({"type": "string", "enum": ["a"]}),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(property(&schema), (expected, true, vec![]), "{schema}");
    }
}

#[test]
fn a_nullable_part_with_properties_stays_nullable() {
    let part = json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}});
    let (_, required, _) = property(&json!({"allOf": [part]}));
    assert!(!required);
}

#[test]
fn merging_does_not_show_in_paths() {
    let schema = json!({"allOf": [{"properties": {"a": {"allOf": [{"type": "string", "format": "x"}]}}}]});
    assert_eq!(warnings(&schema), ["#/properties/a: 'format' is described to the model but not enforced"]);
}
