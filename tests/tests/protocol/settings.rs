//! Settings that change between turns.

use oam_tests::{
    Oam,
    script::{call, template, text, tool},
};
use serde_json::{Value, json};

/// The instructions that the last turn ran under.
fn instructions(oam: &mut Oam) -> Option<String> {
    oam.turn("a", "x");
    let first = oam.entries("a").swap_remove(0);
    (first["role"] == "instructions").then(|| first["contents"][0]["text"].as_str().unwrap().to_owned())
}

#[test]
fn instructions_and_note_apply_from_the_next_turn() {
    let mut oam = Oam::start();
    oam.session("a", []);
    assert_eq!(instructions(&mut oam), None);
    for (method, member, value, seen) in [
        ("session/setInstructions", "instructions", json!("Be brief."), Some("Be brief.")),
        ("session/setContextNote", "note", json!("It rains."), Some("Be brief.\n\nIt rains.")),
        ("session/setInstructions", "instructions", json!("Be kind."), Some("Be kind.\n\nIt rains.")),
        ("session/setInstructions", "instructions", Value::Null, Some("It rains.")),
        ("session/setContextNote", "note", Value::Null, None),
    ] {
        assert_eq!(oam.ok(method, json!({"session": "a", member: value})), json!({"session": "a"}));
        assert_eq!(instructions(&mut oam).as_deref(), seen, "{method} {value}");
    }
}

#[test]
fn an_absent_value_clears() {
    let mut oam = Oam::start();
    oam.session_with("a", [], json!({"instructions": "Be brief."}));
    oam.ok("session/setContextNote", json!({"session": "a", "note": "It rains."}));
    oam.ok("session/setInstructions", json!({"session": "a"}));
    oam.ok("session/setContextNote", json!({"session": "a"}));
    assert_eq!(instructions(&mut oam), None);
}

#[test]
fn settings_are_text() {
    let mut oam = Oam::start();
    oam.session("a", []);
    for value in [json!(1), json!(true), json!([]), json!({})] {
        let error = oam.fails("session/setInstructions", json!({"session": "a", "instructions": value}));
        assert!(
            error.name == "invalid_params" && error.message.contains("'instructions'"),
            "{}",
            error.message
        );
        let error = oam.fails("session/setContextNote", json!({"session": "a", "note": value}));
        assert!(error.name == "invalid_params" && error.message.contains("'note'"), "{}", error.message);
    }
}

#[test]
fn the_conversation_stays() {
    let mut oam = Oam::start();
    oam.session("a", []);
    oam.turn("a", "x");
    oam.ok("session/setInstructions", json!({"session": "a", "instructions": "New."}));
    oam.ok("session/setTools", json!({"session": "a", "tools": [tool("look")]}));
    assert_eq!(oam.listed("a")["entries"], 2);
    assert_eq!(oam.listed("a")["instructions"], "New.");
}

#[test]
fn tools_are_replaced_as_a_whole() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("act", json!({})), template("{toolOutput}")],
        json!({"tools": [tool("look")]}),
    );
    assert_eq!(
        oam.ok("session/setTools", json!({"session": "a", "tools": [tool("act")]})),
        json!({"session": "a", "warnings": []})
    );
    assert_eq!(oam.listed("a")["tools"], json!(["act"]));
    oam.answer_tools_with(json!("done"));
    assert_eq!(oam.turn("a", "x")["text"], "done");
    for params in [
        json!({"session": "a"}),
        json!({"session": "a", "tools": null}),
        json!({"session": "a", "tools": {}}),
    ] {
        let error = oam.fails("session/setTools", params);
        assert!(error.name == "invalid_params" && error.message.contains("'tools'"), "{}", error.message);
    }
    oam.ok("session/setTools", json!({"session": "a", "tools": []}));
    assert_eq!(oam.listed("a")["tools"], json!([]));
}

#[test]
fn new_tools_use_the_sessions_time_limit() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"options": {"toolTimeoutSeconds": 0.05}}),
    );
    oam.ok("session/setTools", json!({"session": "a", "tools": [tool("look")]}));
    assert_eq!(oam.turn("a", "x")["text"], "Error: Tool 'look' timed out after 50ms.");
}

#[test]
fn reset_clears_the_conversation_and_the_note_only() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [text("1"), text("2")],
        json!({"instructions": "Be brief.", "tools": [tool("look")], "options": {"toolChoice": "required"}}),
    );
    oam.ok("session/setContextNote", json!({"session": "a", "note": "It rains."}));
    oam.turn("a", "x");
    assert_eq!(oam.ok("session/reset", json!({"session": "a"})), json!({"session": "a"}));
    let listed = oam.listed("a");
    assert_eq!((&listed["entries"], &listed["tools"]), (&json!(0), &json!(["look"])));
    let turn = oam.turn("a", "y");
    assert_eq!((&turn["text"], &turn["steps"][0]["toolCallingMode"]), (&json!("2"), &json!("required")));
    assert_eq!(oam.entries("a")[0]["contents"][0]["text"], "Be brief.");
}
