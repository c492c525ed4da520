//! Transcripts: saved, resumed, and read while a turn runs.

use oam_tests::{
    Oam,
    script::{call, template, text, tool},
};
use serde_json::{Value, json};

/// Plays a turn with a tool and one without in session "a"; returns the saved transcript.
fn played(oam: &mut Oam) -> Value {
    oam.session_with(
        "a",
        [call("look", json!({"what": "door"})), text("It is shut."), text("Bye.")],
        json!({"tools": [tool("look")], "instructions": "You guard."}),
    );
    oam.answer_tools_with(json!({"open": false}));
    oam.turn("a", "Is it open?");
    oam.turn("a", "Goodbye");
    oam.ok("session/transcript", json!({"session": "a"}))
}

fn roles(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["role"].as_str().unwrap()).collect()
}

#[test]
fn it_has_the_documented_form() {
    let mut oam = Oam::start();
    let saved = played(&mut oam);
    assert_eq!(saved.as_object().unwrap().keys().collect::<Vec<_>>(), ["session", "transcript"]);
    assert_eq!(
        (&saved["session"], &saved["transcript"]["type"]),
        (&json!("a"), &json!("FoundationModels.Transcript"))
    );
    assert_eq!(saved["transcript"]["version"], "1.1");
    let entries = saved["transcript"]["transcript"]["entries"].as_array().unwrap();
    assert_eq!(roles(entries), ["instructions", "user", "response", "tool", "response", "user", "response"]);
    let text = |entry: &Value| entry["contents"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&entries[0]), "You guard.");
    assert_eq!(entries[0]["tools"][0]["type"], "function");
    assert_eq!(entries[0]["tools"][0]["function"]["name"], "look");
    assert_eq!(entries[0]["tools"][0]["function"]["parameters"]["type"], "object");
    assert_eq!(text(&entries[1]), "Is it open?");
    let call = &entries[2]["toolCalls"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("look"), &json!(r#"{"what":"door"}"#)));
    assert_eq!((&entries[3]["id"], &entries[3]["toolCallID"]), (&call["id"], &call["id"]));
    assert_eq!((&entries[3]["toolName"], text(&entries[4])), (&json!("look"), "It is shut.".to_owned()));
    assert!(entries.iter().all(|entry| entry["id"].is_string()));
    let segments = entries.iter().flat_map(|entry| entry["contents"].as_array().into_iter().flatten());
    for segment in segments {
        assert!(segment["id"].is_string() && segment["type"].is_string(), "{segment}");
    }
}

#[test]
fn history_alone_resumes_a_conversation() {
    let mut oam = Oam::start();
    let saved = played(&mut oam);
    let wrapped = json!({"modelName": "system", "transcript": saved["transcript"]});
    let mut older = saved["transcript"].clone();
    older["version"] = json!(1);
    for (form, history) in [
        ("the transcript", saved["transcript"].clone()),
        ("the whole result", saved.clone()),
        ("another tool's wrapper", wrapped),
        ("the older version", older),
    ] {
        let created = oam.session_with(
            "b",
            [call("look", json!({})), template("{toolOutput}")],
            json!({"history": history}),
        );
        assert_eq!(created["warnings"], json!([]), "{form}");
        let listed = oam.listed("b");
        assert_eq!((&listed["entries"], &listed["tools"]), (&json!(6), &json!(["look"])), "{form}");
        assert_eq!(listed["instructions"], "You guard.", "{form}");
        assert_eq!(oam.turn("b", "x")["text"], r#"{"open":false}"#, "restored tools are client tools");
        assert_eq!(oam.listed("b")["entries"], 10);
        oam.ok("session/delete", json!({"session": "b"}));
    }
    assert_eq!(oam.listed("a")["entries"], 6, "the original is left alone");
}

#[test]
fn saving_and_resuming_loses_nothing() {
    let mut oam = Oam::start();
    let mut saved = played(&mut oam);
    let first = saved["transcript"]["transcript"]["entries"].clone();
    for copy in 0..3 {
        let name = format!("copy {copy}");
        oam.session_with(&name, [], json!({"history": saved}));
        saved = oam.ok("session/transcript", json!({"session": name}));
    }
    let last = saved["transcript"]["transcript"]["entries"].clone();
    assert_eq!(first.as_array().unwrap()[1..], last.as_array().unwrap()[1..]);
    assert_eq!(first[0]["contents"][0]["text"], last[0]["contents"][0]["text"]);
    assert_eq!(first[0]["tools"], last[0]["tools"]);
}

#[test]
fn a_saved_game_resumes_in_another_process() {
    let saved = played(&mut Oam::start());
    let mut oam = Oam::start();
    oam.session_with("a", [template("{prompt}")], json!({"history": saved}));
    assert_eq!(oam.listed("a")["entries"], 6);
    assert_eq!(oam.turn("a", "Still there?")["text"], "Still there?");
}

#[test]
fn what_is_sent_wins_over_what_was_saved() {
    let mut oam = Oam::start();
    let saved = played(&mut oam);
    for (sent, instructions, tools) in [
        (json!({"instructions": "New."}), json!("New."), json!(["look"])),
        (json!({"instructions": null}), Value::Null, json!(["look"])),
        (json!({"tools": [tool("act")]}), json!("You guard."), json!(["act"])),
        (json!({"tools": []}), json!("You guard."), json!([])),
        (json!({"tools": null}), json!("You guard."), json!([])),
        (json!({"instructions": null, "tools": null}), Value::Null, json!([])),
    ] {
        let mut params = json!({"history": saved});
        params.as_object_mut().unwrap().extend(sent.as_object().unwrap().clone());
        oam.session_with("b", [], params);
        let listed = oam.listed("b");
        assert_eq!((&listed["instructions"], &listed["tools"]), (&instructions, &tools), "{sent}");
        assert_eq!(listed["entries"], 6);
        oam.ok("session/delete", json!({"session": "b"}));
    }
}

#[test]
fn options_are_not_saved() {
    let mut oam = Oam::start();
    oam.session_with("a", [text("ok")], json!({"tools": [tool("look")], "options": {"toolChoice": "none"}}));
    oam.turn("a", "x");
    let saved = oam.ok("session/transcript", json!({"session": "a"}));
    oam.session_with("b", [text("ok")], json!({"history": saved}));
    assert_eq!(oam.turn("b", "x")["steps"][0]["toolCallingMode"], "allowed");
}

#[test]
fn sessions_without_turns_or_setup_resume_too() {
    let mut oam = Oam::start();
    oam.session_with("setup", [], json!({"instructions": "Only this.", "tools": [tool("look")]}));
    oam.session("turns", [text("ok")]);
    oam.turn("turns", "x");
    oam.session("nothing", []);
    for (name, entries, instructions, tools) in [
        ("setup", 0, json!("Only this."), json!(["look"])),
        ("turns", 2, Value::Null, json!([])),
        ("nothing", 0, Value::Null, json!([])),
    ] {
        let saved = oam.ok("session/transcript", json!({"session": name}));
        oam.session_with("b", [], json!({"history": saved}));
        let listed = oam.listed("b");
        assert_eq!(
            (&listed["entries"], &listed["instructions"], &listed["tools"]),
            (&json!(entries), &instructions, &tools)
        );
        oam.ok("session/delete", json!({"session": "b"}));
    }
}

#[test]
fn what_is_no_transcript_is_refused() {
    let mut oam = Oam::start();
    let entries = |entry: Value| json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [entry]}});
    for history in [
        json!("x"),
        json!(1),
        json!([]),
        json!({}),
        json!({"type": "Other", "version": "1.1", "transcript": {"entries": []}}),
        json!({"type": "FoundationModels.Transcript", "version": "1.1"}),
        json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": {}}}),
        json!({"transcript": {"transcript": {"transcript": {}}}}),
        entries(json!(1)),
        entries(json!({"id": "x"})),
        entries(json!({"id": "x", "role": "wizard", "contents": []})),
        entries(json!({"id": "x", "role": "user", "contents": [{"type": "smell"}]})),
        entries(json!({"id": "x", "role": "user", "contents": "text"})),
    ] {
        let error = oam.fails("session/create", json!({"model": "scripted", "history": history}));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{history}");
        assert!(error.message.contains("'history'"), "{}", error.message);
    }
    assert_eq!(oam.ok("session/list", json!({}))["sessions"], json!([]));
}

#[test]
fn a_running_turns_progress_can_be_read() {
    let mut oam = Oam::start();
    oam.session_with("a", [call("look", json!({})), text("ok")], json!({"tools": [tool("look")]}));
    let turn = oam.start_turn("a", "What is there?");
    let call = oam.tool_call();
    let entries = oam.entries("a");
    assert_eq!(roles(&entries[1..]), ["user", "response"]);
    oam.reply(&call, json!("seen"));
    oam.wait_ok(&turn);
    assert_eq!(roles(&oam.entries("a")[1..]), ["user", "response", "tool", "response"]);
}

#[test]
fn outputs_are_saved_in_the_order_of_their_calls() {
    let mut oam = Oam::start();
    let step = json!({"toolCalls": [{"name": "look", "id": "1"}, {"name": "look", "id": "2"}]});
    oam.session_with("a", [step, text("ok")], json!({"tools": [tool("look")]}));
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let (first, second) = (oam.tool_call(), oam.tool_call());
    oam.reply(&second, json!("out 2"));
    oam.take("its completion", |message| {
        message.event().is_some_and(|event| event["type"] == "toolCallCompleted")
    });
    oam.reply(&first, json!("out 1"));
    oam.wait_ok(&turn);
    let entries = oam.entries("a");
    let outputs: Vec<_> = entries
        .iter()
        .filter(|entry| entry["role"] == "tool")
        .map(|entry| (entry["toolCallID"].as_str().unwrap(), entry["contents"][0]["text"].as_str().unwrap()))
        .collect();
    assert_eq!(outputs, [("1", "out 1"), ("2", "out 2")]);
}
