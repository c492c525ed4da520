//! How much there may be of everything.

use oam_tests::{
    Oam,
    script::{calls, template, tool},
};
use serde_json::json;

#[test]
fn there_may_be_64_sessions() {
    let mut oam = Oam::start();
    let ids: Vec<_> = (0..64).map(|_| oam.request("session/create", json!({"model": "scripted"}))).collect();
    for id in ids {
        oam.wait_ok(&id);
    }
    let error = oam.fails("session/create", json!({"model": "scripted"}));
    assert_eq!((error.code, error.name.as_str()), (-32022, "session_limit"));
    assert_eq!(error.data["limit"], 64);
    oam.ok("session/delete", json!({"session": "s7"}));
    oam.ok("session/create", json!({"model": "scripted"}));
}

#[test]
fn the_limit_is_checked_last() {
    let mut oam = Oam::builder().arg("--max-sessions").arg("1").start();
    oam.session("a", []);
    assert_eq!(oam.fails("session/create", json!({"session": "a"})).name, "session_exists");
    assert_eq!(oam.fails("session/create", json!({"options": 1})).name, "invalid_params");
    assert_eq!(oam.fails("session/create", json!({"model": "scripted"})).name, "session_limit");
}

#[test]
fn scripted_sessions_have_no_context_limit() {
    let mut oam = Oam::start();
    let long = "word ".repeat(50_000);
    oam.session_with(
        "a",
        [template("{prompt}"), template("{prompt}")],
        json!({"instructions": long, "options": {"trimHistory": true, "reservedResponseTokens": 0}}),
    );
    for _ in 0..2 {
        let turn = oam.turn("a", &long);
        assert_eq!(turn["text"], long);
        assert_eq!(turn["steps"][0]["trimmedEntries"], 0);
    }
}

#[test]
fn long_tool_outputs_reach_the_model_whole() {
    let mut oam = Oam::start();
    let output = "x".repeat(1 << 20);
    oam.session_with(
        "a",
        [calls(&[("look", json!({})), ("look", json!({}))]), template("{toolOutputs}")],
        json!({"tools": [tool("look")]}),
    );
    oam.answer_tools_with(json!(output));
    assert_eq!(oam.turn("a", "x")["text"], format!("{output}\n{output}"));
}

#[test]
fn a_thousand_turns_may_wait_in_one_session() {
    let mut oam = Oam::start();
    oam.session("a", vec![template("{prompt}"); 1000]);
    let turns: Vec<_> = (0..1000).map(|number| (number, oam.start_turn("a", &number.to_string()))).collect();
    for (number, turn) in turns {
        assert_eq!(oam.wait_ok(&turn)["text"], number.to_string());
    }
}
