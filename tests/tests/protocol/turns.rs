//! A turn: what it takes and what it gives back.

use oam_tests::{
    Oam,
    script::{call, error, template, text, tool},
};
use serde_json::{Value, json};

#[test]
fn a_result_has_its_members_in_order() {
    let mut oam = Oam::start();
    oam.session("a", [text("Hm.")]);
    let id = oam.start_turn("a", "x");
    let result = oam.wait_ok(&id);
    let members: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(members, ["session", "text", "toolCalls", "usage", "steps"]);
    assert_eq!(result["text"], "Hm.");
    assert_eq!(result["toolCalls"], json!([]));
    assert_eq!(
        result["steps"],
        json!([{"index": 0, "completedToolRounds": 0, "toolCallingMode": "disallowed", "enabledTools": [], "trimmedEntries": 0}])
    );
    let usage: Vec<_> = result["usage"].as_object().unwrap().iter().collect();
    let names: Vec<_> = usage.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["inputTokens", "cachedInputTokens", "outputTokens", "totalTokens"]);
    assert!(usage.iter().all(|(_, count)| count.is_u64()), "{usage:?}");
    assert_eq!(oam.events(&id), Vec::<Value>::new(), "events only where they were asked for");
}

#[test]
fn usage_adds_up_over_the_steps() {
    let mut oam = Oam::start();
    let script = [call("look", json!({})), json!({"text": "x".repeat(400), "chunks": 1})];
    oam.session_with("a", script, json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    let usage = oam.turn("a", "x")["usage"].clone();
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("outputTokens"), 4 + 100, "a call counts 4, four characters of text 1");
    assert_eq!(count("totalTokens"), count("inputTokens") + count("outputTokens"));
    assert!(count("cachedInputTokens") <= count("inputTokens"));
}

#[test]
fn each_turn_plays_the_next_step_and_adds_a_prompt_and_an_answer() {
    let mut oam = Oam::start();
    oam.session("a", [text("1"), text("2")]);
    for (number, answer) in ["1", "2", "(script exhausted)", "(script exhausted)"].into_iter().enumerate() {
        assert_eq!(oam.turn("a", "x")["text"], answer);
        assert_eq!(oam.listed("a")["entries"], 2 * (number + 1));
    }
}

#[test]
fn the_prompt_is_a_string() {
    let mut oam = Oam::start();
    oam.session("a", [template("<{prompt}>")]);
    for params in [json!({}), json!({"prompt": null}), json!({"prompt": 1}), json!({"prompt": ["x"]})] {
        let mut all = json!({"session": "a"});
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let error = oam.fails("session/respond", all);
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"));
        assert!(error.message.contains("'prompt'"), "{}", error.message);
    }
    assert_eq!(oam.turn("a", "")["text"], "<>", "an empty one is a prompt too");
    assert_eq!(oam.listed("a")["entries"], 2);
}

#[test]
fn stream_is_a_boolean() {
    let mut oam = Oam::start();
    oam.session("a", []);
    for stream in [json!("true"), json!(1), json!([])] {
        let error = oam.fails("session/respond", json!({"session": "a", "prompt": "x", "stream": stream}));
        assert!(error.message.contains("'stream'"), "{}", error.message);
    }
    oam.turn_with("a", "x", json!({"stream": null}));
    assert_eq!(oam.count("session/event"), 0);
}

#[test]
fn errors_of_the_model_reach_the_client_under_their_code() {
    let mut oam = Oam::start();
    for (code, name) in [
        (-32001, "model_unavailable"),
        (-32002, "guardrail_violation"),
        (-32003, "refusal"),
        (-32004, "context_size_exceeded"),
        (-32005, "rate_limited"),
        (-32006, "unsupported_language"),
        (-32007, "invalid_schema"),
        (-32008, "tool_failed"),
        (-32009, "cancelled"),
        (-32010, "busy"),
        (-32011, "invalid_request"),
        (-32012, "generation_failed"),
    ] {
        let told = json!({"error": name, "message": "As the script says."});
        oam.session_with(
            "a",
            [told.clone(), error(name), text("after")],
            json!({"options": {"maxAttempts": 1}}),
        );
        let first = oam.fails("session/respond", json!({"session": "a", "prompt": "x"}));
        assert_eq!((first.code, first.name.as_str()), (code, name));
        assert!(first.message.contains("As the script says."), "{}", first.message);
        assert_eq!(first.data.get("retryAfter"), None);
        let second = oam.fails("session/respond", json!({"session": "a", "prompt": "x"}));
        assert!(!second.message.is_empty());
        assert_eq!(oam.listed("a")["entries"], 0, "a failed turn leaves no trace");
        assert_eq!(oam.turn("a", "x")["text"], "after");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn a_turn_that_fails_behind_a_tool_call_leaves_no_trace_either() {
    let mut oam = Oam::start();
    let script =
        [text("before"), call("look", json!({})), error("refusal"), template("{prompt}{toolOutputs}")];
    oam.session_with("a", script, json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    oam.turn("a", "x");
    let before = oam.entries("a");
    assert_eq!(oam.fails("session/respond", json!({"session": "a", "prompt": "y"})).name, "refusal");
    assert_eq!(oam.entries("a"), before);
    assert_eq!(oam.turn("a", "z")["text"], "z");
}

#[test]
fn a_notified_turn_runs() {
    let mut oam = Oam::start();
    oam.session("a", [text("heard")]);
    oam.notify("session/respond", json!({"session": "a", "prompt": "x"}));
    oam.ok("session/setContextNote", json!({"session": "a"}));
    assert_eq!(oam.listed("a")["entries"], 2);
    let before = oam.messages().len();
    assert_eq!(oam.settle().len(), before + 1);
}

#[test]
fn an_empty_prompt_goes_on_behind_a_restored_tool_output() {
    let mut oam = Oam::start();
    oam.session_with("a", [call("look", json!({})), text("done")], json!({"tools": [tool("look")]}));
    let turn = oam.start_turn("a", "What is there?");
    let call = oam.tool_call();
    let saved = oam.ok("session/transcript", json!({"session": "a"}));
    oam.reply(&call, json!("a door"));
    oam.wait_ok(&turn);
    let full = oam.ok("session/transcript", json!({"session": "a"}));
    let mut history = saved["transcript"].clone();
    let entries = full["transcript"]["transcript"]["entries"].as_array().unwrap();
    // Everything up to and with the tool's output, without the answer.
    history["transcript"]["entries"] = json!(entries[..entries.len() - 1]);
    oam.session_with("b", [text("a door it is")], json!({"history": history}));
    assert_eq!(oam.turn("b", "")["text"], "a door it is");
}
