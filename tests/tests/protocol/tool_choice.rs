//! Which tools the model may or must call in each step.

use oam_tests::{
    Oam,
    script::{call, calls, template, text, tool},
};
use serde_json::{Value, json};

/// Runs a turn with two tools on a model that calls `look` twice and then answers; returns each step as
/// (mode, visible tools).
fn steps(options: Value, overrides: Value) -> Vec<(String, Vec<String>)> {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), call("look", json!({})), text("ok")],
        json!({"tools": [tool("look"), tool("act")], "options": options}),
    );
    oam.answer_tools_with(json!("seen"));
    seen(&oam.turn_with("a", "x", overrides))
}

fn seen(result: &Value) -> Vec<(String, Vec<String>)> {
    let names = |tools: &Value| {
        tools.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let steps = result["steps"].as_array().unwrap();
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["index"], index);
    }
    steps
        .iter()
        .map(|step| (step["toolCallingMode"].as_str().unwrap().to_owned(), names(&step["enabledTools"])))
        .collect()
}

fn expected(steps: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    steps
        .iter()
        .map(|(mode, tools)| ((*mode).to_owned(), tools.iter().map(|name| (*name).to_owned()).collect()))
        .collect()
}

const BOTH: &[&str] = &["look", "act"];

#[test]
fn forcing_holds_for_the_first_step_only() {
    let none = json!({});
    for (choice, first) in [
        (json!("auto"), ("allowed", BOTH)),
        (json!("required"), ("required", BOTH)),
        (json!({"tool": "look"}), ("required", &["look"])),
        (json!({"type": "function", "function": {"name": "look"}}), ("required", &["look"])),
        (json!("explicit"), ("required", BOTH)),
    ] {
        let steps_expected = expected(&[first, ("allowed", BOTH), ("allowed", BOTH)]);
        assert_eq!(steps(json!({"toolChoice": choice}), none.clone()), steps_expected, "option {choice}");
        assert_eq!(steps(none.clone(), json!({"toolChoice": choice})), steps_expected, "override {choice}");
    }
}

#[test]
fn a_turns_choice_overrides_the_sessions() {
    assert_eq!(
        steps(json!({"toolChoice": "none"}), json!({"toolChoice": "required"}))[0],
        ("required".to_owned(), vec!["look".to_owned(), "act".to_owned()])
    );
}

#[test]
fn none_disallows_every_step() {
    let mut oam = Oam::start();
    oam.session_with("a", [text("ok")], json!({"tools": [tool("look")], "options": {"toolChoice": "none"}}));
    assert_eq!(seen(&oam.turn("a", "x")), expected(&[("disallowed", &[])]));
}

#[test]
fn without_tools_there_is_nothing_to_force() {
    let mut oam = Oam::start();
    for choice in ["auto", "required", "explicit"] {
        oam.session_with("a", [text("ok")], json!({"options": {"toolChoice": choice}}));
        assert_eq!(seen(&oam.turn("a", "x")), expected(&[("disallowed", &[])]), "{choice}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn an_answer_on_a_forced_step_is_taken() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [text("no")],
        json!({"tools": [tool("look")], "options": {"toolChoice": "required"}}),
    );
    let result = oam.turn("a", "x");
    assert_eq!((&result["text"], seen(&result).len()), (&json!("no"), 1));
}

#[test]
fn enabled_tools_narrow_what_the_model_sees() {
    let cases = [
        (json!({"enabledTools": ["act", "look"]}), ("allowed", BOTH)),
        (json!({"enabledTools": ["look"]}), ("allowed", &["look"][..])),
        (json!({"enabledTools": ["look"], "toolChoice": "required"}), ("required", &["look"][..])),
        (json!({"enabledTools": ["look", "unknown"]}), ("allowed", &["look"][..])),
    ];
    for (options, first) in cases {
        assert_eq!(steps(options.clone(), json!({}))[0], expected(&[first])[0], "{options}");
        assert_eq!(
            steps(json!({"enabledTools": ["act"]}), options.clone())[0],
            expected(&[first])[0],
            "{options}"
        );
    }
    for off in [
        json!({"enabledTools": []}),
        json!({"enabledTools": ["unknown"]}),
        json!({"enabledTools": ["act"], "toolChoice": {"tool": "look"}}),
    ] {
        let mut oam = Oam::start();
        oam.session_with("a", [text("ok")], json!({"tools": [tool("look"), tool("act")], "options": off}));
        assert_eq!(seen(&oam.turn("a", "x")), expected(&[("disallowed", &[])]), "{off}");
    }
}

#[test]
fn answering_directly_is_a_tool_that_nobody_sees() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("respond_directly", json!({})), template("[{toolOutputs}]")],
        json!({"tools": [tool("look")], "options": {"toolChoice": "explicit"}}),
    );
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let result = oam.wait_ok(&turn);
    assert_eq!(seen(&result), expected(&[("required", &["look"]), ("disallowed", &[])]));
    assert_eq!(result["steps"][1]["completedToolRounds"], 1);
    assert_eq!(result["toolCalls"], json!([]));
    assert_eq!(oam.listed("a")["entries"], 2);
    assert_eq!(oam.listed("a")["tools"], json!(["look"]));
    oam.ok("session/transcript", json!({"session": "a"}));
    for message in oam.messages() {
        assert!(!message.line.contains("respond_directly"), "{}", message.line);
    }
    assert_eq!(oam.count("tool/call"), 0);
}

#[test]
fn answering_directly_beside_a_real_call_does_not_end_tool_use() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [calls(&[("respond_directly", json!({})), ("look", json!({}))]), text("ok")],
        json!({"tools": [tool("look")], "options": {"toolChoice": "explicit"}}),
    );
    oam.answer_tools_with(json!("seen"));
    let result = oam.turn("a", "x");
    assert_eq!(seen(&result), expected(&[("required", &["look"]), ("allowed", &["look"])]));
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 1);
}

#[test]
fn answering_directly_costs_no_budget() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [calls(&[("respond_directly", json!({})), ("look", json!({}))]), text("ok")],
        json!({"tools": [tool("look")], "options": {"toolChoice": "explicit", "maxToolCalls": 1}}),
    );
    oam.answer_tools_with(json!("seen"));
    assert_eq!(oam.turn("a", "x")["toolCalls"][0]["isError"], false);
}

#[test]
fn a_choice_must_name_a_tool_of_the_session() {
    let mut oam = Oam::start();
    let params =
        json!({"model": "scripted", "tools": [tool("look")], "options": {"toolChoice": {"tool": "fly"}}});
    let error = oam.fails("session/create", params);
    assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"));
    assert!(
        error.message.contains("'options.toolChoice'") && error.message.contains("fly"),
        "{}",
        error.message
    );
    oam.session_with("a", [], json!({"tools": [tool("look")]}));
    let error =
        oam.fails("session/respond", json!({"session": "a", "prompt": "x", "toolChoice": {"tool": "fly"}}));
    assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"));
    assert!(error.message.contains("fly"), "{}", error.message);
}

#[test]
fn a_default_choice_lasts_as_long_as_its_tool() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [text("1"), text("2")],
        json!({"tools": [tool("look")], "options": {"toolChoice": {"tool": "look"}}}),
    );
    oam.turn("a", "x");
    oam.ok("session/setTools", json!({"session": "a", "tools": [tool("act")]}));
    assert_eq!(oam.fails("session/respond", json!({"session": "a", "prompt": "x"})).name, "invalid_params");
    assert_eq!(oam.turn_with("a", "x", json!({"toolChoice": "auto"}))["text"], "2");
}
