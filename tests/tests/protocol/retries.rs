//! Transient failures of the model are tried again.

use oam_tests::{
    Oam,
    script::{call, error, text, tool},
};
use serde_json::{Value, json};

fn session(oam: &mut Oam, steps: impl IntoIterator<Item = Value>, attempts: Value) {
    oam.session_with("a", steps, json!({"tools": [tool("look")], "options": {"maxAttempts": attempts}}));
}

#[test]
fn a_transient_failure_is_tried_again_as_often_as_allowed() {
    for (attempts, failures, survives) in [
        (Value::Null, 1, true),
        (Value::Null, 2, false),
        (json!(1), 1, false),
        (json!(3), 2, true),
        (json!(3), 3, false),
    ] {
        for code in ["generation_failed", "rate_limited"] {
            let mut oam = Oam::start();
            session(&mut oam, vec![error(code); failures].into_iter().chain([text("ok")]), attempts.clone());
            match oam.call("session/respond", json!({"session": "a", "prompt": "x"})) {
                Ok(result) => {
                    assert!(survives, "{code}, {attempts} attempts, {failures} failures");
                    let steps: Vec<_> =
                        result["steps"].as_array().unwrap().iter().map(|step| &step["index"]).collect();
                    assert_eq!(steps, vec![&json!(0); failures + 1], "each attempt counts its steps afresh");
                    assert_eq!(oam.listed("a")["entries"], 2);
                }
                Err(failure) => {
                    assert!(!survives, "{code}, {attempts} attempts, {failures} failures");
                    assert_eq!(failure.name, code);
                    assert_eq!(oam.listed("a")["entries"], 0);
                }
            }
        }
    }
}

#[test]
fn lasting_failures_are_not_tried_again() {
    let mut oam = Oam::start();
    for code in [
        "model_unavailable",
        "guardrail_violation",
        "refusal",
        "context_size_exceeded",
        "unsupported_language",
        "invalid_schema",
        "tool_failed",
        "cancelled",
        "busy",
        "invalid_request",
    ] {
        session(&mut oam, [error(code), text("next")], json!(5));
        assert_eq!(oam.fails("session/respond", json!({"session": "a", "prompt": "x"})).name, code);
        assert_eq!(oam.turn("a", "x")["text"], "next");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn nothing_is_tried_again_once_a_tool_has_run() {
    let mut oam = Oam::start();
    session(&mut oam, [call("look", json!({})), error("generation_failed"), text("next")], json!(5));
    oam.answer_tools_with(json!("seen"));
    let error = oam.fails("session/respond", json!({"session": "a", "prompt": "x"}));
    assert_eq!((error.code, error.name.as_str()), (-32012, "generation_failed"));
    assert_eq!(oam.turn("a", "x")["text"], "next");
    assert_eq!(oam.count("tool/call"), 1);
}

#[test]
fn every_attempt_tells_its_steps() {
    let mut oam = Oam::start();
    session(&mut oam, [error("generation_failed"), text("ok")], Value::Null);
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let result = oam.wait_ok(&turn);
    let steps: Vec<_> = oam
        .events(&turn)
        .into_iter()
        .filter(|event| event["type"] == "modelStep")
        .map(|event| event["step"].clone())
        .collect();
    assert_eq!(json!(steps), result["steps"]);
    assert_eq!(steps.len(), 2);
}
