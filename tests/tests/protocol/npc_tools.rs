//! The tools of an NPC's turn: which are asked for, and what comes of the answers.

use oam_tests::{
    Oam, Reply,
    npc::conversation,
    script::{call, calls, reply, template, tool},
};
use serde_json::json;

#[test]
fn a_tool_choice_must_name_a_tool_when_the_turn_starts() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [reply("proud", "Hm."), reply("sad", "Well.")], json!({"tools": [tool("look")]}));
    let failed = oam.start_talk_with("gorm", "a", json!({"toolChoice": {"tool": "wave"}}));
    oam.request("npc/update", json!({"npc": "gorm", "tools": [tool("wave")]}));
    let works = oam.start_talk_with("gorm", "b", json!({"toolChoice": {"tool": "wave"}}));
    let error = oam.wait_fails(&failed);
    assert_eq!((error.code, error.name.as_str()), (-32011, "invalid_request"));
    assert_eq!(error.message, "Tool 'wave' is not available to Gorm.");
    assert_eq!(oam.wait_ok(&works)["line"], "Hm.", "the refused turn asked no model");
    assert_eq!(oam.npc_prompts("gorm"), ["Player: b"]);
}

#[test]
fn without_tools_no_choice_matters() {
    let mut oam = Oam::start();
    oam.npc("gorm", vec![reply("proud", "Hm."); 4]);
    for choice in [json!("required"), json!("explicit"), json!("none"), json!({"tool": "fly"})] {
        oam.talk_with("gorm", "a", json!({"toolChoice": choice}));
    }
}

#[test]
fn responding_directly_leaves_no_trace() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [call("respond_directly", json!({})), reply("proud", "Hm.")],
        json!({"tools": [tool("look")]}),
    );
    let (turn, events) = oam.talk_streamed("gorm", "Hello");
    assert_eq!((&turn["line"], &turn["toolCalls"]), (&json!("Hm."), &json!([])));
    assert!(!json!(events).to_string().contains("respond_directly"));
    let state = oam.saved_npc("gorm");
    assert!(!state.to_string().contains("respond_directly"));
    assert_eq!(conversation(&state).len(), 2);
    assert_eq!(oam.count("tool/call"), 0);
}

#[test]
fn client_tools_are_asked_for_in_the_name_of_the_npc() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [call("look", json!({"what": "door"})), reply("proud", "Hm.")],
        json!({"tools": [tool("look")]}),
    );
    let turn = oam.start_talk("gorm", "Hello");
    let call = oam.tool_call();
    assert_eq!((call.npc.as_deref(), call.session.as_deref()), (Some("gorm"), None));
    let line = oam.messages().last().unwrap().line.clone();
    let start = r#""method":"tool/call","params":{"npc":"gorm","requestId":2,"call":{"id":"call_"#;
    assert!(line.contains(start), "{line}");
    oam.reply(&call, json!({"open": false, "n": 1.0}));
    let result = oam.wait_ok(&turn);
    let record = &result["toolCalls"][0];
    assert_eq!(record["call"], json!({"id": call.call_id, "name": "look", "arguments": {"what": "door"}}));
    assert_eq!((&record["output"], &record["isError"]), (&json!({"open": false, "n": 1}), &json!(false)));
    assert!(record["durationSeconds"].is_number());
}

#[test]
fn every_kind_of_answer_reaches_the_model() {
    let mut oam = Oam::start();
    for (answer, output, is_error, seen) in [
        (Reply::Output(json!("seen")), json!("seen"), false, "seen"),
        (Reply::Output(json!({"a": 1.0})), json!({"a": 1}), false, "{\"a\":1}"),
        (Reply::Output(json!(null)), json!(null), false, "null"),
        (Reply::Result(json!({"open": true})), json!({"open": true}), false, "{\"open\":true}"),
        (
            Reply::Result(json!({"output": "Jammed.", "isError": true})),
            json!("Jammed."),
            true,
            "Error: Jammed.",
        ),
        (
            Reply::Error(json!({"code": -32000, "message": "Offline"})),
            json!("Offline"),
            true,
            "Error: Offline",
        ),
    ] {
        oam.npc_with(
            "gorm",
            [call("look", json!({})), template("[sad] <{toolOutput}>")],
            json!({"tools": [tool("look")], "options": {"replyFormat": "text"}}),
        );
        let turn = oam.start_talk("gorm", "Hello");
        let call = oam.tool_call();
        oam.reply_with(&call, answer.clone());
        let result = oam.wait_ok(&turn);
        assert_eq!(result["line"], format!("<{seen}>"), "{answer:?}");
        let record = &result["toolCalls"][0];
        assert_eq!((&record["output"], &record["isError"]), (&output, &json!(is_error)), "{answer:?}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn calls_of_one_step_are_answered_in_any_order() {
    let mut oam = Oam::start();
    let both = calls(&[("look", json!({"what": "1"})), ("look", json!({"what": "2"}))]);
    oam.npc_with("gorm", [both, reply("proud", "Hm.")], json!({"tools": [tool("look")]}));
    let turn = oam.start_talk_with("gorm", "Hello", json!({"stream": true}));
    let (first, second) = (oam.tool_call(), oam.tool_call());
    oam.reply(&second, json!("two"));
    oam.take("its completion", |message| {
        message.event().is_some_and(|event| event["type"] == "toolCallCompleted")
    });
    oam.reply(&first, json!("one"));
    let result = oam.wait_ok(&turn);
    let outputs: Vec<_> =
        result["toolCalls"].as_array().unwrap().iter().map(|record| &record["output"]).collect();
    assert_eq!(outputs, ["two", "one"]);
}

#[test]
fn calls_beyond_the_budget_are_refused() {
    let mut oam = Oam::start();
    let steps =
        || [calls(&[("look", json!({})), ("look", json!({})), ("look", json!({}))]), reply("proud", "Hm.")];
    oam.answer_tools_with(json!("seen"));
    for (options, allowed) in
        [(json!({"maxToolCalls": 2}), 2), (json!({"maxToolCalls": 0}), 0), (json!({}), 3)]
    {
        oam.npc_with("gorm", steps(), json!({"tools": [tool("look")], "options": options}));
        let turn = oam.talk("gorm", "Hello");
        let records = turn["toolCalls"].as_array().unwrap();
        assert_eq!(records.len(), 3, "{options}");
        assert_eq!(records.iter().filter(|record| record["isError"] == false).count(), allowed, "{options}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_tools_time_limit_is_its_own_or_the_npcs() {
    let mut oam = Oam::start();
    let mut quick = tool("look");
    quick["timeoutSeconds"] = json!(0.05);
    for (tool, options) in
        [(quick, json!({"toolTimeoutSeconds": 0})), (tool("look"), json!({"toolTimeoutSeconds": 0.05}))]
    {
        oam.npc_with(
            "gorm",
            [call("look", json!({})), reply("sad", "Hm.")],
            json!({"tools": [tool], "options": options}),
        );
        let turn = oam.start_talk("gorm", "Hello");
        let call = oam.tool_call();
        let cancel = oam.take("its withdrawal", |message| message.method() == Some("tool/cancel"));
        let members: Vec<_> = cancel.value["params"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["npc", "requestId", "id", "callId", "reason"]);
        assert_eq!(cancel.value["params"]["reason"], "Error: Tool 'look' timed out after 50ms.");
        oam.reply(&call, json!("late"));
        let result = oam.wait_ok(&turn);
        assert_eq!(result["toolCalls"][0]["isError"], true);
        assert_eq!(result["line"], "Hm.");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}
