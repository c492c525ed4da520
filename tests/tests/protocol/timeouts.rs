//! How long the client has to answer a tool call.

use oam_tests::{
    Oam, Reply,
    script::{call, calls, template, tool},
};
use serde_json::{Value, json};

fn limited(name: &str, seconds: Value) -> Value {
    let mut tool = tool(name);
    tool["timeoutSeconds"] = seconds;
    tool
}

#[test]
fn a_call_that_nobody_answers_times_out_and_the_turn_goes_on() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"tools": [limited("look", json!(0.05))]}),
    );
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let call = oam.tool_call();
    let result = oam.wait_ok(&turn);
    let error = "Tool 'look' timed out after 50ms.";
    assert_eq!(result["text"], format!("Error: {error}"));
    assert_eq!(
        (&result["toolCalls"][0]["output"], &result["toolCalls"][0]["isError"]),
        (&json!(error), &json!(true))
    );
    let cancel = oam.take("tool/cancel", |message| message.method() == Some("tool/cancel"));
    assert_eq!(
        cancel.value["params"],
        json!({"session": "a", "requestId": 2, "id": call.id, "callId": call.call_id, "reason": format!("Error: {error}")})
    );
    // Late answers do no harm.
    oam.reply(&call, json!("late"));
    oam.settle();
    assert_eq!(oam.count("tool/cancel"), 1);
}

#[test]
fn a_tools_own_limit_wins_over_the_sessions() {
    let mut oam = Oam::start();
    let step = calls(&[("quick", json!({})), ("patient", json!({}))]);
    oam.session_with(
        "a",
        [step, template("{toolOutputs}")],
        json!({"tools": [tool("quick"), limited("patient", json!(0))], "options": {"toolTimeoutSeconds": 0.05}}),
    );
    let turn = oam.start_turn("a", "x");
    let open = [oam.tool_call(), oam.tool_call()];
    let patient = open.iter().find(|call| call.name == "patient").unwrap();
    oam.take("the time-out of the other", |message| message.method() == Some("tool/cancel"));
    oam.reply(patient, json!("at last"));
    assert_eq!(oam.wait_ok(&turn)["text"], "Error: Tool 'quick' timed out after 50ms.\nat last");
}

#[test]
fn the_model_may_call_again_after_a_timeout() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({"what": "1"})), call("look", json!({"what": "2"})), template("{toolOutput}")],
        json!({"tools": [tool("look")], "options": {"toolTimeoutSeconds": 5}}),
    );
    oam.ok("session/setTools", json!({"session": "a", "tools": [limited("look", json!(0.2))]}));
    oam.answer_tools(
        |call| if call.arguments["what"] == "1" { Reply::Never } else { Reply::Output(json!("seen")) },
    );
    let result = oam.turn("a", "x");
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 2);
    assert!(result["toolCalls"][0]["isError"] == true, "{result}");
}

#[test]
fn durations_are_told_in_seconds_and_milliseconds() {
    let mut oam = Oam::start();
    for (seconds, told) in [(json!(0.001), "1ms"), (json!(0.2), "200ms"), (json!(1), "1s")] {
        oam.session_with(
            "a",
            [call("look", json!({})), template("{toolOutput}")],
            json!({"tools": [tool("look")], "options": {"toolTimeoutSeconds": seconds}}),
        );
        assert_eq!(oam.turn("a", "x")["text"], format!("Error: Tool 'look' timed out after {told}."));
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn the_default_limit_can_be_set_at_start() {
    let mut oam = Oam::builder().arg("--tool-timeout").arg("0.05").start();
    oam.session_with(
        "a",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"tools": [tool("look")]}),
    );
    assert_eq!(oam.turn("a", "x")["text"], "Error: Tool 'look' timed out after 50ms.");
}
