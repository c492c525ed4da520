//! How often a model may call tools in a turn.

use oam_tests::{
    Oam, Reply,
    script::{call, calls, text, tool},
};
use serde_json::{Value, json};

fn modes(result: &Value) -> Vec<&str> {
    result["steps"].as_array().unwrap().iter().map(|step| step["toolCallingMode"].as_str().unwrap()).collect()
}

fn session(oam: &mut Oam, steps: Vec<Value>, options: Value) {
    oam.session_with("a", steps, json!({"tools": [tool("look")], "options": options}));
    oam.answer_tools_with(json!("seen"));
}

#[test]
fn four_rounds_are_the_default() {
    let mut oam = Oam::start();
    let mut steps = vec![call("look", json!({})); 4];
    steps.push(text("ok"));
    session(&mut oam, steps, json!({}));
    let result = oam.turn("a", "x");
    assert_eq!(modes(&result), ["allowed", "allowed", "allowed", "allowed", "disallowed"]);
    assert_eq!(result["steps"][4]["completedToolRounds"], 4);
    assert_eq!(result["steps"][4]["enabledTools"], json!([]));
}

#[test]
fn no_rounds_or_calls_mean_no_tools_even_when_one_is_required() {
    for options in [json!({"maxToolRounds": 0}), json!({"maxToolCalls": 0})] {
        for choice in [json!("auto"), json!("required"), json!("explicit"), json!({"tool": "look"})] {
            let mut oam = Oam::start();
            session(&mut oam, vec![text("ok")], options.clone());
            assert_eq!(
                modes(&oam.turn_with("a", "x", json!({"toolChoice": choice}))),
                ["disallowed"],
                "{options}"
            );
        }
    }
}

#[test]
fn calls_beyond_the_budget_are_refused_without_starting() {
    let mut oam = Oam::start();
    session(&mut oam, vec![calls(&vec![("look", json!({})); 3]), text("ok")], json!({"maxToolCalls": 2}));
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let result = oam.wait_ok(&turn);
    assert_eq!(modes(&result), ["allowed", "disallowed"]);
    let records = result["toolCalls"].as_array().unwrap();
    let refused: Vec<_> = records.iter().filter(|record| record["isError"] == true).collect();
    assert_eq!((records.len(), refused.len()), (3, 1));
    assert!(refused[0]["output"].as_str().unwrap().contains("budget"), "{}", refused[0]);
    assert_eq!(refused[0]["durationSeconds"], 0);
    assert_eq!(oam.count("tool/call"), 2);
    let count = |kind: &str| oam.events(&turn).iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("toolCallStarted"), count("toolCallCompleted")), (2, 3));
}

#[test]
fn twelve_calls_are_the_default() {
    let mut oam = Oam::start();
    session(&mut oam, vec![calls(&vec![("look", json!({})); 13]), text("ok")], json!({}));
    let result = oam.turn("a", "x");
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 13);
    assert_eq!(oam.count("tool/call"), 12);
}

#[test]
fn each_turn_starts_afresh() {
    let mut oam = Oam::start();
    let turn = || [call("look", json!({})), text("ok")];
    session(
        &mut oam,
        turn().into_iter().chain(turn()).collect(),
        json!({"maxToolCalls": 1, "maxToolRounds": 1}),
    );
    for _ in 0..2 {
        let result = oam.turn("a", "x");
        assert_eq!(modes(&result), ["allowed", "disallowed"]);
        assert_eq!(result["toolCalls"][0]["isError"], false);
    }
}

#[test]
fn failed_calls_count() {
    let mut oam = Oam::start();
    session(
        &mut oam,
        vec![call("look", json!({})), call("look", json!({})), text("ok")],
        json!({"maxToolCalls": 2}),
    );
    oam.answer_tools(|_| Reply::Error(json!({"code": 1, "message": "no"})));
    assert_eq!(modes(&oam.turn("a", "x")), ["allowed", "allowed", "disallowed"]);
}
