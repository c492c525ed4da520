//! What is accepted but probably not meant is warned about.

use oam_tests::{
    Oam,
    script::{text, tool},
};
use serde_json::{Value, json};

fn list(warnings: &Value) -> Vec<&str> {
    warnings.as_array().unwrap().iter().map(|warning| warning.as_str().unwrap()).collect()
}

fn patterned(name: &str) -> Value {
    json!({"name": name, "parameters": {"type": "object", "properties": {"code": {"type": "string", "pattern": "^a$"}}}})
}

#[test]
fn unknown_members_are_named_with_their_path() {
    let mut oam = Oam::start();
    let created = oam.session_with(
        "a",
        [text("ok")],
        json!({"tool": [], "nothing": null, "options": {"temprature": 1, "toolChoice": "auto"}}),
    );
    assert_eq!(
        list(&created["warnings"]),
        [
            "Unknown parameter 'tool' was ignored.",
            "Unknown parameter 'nothing' was ignored.",
            "Unknown parameter 'options.temprature' was ignored.",
        ]
    );
    let turn = oam.turn_with("a", "x", json!({"streaming": true, "options": {}}));
    assert_eq!(
        list(&turn["warnings"]),
        ["Unknown parameter 'streaming' was ignored.", "Unknown parameter 'options' was ignored.",]
    );
}

#[test]
fn other_methods_ignore_unknown_members_silently() {
    let mut oam = Oam::start();
    oam.session("a", []);
    assert_eq!(oam.ok("ping", json!({"x": 1})), json!({}));
    assert_eq!(oam.ok("session/reset", json!({"session": "a", "x": 1})), json!({"session": "a"}));
    assert_eq!(
        oam.ok("session/setTools", json!({"session": "a", "tools": [], "x": 1}))["warnings"],
        json!([])
    );
}

#[test]
fn tools_are_warned_about_alike_wherever_they_are_set() {
    let mut oam = Oam::start();
    let mut tools = vec![json!({"name": "bare"}), patterned("coded")];
    tools.extend((0..4).map(|number| tool(&format!("t{number}"))));
    let created = oam.session_with("a", [], json!({"tools": tools}));
    assert_eq!(
        list(&created["warnings"]),
        [
            "bare: no description; the model may not know when to call it.",
            "coded: no description; the model may not know when to call it.",
            "coded: #/properties/code: pattern '^a$' is described to the model but not enforced",
            "6 tools: Apple recommends at most 3-5 tools per request on-device; narrow them per turn with 'enabledTools'.",
        ]
    );
    assert_eq!(
        oam.ok("session/setTools", json!({"session": "a", "tools": tools}))["warnings"],
        created["warnings"]
    );
}

#[test]
fn a_turns_schema_is_warned_about_behind_its_unknown_members() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"json": {"code": "a"}}), text("ok")]);
    let schema = patterned("x")["parameters"].clone();
    let turn = oam.turn_with("a", "x", json!({"schema": schema, "more": 1}));
    assert_eq!(
        list(&turn["warnings"]),
        [
            "Unknown parameter 'more' was ignored.",
            "#/properties/code: pattern '^a$' is described to the model but not enforced",
        ]
    );
    assert_eq!(oam.turn("a", "x").get("warnings"), None, "only where there are some");
}

#[test]
fn warnings_of_all_kinds_come_in_one_list() {
    let mut oam = Oam::start();
    let created =
        oam.session_with("a", [], json!({"x": 1, "options": {"y": 1}, "tools": [patterned("coded")]}));
    let warnings = list(&created["warnings"]);
    assert_eq!(warnings.len(), 4);
    assert!(
        warnings[0].contains("'x'") && warnings[1].contains("'options.y'") && warnings[3].contains("pattern")
    );
}
