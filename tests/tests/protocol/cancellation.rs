//! Cancelling: every request still gets exactly one answer, and what was cancelled leaves no trace.

use oam_tests::{
    Id, Oam,
    script::{call, calls, endless, text, tool},
};
use serde_json::{Value, json};

fn cancel(oam: &mut Oam) -> Value {
    oam.ok("session/cancel", json!({"session": "a"}))
}

/// Starts a turn in session "a" and waits until it has asked the model.
fn running(oam: &mut Oam) -> Id {
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    oam.take("its step", |message| message.event().is_some());
    turn
}

#[test]
fn the_running_and_the_queued_turns_end() {
    let mut oam = Oam::start();
    oam.session("a", [text("0"), endless(), text("next")]);
    oam.turn("a", "x");
    let before = oam.entries("a");
    let mut turns = vec![running(&mut oam)];
    turns.extend((0..4).map(|_| oam.start_turn("a", "y")));
    assert_eq!(cancel(&mut oam), json!({"session": "a", "cancelled": 5}));
    for turn in &turns {
        let error = oam.wait_fails(turn);
        assert_eq!((error.code, error.name.as_str()), (-32009, "cancelled"));
    }
    let positions: Vec<_> = turns.iter().map(|id| oam.answer_position(id)).collect();
    assert!(positions.is_sorted(), "they end in the order of the queue");
    assert_eq!(oam.entries("a"), before);
    assert_eq!(oam.listed("a")["pendingOperations"], 0);
    assert_eq!(oam.turn("a", "z")["text"], "next", "queued turns have asked no model");
}

#[test]
fn an_idle_session_has_nothing_to_cancel() {
    let mut oam = Oam::start();
    oam.session("a", []);
    assert_eq!(cancel(&mut oam)["cancelled"], 0);
    for _ in 0..20 {
        oam.turn("a", "x");
        assert_eq!(cancel(&mut oam)["cancelled"], 0, "a turn whose answer is out is over");
    }
}

#[test]
fn queued_settings_are_cancelled_too() {
    let mut oam = Oam::start();
    oam.session_with("a", [endless()], json!({"instructions": "Old.", "tools": [tool("look")]}));
    let requests = [
        running(&mut oam),
        oam.request("session/setInstructions", json!({"session": "a", "instructions": "New."})),
        oam.request("session/setContextNote", json!({"session": "a", "note": "Note."})),
        oam.request("session/setTools", json!({"session": "a", "tools": []})),
        oam.request("session/compact", json!({"session": "a", "keepRecentTurns": 0})),
        oam.request("session/reset", json!({"session": "a"})),
    ];
    assert_eq!(cancel(&mut oam)["cancelled"], 6);
    for request in &requests {
        assert_eq!(oam.wait_fails(request).name, "cancelled");
    }
    oam.turn("a", "x");
    assert_eq!(oam.listed("a")["tools"], json!(["look"]));
    assert_eq!(oam.entries("a")[0]["contents"][0]["text"], "Old.");
}

#[test]
fn what_has_taken_effect_stays() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    oam.ok("session/setInstructions", json!({"session": "a", "instructions": "New."}));
    let turn = oam.start_turn("a", "x");
    assert_eq!(cancel(&mut oam)["cancelled"], 1);
    oam.wait_fails(&turn);
    assert_eq!(oam.listed("a")["instructions"], "New.");
}

#[test]
fn open_tool_calls_are_withdrawn_before_the_error() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [calls(&[("look", json!({"what": "1"})), ("look", json!({"what": "2"}))]), text("next")],
        json!({"tools": [tool("look")], "options": {"toolTimeoutSeconds": 0}}),
    );
    let turn = oam.start_turn("a", "x");
    let open = [oam.tool_call(), oam.tool_call()];
    cancel(&mut oam);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    let error = oam.answer_position(&turn);
    for call in &open {
        let withdrawn = oam.position("tool/cancel", |message| {
            message.method() == Some("tool/cancel") && message.value["params"]["id"] == call.id.as_str()
        });
        assert!(withdrawn < error);
        let params = &oam.messages()[withdrawn].value["params"];
        assert_eq!(params["callId"], call.call_id.as_str());
        assert_eq!(params["reason"], "The turn ended before the tool finished.");
    }
    for call in &open {
        oam.reply(call, json!("late"));
    }
    assert_eq!(oam.turn("a", "x")["text"], "next");
    assert_eq!(oam.listed("a")["entries"], 2);
    assert_eq!(oam.count("tool/cancel"), 2);
}

#[test]
fn only_the_unanswered_call_of_a_step_is_withdrawn() {
    let mut oam = Oam::start();
    let step = calls(&[("look", json!({"what": "1"})), ("look", json!({"what": "2"}))]);
    oam.session_with("a", [step], json!({"tools": [tool("look")]}));
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let (first, second) = (oam.tool_call(), oam.tool_call());
    oam.reply(&first, json!("seen"));
    oam.take("its completion", |message| {
        message.event().is_some_and(|event| event["type"] == "toolCallCompleted")
    });
    cancel(&mut oam);
    oam.wait_fails(&turn);
    let cancels: Vec<_> =
        oam.messages().iter().filter(|message| message.method() == Some("tool/cancel")).cloned().collect();
    assert_eq!(cancels.len(), 1);
    assert_eq!(cancels[0].value["params"]["id"], second.id.as_str());
}

#[test]
fn it_works_as_a_notification() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turn = oam.start_turn("a", "x");
    oam.notify("session/cancel", json!({"session": "a"}));
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    assert_eq!(oam.settle().len(), 3, "the answers to create, respond and ping");
}

#[test]
fn other_sessions_go_on() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    oam.session_with("b", [call("look", json!({})), text("done")], json!({"tools": [tool("look")]}));
    let (a, b) = (oam.start_turn("a", "x"), oam.start_turn("b", "x"));
    let call = oam.tool_call();
    assert_eq!(cancel(&mut oam)["cancelled"], 1);
    oam.wait_fails(&a);
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&b)["text"], "done");
}

#[test]
fn a_compaction_is_cancelled_and_changes_nothing() {
    let mut oam = Oam::start();
    oam.session("a", [text("1"), text("2"), text("3"), endless()]);
    for prompt in ["x", "y", "z"] {
        oam.turn("a", prompt);
    }
    let before = oam.entries("a");
    let compact = oam.request("session/compact", json!({"session": "a", "keepRecentTurns": 1}));
    oam.settle();
    assert_eq!(cancel(&mut oam)["cancelled"], 1);
    assert_eq!(oam.wait_fails(&compact).name, "cancelled");
    assert_eq!(oam.entries("a"), before);
}

#[test]
fn a_structured_turn_is_cancelled_like_any_other() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"json": {"x": 1}, "delayMs": 3_600_000})]);
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let turn = oam.start_turn_with("a", "x", json!({"schema": schema, "stream": true}));
    oam.settle();
    cancel(&mut oam);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    assert_eq!(oam.listed("a")["entries"], 0);
}

#[test]
fn a_turn_waiting_to_try_again_is_cancelled() {
    let mut oam = Oam::start();
    let failing = json!({"type": "scripted", "fallback": {"error": "generation_failed"}});
    oam.session_with("a", [], json!({"model": failing, "options": {"maxAttempts": 1_000_000}}));
    let turn = running(&mut oam);
    oam.take("a second attempt", |message| message.event().is_some());
    assert_eq!(cancel(&mut oam)["cancelled"], 1);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
}

#[test]
fn however_a_cancel_falls_every_turn_ends_once_and_the_history_agrees() {
    let mut oam = Oam::start();
    oam.session_with("a", vec![json!({"text": "an answer", "chunks": 3}); 200], json!({}));
    let mut done = 0;
    for _ in 0..100 {
        let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
        let counted = cancel(&mut oam)["cancelled"].as_u64().unwrap();
        match oam.wait(&turn) {
            Ok(_) => {
                assert_eq!(counted, 0, "a turn that was counted as cancelled ends as cancelled");
                done += 1;
            }
            Err(error) => assert_eq!((error.name.as_str(), counted), ("cancelled", 1)),
        }
        assert_eq!(oam.listed("a")["entries"], 2 * done);
    }
    assert_eq!(oam.open_requests(), 0);
}

#[test]
fn a_tool_answer_that_crosses_the_cancel_does_no_harm() {
    let mut oam = Oam::start();
    for round in 0..25 {
        let session = round.to_string();
        oam.session_with(&session, [call("look", json!({})), text("done")], json!({"tools": [tool("look")]}));
        let turn = oam.start_turn(&session, "x");
        let call = oam.tool_call();
        oam.reply(&call, json!("seen"));
        oam.notify("session/cancel", json!({"session": session}));
        if let Err(error) = oam.wait(&turn) {
            assert_eq!(error.name, "cancelled");
        }
        assert_eq!(oam.listed(&session)["busy"], false);
    }
}

#[test]
fn deleting_cancels_as_well() {
    let mut oam = Oam::start();
    oam.session_with("a", [call("look", json!({}))], json!({"tools": [tool("look")]}));
    let turns = [oam.start_turn("a", "x"), oam.start_turn("a", "y")];
    let call = oam.tool_call();
    oam.ok("session/delete", json!({"session": "a"}));
    for turn in &turns {
        assert_eq!(oam.wait_fails(turn).name, "cancelled");
    }
    assert_eq!(oam.count("tool/cancel"), 1);
    oam.reply(&call, json!("late"));
    oam.settle();
}
