//! Whole generation schemas, as models and hosts see them, and reading them back.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{GenerationSchema, convert, converted};
use crate::{ToolDefinition, ToolName};

fn snapshot(schema: &Value, expected: &Expect) {
    let json = converted(schema);
    expected.assert_eq(&serde_json::to_string_pretty(&json).unwrap());
    let again = GenerationSchema::from_generation_schema(&json, "Other").unwrap();
    assert_eq!(serde_json::to_string(again.json()).unwrap(), serde_json::to_string(&json).unwrap());
    assert_eq!(again.name(), json["title"].as_str().unwrap_or("Other"));
}

#[test]
fn a_decision() {
    snapshot(
        &json!({
            "type": "object",
            "description": "What the merchant does.",
            "properties": {
                "reasoning": {"type": "string", "description": "Think first.", "maxLength": 200},
                "choice": {"type": "string", "enum": ["sell", "refuse", "haggle"]},
                "price": {"type": ["integer", "null"], "minimum": 1},
            },
            "required": ["reasoning", "choice", "price"],
        }),
        &expect![[r#"
            {
              "title": "Response",
              "description": "What the merchant does.",
              "type": "object",
              "properties": {
                "reasoning": {
                  "type": "string",
                  "description": "Think first. (maxLength: 200)"
                },
                "choice": {
                  "type": "string",
                  "enum": [
                    "sell",
                    "refuse",
                    "haggle"
                  ]
                },
                "price": {
                  "type": "integer",
                  "minimum": 1
                }
              },
              "required": [
                "reasoning",
                "choice"
              ],
              "additionalProperties": false,
              "x-order": [
                "reasoning",
                "choice",
                "price"
              ]
            }"#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn nested_types_and_unions() {
    snapshot(
        &json!({
            "title": "Plan",
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "description": "In order.",
                    "minItems": 1,
                    "items": {"anyOf": [
                        {"type": "object", "title": "Move", "description": "Walk.", "properties": {"to": {"$ref": "#/$defs/Pos"}}, "required": ["to"]},
                        {"type": "object", "title": "Wait", "properties": {"turns": {"type": "integer", "minimum": 1}}},
                        {"type": "string"},
                    ], "description": "One step."},
                },
                "fallback": {"$ref": "#", "description": "If it fails."},
                "home": {"$ref": "#/$defs/Pos"},
                "tags": {"type": "array", "items": {"type": "array", "items": {"type": "number", "description": "Weight."}}},
            },
            "required": ["steps", "fallback"],
            "$defs": {"Pos": {"type": "object", "description": "A place.", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}},
        }),
        &expect![[r##"
            {
              "title": "Plan",
              "type": "object",
              "properties": {
                "steps": {
                  "type": "array",
                  "items": {
                    "$ref": "#/$defs/Plan_steps_item"
                  },
                  "minItems": 1,
                  "description": "In order. Each item: One step."
                },
                "fallback": {
                  "$ref": "#",
                  "description": "If it fails."
                },
                "home": {
                  "$ref": "#/$defs/Pos",
                  "description": "A place."
                },
                "tags": {
                  "type": "array",
                  "items": {
                    "type": "array",
                    "items": {
                      "type": "number"
                    }
                  },
                  "description": "Each item: Each item: Weight."
                }
              },
              "required": [
                "steps",
                "fallback"
              ],
              "additionalProperties": false,
              "x-order": [
                "steps",
                "fallback",
                "home",
                "tags"
              ],
              "$defs": {
                "Plan_steps_item": {
                  "title": "Plan_steps_item",
                  "description": "One step.",
                  "anyOf": [
                    {
                      "$ref": "#/$defs/Move"
                    },
                    {
                      "$ref": "#/$defs/Wait"
                    },
                    {
                      "type": "string"
                    }
                  ]
                },
                "Pos": {
                  "title": "Pos",
                  "description": "A place.",
                  "type": "object",
                  "properties": {
                    "x": {
                      "type": "number"
                    },
                    "y": {
                      "type": "number"
                    }
                  },
                  "required": [
                    "x",
                    "y"
                  ],
                  "additionalProperties": false,
                  "x-order": [
                    "x",
                    "y"
                  ]
                },
                "Move": {
                  "title": "Move",
                  "description": "Walk.",
                  "type": "object",
                  "properties": {
                    "to": {
                      "$ref": "#/$defs/Pos",
                      "description": "A place."
                    }
                  },
                  "required": [
                    "to"
                  ],
                  "additionalProperties": false,
                  "x-order": [
                    "to"
                  ]
                },
                "Wait": {
                  "title": "Wait",
                  "type": "object",
                  "properties": {
                    "turns": {
                      "type": "integer",
                      "minimum": 1
                    }
                  },
                  "required": [],
                  "additionalProperties": false,
                  "x-order": [
                    "turns"
                  ]
                }
              }
            }"##]],
    );
}

#[test]
fn plain_roots() {
    snapshot(
        &json!({"enum": ["yes", "no"], "title": "Answer", "description": "Is it so?"}),
        &expect![[r#"
            {
              "title": "Answer",
              "description": "Is it so?",
              "type": "string",
              "enum": [
                "yes",
                "no"
              ]
            }"#]],
    );
    snapshot(
        &json!({"type": "array", "items": {"properties": {"a": {"type": "null"}}}}),
        &expect![[r##"
        {
          "type": "array",
          "items": {
            "$ref": "#/$defs/Response_item"
          },
          "$defs": {
            "Response_item": {
              "title": "Response_item",
              "type": "object",
              "properties": {
                "a": {
                  "type": "null"
                }
              },
              "required": [],
              "additionalProperties": false,
              "x-order": [
                "a"
              ]
            }
          }
        }"##]],
    );
}

#[test]
fn names_survive_being_read_back() {
    let schema = json!({
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "object", "title": "Response_a"},
            "c": {"type": "object"},
            "d": {"$ref": "#/$defs/Response_c"},
        },
        "$defs": {"Response_c": {"type": "object"}},
    });
    let json = converted(&schema);
    let names: Vec<_> = json["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Response_a2", "Response_c", "Response_c2"]);
    assert_eq!(GenerationSchema::from_generation_schema(&json, "R").unwrap().json(), &json);
}

#[test]
fn a_root_without_a_name_leaves_the_names_of_others_alone() {
    let json = converted(&json!({"items": {"type": "object", "title": "Other"}}));
    assert_eq!(GenerationSchema::from_generation_schema(&json, "Other").unwrap().json(), &json);
}

#[test]
fn the_deepest_schema_can_be_read_back() {
    let deep = (1..31)
        .fold(json!({"type": "object"}), |inner, _| json!({"properties": {"v": inner}, "required": ["v"]}));
    let json = converted(&deep);
    assert_eq!(GenerationSchema::from_generation_schema(&json, "R").unwrap().json(), &json);
}

#[test]
fn schemas_are_compared_by_what_they_say() {
    let a = convert(&json!({"type": "object"})).unwrap().schema;
    let b = convert(&json!({"properties": {}})).unwrap().schema;
    let c = convert(&json!({"type": "string"})).unwrap().schema;
    assert_eq!(a, b);
    assert_ne!(a, c);
    assert!(a.is_object() && !c.is_object());
}

fn parameters(schema: &Value) -> Result<(Value, Vec<String>), String> {
    let name = ToolName::new("open_gate").unwrap();
    ToolDefinition::from_json_schema(name, "Opens a gate.", schema)
        .map(|(tool, warnings)| {
            (tool.parameters.json().clone(), warnings.iter().map(ToString::to_string).collect())
        })
        .map_err(|error| error.to_string())
}

#[test]
fn tool_parameters_are_an_object() {
    let empty = json!({
        "title": "OpenGateArguments", "type": "object", "properties": {}, "required": [],
        "additionalProperties": false, "x-order": [],
    });
    for schema in
        [json!({}), json!({"type": "object"}), json!({"properties": {}}), json!({"type": ["object", "null"]})]
    {
        assert_eq!(parameters(&schema), Ok((empty.clone(), vec![])), "{schema}");
    }
    let described = json!({"description": "None.", "$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"properties": {"gate": {}}}]}}});
    let (json, warnings) = parameters(&described).unwrap();
    assert_eq!(json["x-order"], json!(["gate"]));
    assert_eq!(warnings, ["#/$defs/A/properties/gate: schema without a type is generated as a string"]);
    for schema in [
        json!({"type": "string"}),
        json!({"type": "array", "items": {"type": "object"}}),
        json!({"enum": ["a"]}),
        json!({"anyOf": [{"type": "object"}, {"type": "object"}]}),
        json!({"format": "date"}),
        json!(true),
    ] {
        assert_eq!(parameters(&schema), Err("tool parameters must be an object (at #)".into()), "{schema}");
    }
}
