//! Requests are taken in arrival order, long work runs beside, and each session works off its own queue.

use oam_tests::{
    Id, Message, Oam, Reply,
    script::{call, endless, template, text, tool},
};
use serde_json::{Value, json};

fn is_answer(id: &Id) -> impl Fn(&Message) -> bool + '_ {
    move |message| message.answers().as_ref() == Some(id)
}

#[test]
fn requests_can_be_sent_back_to_back() {
    let mut oam = Oam::start();
    let early = oam.start_turn("a", "too early");
    let create = oam.request("session/create", json!({"session": "a", "model": "scripted"}));
    let turn = oam.start_turn("a", "x");
    let list = oam.request("session/list", json!({}));
    let delete = oam.request("session/delete", json!({"session": "a"}));
    let late = oam.start_turn("a", "too late");
    assert_eq!(oam.wait_fails(&early).name, "session_not_found");
    oam.wait_ok(&create);
    assert_eq!(oam.wait_ok(&list)["sessions"].as_array().unwrap().len(), 1);
    oam.wait_ok(&delete);
    let _either_way = oam.wait(&turn);
    assert_eq!(oam.wait_fails(&late).name, "session_not_found");
}

#[test]
fn a_long_turn_holds_up_nothing_but_its_own_session() {
    let mut oam = Oam::start();
    oam.session("slow", [endless()]);
    let slow = oam.start_turn("slow", "x");
    oam.settle();
    oam.session("quick", [text("done")]);
    assert_eq!(oam.turn("quick", "x")["text"], "done");
    oam.ok("session/list", json!({}));
    oam.ok("session/transcript", json!({"session": "slow"}));
    oam.ok("schema/validate", json!({"schema": {"type": "string"}}));
    assert!(!oam.messages().iter().any(is_answer(&slow)));
    oam.ok("session/delete", json!({"session": "slow"}));
    assert_eq!(oam.wait_fails(&slow).name, "cancelled");
}

#[test]
fn sessions_run_side_by_side() {
    let mut oam = Oam::start();
    let count = 20;
    for number in 0..count {
        oam.session_with(
            &number.to_string(),
            [call("meet", json!({})), template("{toolOutput}")],
            json!({"tools": [tool("meet")]}),
        );
    }
    let turns: Vec<_> = (0..count).map(|number| oam.start_turn(&number.to_string(), "x")).collect();
    // No turn can end before every one of them has called.
    let calls: Vec<_> = (0..count).map(|_| oam.tool_call()).collect();
    for call in calls.iter().rev() {
        oam.reply(call, json!(call.session));
    }
    for (number, turn) in turns.iter().enumerate() {
        assert_eq!(oam.wait_ok(turn)["text"], number.to_string());
    }
}

#[test]
fn a_sessions_operations_run_one_after_another() {
    let mut oam = Oam::start();
    oam.session_with("a", [text("1"), template("{prompt}"), text("3")], json!({"tools": []}));
    let requests = [
        oam.start_turn("a", "x"),
        oam.request("session/setTools", json!({"session": "a", "tools": [tool("look")]})),
        oam.start_turn("a", "y"),
        oam.request("session/setInstructions", json!({"session": "a", "instructions": "New."})),
        oam.request("session/setContextNote", json!({"session": "a", "note": "Note."})),
        oam.start_turn("a", "z"),
        oam.request("session/compact", json!({"session": "a", "keepRecentTurns": 9})),
        oam.request("session/reset", json!({"session": "a"})),
    ];
    let results: Vec<_> = requests.iter().map(|id| oam.wait_ok(id)).collect();
    let tools: Vec<_> =
        [0, 2, 5].iter().map(|&turn| results[turn]["steps"][0]["enabledTools"].clone()).collect();
    assert_eq!(tools, [json!([]), json!(["look"]), json!(["look"])]);
    assert_eq!(results[5]["text"], "3");
    let positions: Vec<_> = requests.iter().map(|id| oam.answer_position(id)).collect();
    assert!(positions.is_sorted(), "{positions:?}");
}

#[test]
fn answers_to_tool_calls_bypass_the_queue() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"tools": [tool("look")]}),
    );
    let turn = oam.start_turn("a", "x");
    let call = oam.tool_call();
    let behind: Vec<_> = (0..100).map(|_| oam.request("session/reset", json!({"session": "a"}))).collect();
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&turn)["text"], "seen");
    for id in behind {
        oam.wait_ok(&id);
    }
}

#[test]
fn parameters_are_checked_on_arrival() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turn = oam.start_turn("a", "x");
    for (method, params) in [
        ("session/respond", json!({"session": "a"})),
        ("session/respond", json!({"session": "a", "prompt": "x", "maxToolCalls": -1})),
        ("session/setTools", json!({"session": "a"})),
        ("session/setInstructions", json!({"session": "a", "instructions": 1})),
        ("session/setContextNote", json!({"session": "a", "note": 1})),
        ("session/compact", json!({"session": "a", "keepRecentTurns": -1})),
    ] {
        assert_eq!(oam.fails(method, params).name, "invalid_params", "{method}");
    }
    let schema =
        oam.fails("session/respond", json!({"session": "a", "prompt": "x", "schema": {"type": "odd"}}));
    assert_eq!(schema.name, "invalid_schema");
    assert_eq!(oam.listed("a")["pendingOperations"], 1);
    oam.ok("session/cancel", json!({"session": "a"}));
    oam.wait_fails(&turn);
}

#[test]
fn a_named_tool_is_checked_when_its_turn_starts() {
    let mut oam = Oam::start();
    oam.session("a", [text("first"), call("look", json!({})), text("second")]);
    oam.answer_tools_with(json!("seen"));
    let choice = json!({"toolChoice": {"tool": "look"}});
    let unknown = oam.start_turn_with("a", "x", choice.clone());
    oam.request("session/setTools", json!({"session": "a", "tools": [tool("look")]}));
    let known = oam.start_turn_with("a", "x", choice);
    let error = oam.wait_fails(&unknown);
    assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"));
    assert!(error.message.contains("look"), "{}", error.message);
    // The refused turn has asked no model: the script is where it was.
    assert_eq!(oam.wait_ok(&known)["text"], "first");
}

#[test]
fn cancel_delete_list_and_transcript_do_not_wait() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turns = [oam.start_turn("a", "x"), oam.start_turn("a", "y")];
    oam.ok("session/list", json!({}));
    oam.ok("session/transcript", json!({"session": "a"}));
    assert_eq!(oam.ok("session/cancel", json!({"session": "a"}))["cancelled"], 2);
    oam.ok("session/delete", json!({"session": "a"}));
    for turn in turns {
        oam.wait_fails(&turn);
    }
}

#[test]
fn settings_do_not_reach_into_a_running_turn() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), text("first"), text("second")],
        json!({"tools": [tool("look")], "instructions": "Old."}),
    );
    let turn = oam.start_turn("a", "x");
    let call = oam.tool_call();
    let tools = oam.request("session/setTools", json!({"session": "a", "tools": []}));
    let instructions =
        oam.request("session/setInstructions", json!({"session": "a", "instructions": "New."}));
    oam.settle();
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&turn)["steps"][1]["enabledTools"], json!(["look"]));
    oam.wait_ok(&tools);
    oam.wait_ok(&instructions);
    assert_eq!(oam.turn("a", "x")["steps"][0]["enabledTools"], json!([]));
    assert_eq!(oam.entries("a")[0]["contents"][0]["text"], "New.");
}

#[test]
fn a_long_queue_is_worked_off_in_order() {
    let mut oam = Oam::start();
    oam.session("a", (0..200).map(|number| text(&number.to_string())));
    let turns: Vec<_> = (0..200).map(|_| oam.start_turn("a", "x")).collect();
    for (number, turn) in turns.iter().enumerate() {
        assert_eq!(oam.wait_ok(turn)["text"], number.to_string());
    }
    let positions: Vec<_> = turns.iter().map(|id| oam.answer_position(id)).collect();
    assert!(positions.is_sorted());
}

#[test]
fn what_a_request_causes_comes_before_its_answer() {
    let mut oam = Oam::start();
    oam.answer_tools(|call| Reply::Output(json!(call.arguments)));
    for number in 0..10 {
        oam.session_with(
            &number.to_string(),
            [call("look", json!({"what": "x"})), json!({"text": "a long answer in pieces", "chunks": 10})],
            json!({"tools": [tool("look")]}),
        );
    }
    let turns: Vec<_> = (0..10)
        .map(|number| oam.start_turn_with(&number.to_string(), "x", json!({"stream": true})))
        .collect();
    for turn in &turns {
        // The monitor refuses anything about a turn behind its answer.
        oam.wait_ok(turn);
    }
    oam.settle();
    for turn in &turns {
        let types: Vec<Value> = oam.events(turn).iter().map(|event| event["type"].clone()).collect();
        assert_eq!(types[..4], ["modelStep", "toolCallStarted", "toolCallCompleted", "modelStep"]);
        assert!(types[4..].iter().all(|kind| kind == "text"));
    }
}
