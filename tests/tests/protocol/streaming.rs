//! What a turn tells while it runs. That deltas add up and nothing follows an answer, the monitor checks everywhere.

use oam_tests::{
    Oam,
    script::{call, endless, error, template, text, tool},
};
use serde_json::{Value, json};

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn streamed(oam: &mut Oam, step: Value) -> (Value, Vec<Value>) {
    oam.session("a", [step]);
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let result = oam.wait_ok(&turn);
    oam.ok("session/delete", json!({"session": "a"}));
    (result, oam.events(&turn))
}

#[test]
fn a_turn_tells_its_step_and_then_its_text() {
    let mut oam = Oam::start();
    let (result, events) = streamed(&mut oam, json!({"text": "The north gate is shut.", "chunks": 5}));
    assert_eq!(events[0], json!({"type": "modelStep", "step": result["steps"][0]}));
    assert!(events.len() > 1 && types(&events[1..]).iter().all(|kind| *kind == "text"));
    let joined: String = events[1..].iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(joined, "The north gate is shut.");
    assert_eq!(events.last().unwrap()["text"], result["text"]);
    assert!(events[1..].iter().all(|event| event["isReset"] == false && event["delta"] != ""));
}

#[test]
fn no_chunking_splits_a_character() {
    let mut oam = Oam::start();
    let text = "👩‍👩‍👧‍👦e\u{301}🇩🇪日本 noël";
    for chunks in [1, 2, 3, 7, 1000] {
        let (result, events) = streamed(&mut oam, json!({"text": text, "chunks": chunks}));
        assert_eq!(result["text"], text);
        for event in &events[1..] {
            assert!(!event["delta"].as_str().unwrap().contains('\u{fffd}'));
        }
    }
}

#[test]
fn an_empty_answer_streams_no_text() {
    let mut oam = Oam::start();
    let (result, events) = streamed(&mut oam, text(""));
    assert_eq!((&result["text"], types(&events)), (&json!(""), vec!["modelStep"]));
}

#[test]
fn a_tool_turn_streams_in_order() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), template("I see {toolOutput}.")],
        json!({"tools": [tool("look")]}),
    );
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let call = oam.tool_call();
    oam.reply(&call, json!("a door"));
    oam.wait_ok(&turn);
    let events = oam.events(&turn);
    assert_eq!(types(&events)[..4], ["modelStep", "toolCallStarted", "toolCallCompleted", "modelStep"]);
    let at =
        |kind: &str| oam.position(kind, |message| message.event().is_some_and(|event| event["type"] == kind));
    let tool_call = oam.position("tool/call", |message| message.method() == Some("tool/call"));
    assert!(at("toolCallStarted") < tool_call && tool_call < at("toolCallCompleted"));
}

#[test]
fn a_failing_turn_ends_with_its_error() {
    let mut oam = Oam::start();
    oam.session("a", [error("refusal")]);
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    oam.wait_fails(&turn);
    oam.settle();
    assert_eq!(types(&oam.events(&turn)), ["modelStep"]);
}

#[test]
fn a_cancelled_turn_says_nothing_more() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    oam.take("its step", |message| message.event().is_some());
    oam.ok("session/cancel", json!({"session": "a"}));
    oam.wait_fails(&turn);
    oam.settle();
    assert_eq!(types(&oam.events(&turn)), ["modelStep"]);
}

#[test]
fn events_name_their_session_and_request() {
    let mut oam = Oam::start();
    for session in ["a", "b", "c"] {
        oam.session(session, [json!({"text": format!("{session} speaks in many pieces"), "chunks": 20})]);
    }
    let turns: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|session| oam.start_turn_with(session, "x", json!({"stream": true})))
        .collect();
    for turn in &turns {
        oam.wait_ok(turn);
    }
    for (turn, session) in turns.iter().zip(["a", "b", "c"]) {
        for message in oam.messages().iter().filter(|message| message.request_id().as_ref() == Some(turn)) {
            let members: Vec<_> = message.value["params"].as_object().unwrap().keys().collect();
            assert_eq!(members, ["session", "requestId", "event"]);
            assert_eq!(message.value["params"]["session"], session);
        }
        let last = oam.events(turn).pop().unwrap();
        assert_eq!(last["text"], format!("{session} speaks in many pieces"));
    }
}

#[test]
fn without_stream_there_are_no_events() {
    let mut oam = Oam::start();
    oam.session_with("a", [call("look", json!({})), text("ok")], json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    oam.turn_with("a", "x", json!({"stream": false}));
    assert_eq!((oam.count("session/event"), oam.count("tool/call")), (0, 1));
}
