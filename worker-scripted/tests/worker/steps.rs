//! What steps say, and how they end.

use std::{borrow::Cow, fs};

use oam_ipc::{
    Entry, FromWorker, Generate, MAX_VALUES, Outcome, Segment, StepId, ToWorker, ToolCall, ToolDefinition,
    ToolMode,
};
use serde_json::{Value, json};

use crate::process::{Worker, code_of, delta, prompt, segments, step, streamed, text_of};

/// A step whose instructions hold a script.
fn scripted<'a>(request: Generate<'a>, script: &Value) -> Generate<'a> {
    Generate { instructions: Some(format!("Be brief.\noam-script: {script}\nBe kind.").into()), ..request }
}

/// The step that follows so many answers.
fn after(answers: usize, request: Generate<'_>) -> Generate<'_> {
    let turn = [prompt("Hello."), Entry::Response { segments: segments("Hm.") }];
    let before = std::iter::repeat_n(turn, answers).flatten();
    Generate { transcript: before.chain(request.transcript).collect(), ..request }
}

fn open_gate() -> ToolDefinition<'static> {
    ToolDefinition {
        name: "open_gate".into(),
        description: "".into(),
        parameters: Cow::Owned(
            json!({"title": "open_gate", "type": "object", "additionalProperties": false, "x-order": ["gate"],
            "properties": {"gate": {"type": "string", "enum": ["north", "south"]}}, "required": ["gate"]}),
        ),
    }
}

#[test]
fn without_a_script_an_answer_is_made_from_the_prompt() {
    let mut worker = Worker::ready(&[]);
    worker.ask(step(1, "Open the gate."));
    assert_eq!(text_of(worker.hear()), "You say: Open the gate.");

    worker.ask(streamed(2, "Open it."));
    let pieces = ["You ", "say: ", "Open ", "it."].map(|piece| delta(2, piece));
    assert_eq!(worker.hear_all(4), pieces);
    assert_eq!(text_of(worker.hear()), "You say: Open it.");

    let call = ToolCall { id: "c".into(), name: "open_gate".into(), arguments: Cow::default() };
    let output =
        vec![Segment::Structure { source: "open_gate".into(), content: Cow::Owned(json!({"opened": true})) }];
    worker.ask(Generate {
        transcript: vec![
            prompt("Open it."),
            Entry::ToolCalls { calls: vec![call] },
            Entry::ToolOutput { call_id: "c".into(), tool_name: "open_gate".into(), segments: output },
        ],
        ..step(3, "")
    });
    assert_eq!(text_of(worker.hear()), r#"You say: Open it. And open_gate tells me: {"opened":true}"#);
}

#[test]
fn without_a_script_a_tool_is_called_when_it_must_and_a_schema_is_met() {
    let mut worker = Worker::ready(&[]);
    worker.ask(after(
        2,
        Generate { tools: vec![open_gate()], tool_mode: ToolMode::Required, ..step(1, "Open it.") },
    ));
    let FromWorker::Finished { outcome: Outcome::ToolCalls { calls }, .. } = worker.hear() else { panic!() };
    let arguments = Cow::Owned([("gate".to_owned(), json!("north"))].into_iter().collect());
    assert_eq!(calls, [ToolCall { id: "call_3".into(), name: "open_gate".into(), arguments }]);

    worker.ask(Generate { tools: vec![open_gate()], tool_mode: ToolMode::Allowed, ..step(2, "Open it.") });
    assert_eq!(text_of(worker.hear()), "You say: Open it.");

    worker.ask(Generate { schema: Some(open_gate().parameters), ..streamed(3, "Which?") });
    let value = json!({"gate": "north"});
    assert_eq!(worker.hear(), FromWorker::Partial { id: StepId(3), value: value.clone() });
    let FromWorker::Finished { outcome, .. } = worker.hear() else { panic!() };
    assert_eq!(outcome, Outcome::Structured { value });
}

#[test]
fn a_script_is_played_along_the_transcript() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let script = json!({"steps": [{"text": "one"}, {"text": "two"}], "fallback": {"text": "more"}});
    fs::write(&path, script.to_string()).unwrap();
    let arguments = ["--script", path.to_str().unwrap()];
    // Whichever process is asked, and however often.
    for _ in 0..2 {
        let mut worker = Worker::ready(&arguments);
        for (id, (answers, text)) in (1..).zip([(1, "two"), (0, "one"), (7, "more"), (1, "two")]) {
            worker.ask(after(answers, step(id, "Hello.")));
            assert_eq!(text_of(worker.hear()), text);
        }
    }
}

#[test]
fn a_script_may_be_played_along_the_steps_of_a_process() {
    let mut worker = Worker::ready(&["--script-position", "process"]);
    let script = json!([{"text": "one"}, {"error": "refusal"}, {"text": "three"}]);
    let mut ask = |id, key: &str| {
        worker.ask(scripted(Generate { cache_key: Some(key.into()), ..step(id, "Hello.") }, &script));
        worker.hear()
    };
    assert_eq!(text_of(ask(1, "a")), "one");
    assert_eq!(code_of(ask(2, "a")), "refusal");
    assert_eq!(text_of(ask(3, "b")), "one");
    assert_eq!(text_of(ask(4, "a")), "three");
}

#[test]
fn every_form_of_step_can_be_scripted_in_the_instructions() {
    let mut worker = Worker::ready(&[]);
    let mut play = |id, step_of_script: Value, request: Generate<'_>| {
        worker.ask(scripted(request, &json!([step_of_script])));
        let end = worker.hear_end(StepId(id));
        serde_json::to_value(end).unwrap()
    };
    let text = play(1, json!({"text": "Hmph.", "delayMs": 1}), streamed(1, "Hello."));
    assert_eq!(text["outcome"], json!({"type": "text", "text": "Hmph."}));
    let template = play(2, json!({"template": "[{prompt}]"}), step(2, "Hello."));
    assert_eq!(template["outcome"], json!({"type": "text", "text": "[Hello.]"}));
    let schema = json!({"title": "Any", "type": "object", "properties": {}, "required": [], "x-order": []});
    let value =
        play(3, json!({"json": {"a": 1}}), Generate { schema: Some(Cow::Owned(schema)), ..step(3, "") });
    assert_eq!(value["outcome"], json!({"type": "structured", "value": {"a": 1}}));
    let calls = play(4, json!({"toolCalls": [{"name": "wave", "id": "w"}]}), step(4, ""));
    assert_eq!(calls["outcome"]["calls"], json!([{"id": "w", "name": "wave", "arguments": {}}]));
    let error = play(5, json!({"error": "guardrail_violation", "message": "No."}), step(5, ""));
    assert_eq!((&error["code"], &error["message"]), (&json!("guardrail_violation"), &json!("No.")));
    let wrong = play(6, json!({"dance": 1}), step(6, ""));
    assert_eq!(wrong["code"], json!("invalid_request"));
    assert!(wrong["message"].as_str().unwrap().contains("Parameter 'steps[0]'"));
}

#[test]
fn steps_run_side_by_side_and_their_messages_mix() {
    let mut worker = Worker::ready(&["--parallel", "2"]);
    worker.ask(scripted(step(1, ""), &json!([{"text": "late", "delayMs": 100_000}])));
    worker.ask(step(2, "Hello."));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
    worker.say(&ToWorker::Cancel { id: StepId(1) });
    assert_eq!(code_of(worker.hear()), "cancelled");
}

#[test]
fn a_cancelled_step_ends_at_once_and_once() {
    for (arguments, request) in [
        (&["--step-delay", "100000"][..], step(1, "Hello.")),
        (&["--piece-delay", "100000"], streamed(1, "Hello.")),
        (&["--fault", "hang"], step(1, "Hello.")),
        (&["--fault", "spin"], step(1, "Hello.")),
        (&[], scripted(step(1, ""), &json!([{"text": "late", "delayMs": 100_000}]))),
    ] {
        let mut worker = Worker::ready(arguments);
        worker.ask(request);
        worker.say(&ToWorker::Cancel { id: StepId(1) });
        worker.say(&ToWorker::Cancel { id: StepId(1) });
        assert_eq!(code_of(worker.hear()), "cancelled", "{arguments:?}");
        worker.assert_alive();
    }
}

#[test]
fn an_answer_that_no_supervisor_would_read_is_a_failed_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    fs::write(&path, json!([{"json": vec![0; MAX_VALUES]}]).to_string()).unwrap();
    let mut worker = Worker::ready(&["--script", path.to_str().unwrap()]);
    worker.ask(Generate { schema: Some(open_gate().parameters), ..streamed(1, "Hello.") });
    assert_eq!(code_of(worker.hear()), "generation_failed");
    worker.assert_alive();
}
