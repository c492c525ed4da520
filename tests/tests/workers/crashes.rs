//! A worker dies in the middle of its work: the step is played again, and the client sees one step.

use nix::sys::signal::Signal;
use oam_tests::{
    pool::{Setup, send_signal, types, workers},
    script::{call, template, text, tool},
};
use serde_json::{Value, json};

/// Every way to die that is no answer to anything.
const DEATHS: [(&str, &str); 6] = [
    ("abort", "SIGABRT"),
    ("segv", "SIGSEGV"),
    ("kill", "SIGKILL"),
    ("exit0", "exit 0"),
    ("exit1", "exit 1"),
    ("half-frame", "SIGABRT"),
];

#[test]
fn whatever_a_worker_dies_of_the_turn_is_answered() {
    for (fault, cause) in DEATHS {
        let mut pool = workers().fault_once(fault, "").with_events().start();
        pool.play("a", [text("The gate is shut.")]);
        assert_eq!(pool.turn("a", "x")["text"], "The gate is shut.", "{fault}");
        assert_eq!(pool.crashes(), json!({cause: 1}), "{fault}");
        assert_eq!(pool.counter("replays"), 1, "{fault}");
        assert_eq!(pool.event_types(), ["workerDied", "stepReplayed"], "{fault}");
        assert_eq!(pool.event("workerDied")["steps"], 1, "{fault}");
    }
}

#[test]
fn a_stream_that_breaks_off_is_continued() {
    let spoken = json!({"text": "The gate is shut and stays shut.", "chunks": 4});
    let mut healthy = workers().start();
    healthy.play("a", [spoken.clone()]);
    let (undisturbed, _) = healthy.streamed("a", "x");

    let mut pool = workers().fault("abort:stream").start();
    pool.play("a", [spoken]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result, undisturbed, "steps, usage and text are those of one step");
    assert_eq!(types(&events), ["modelStep", "text", "text"]);
    assert!(events[1..].iter().all(|event| event["isReset"] == false), "{events:?}");
    assert_eq!((pool.crashes(), pool.counter("replays")), (json!({"SIGABRT": 1}), 1));
}

#[test]
fn a_stream_that_goes_on_otherwise_starts_over() {
    let setup = workers();
    let script = setup.path("script.json");
    std::fs::write(&script, json!([text("Halt! Who is there?"), text("Go away at once!")]).to_string())
        .unwrap();
    // Counted by each process, the second step of the script is the first of the next process, which says the first.
    let counted = ["--script", script.to_str().unwrap(), "--script-position", "process"];
    let mut pool = setup.worker_args(&counted).fault("abort:step=2+stream").start();
    pool.when_ready(2);
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "x")["text"], "Halt! Who is there?");
    let (result, events) = pool.streamed("a", "y");
    assert_eq!(result["text"], "Halt! Who is there?");
    assert_eq!(types(&events), ["modelStep", "text", "text"]);
    assert!("Go away at once!".starts_with(events[1]["text"].as_str().unwrap()));
    assert_eq!(
        events[2],
        json!({"type": "text", "delta": "Halt! Who is there?", "text": "Halt! Who is there?", "isReset": true})
    );
    assert_eq!(result["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn a_stream_that_was_complete_says_nothing_twice() {
    let mut pool = workers().fault("kill:stream+at=end").start();
    pool.play("a", [json!({"text": "The gate is shut.", "chunks": 3})]);
    let (result, events) = pool.streamed("a", "x");
    let deltas: String = events[1..].iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!((&result["text"], deltas.as_str()), (&json!("The gate is shut."), "The gate is shut."));
    assert_eq!(pool.counter("replays"), 1);
}

#[test]
fn a_tool_that_has_answered_is_not_asked_again() {
    let mut pool = workers().fault("segv:step=2").start();
    pool.when_ready(2);
    pool.play_with(
        "a",
        [call("look", json!({"what": "gate"})), template("I see {toolOutput}.")],
        json!({"tools": [tool("look")]}),
    );
    let turn = pool.start_turn_with("a", "x", json!({"stream": true}));
    let asked = pool.tool_call();
    pool.reply(&asked, json!("a closed gate"));
    let result = pool.wait_ok(&turn);
    assert_eq!(result["text"], "I see a closed gate.");
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!(result["steps"].as_array().unwrap().len(), 2);
    assert_eq!(pool.count("tool/call"), 1);
    let steps = pool.events(&turn).iter().filter(|event| event["type"] == "modelStep").count();
    assert_eq!((steps, pool.crashes()), (2, json!({"SIGSEGV": 1})));
}

#[test]
fn a_tool_is_asked_once_although_the_step_that_calls_it_crashed() {
    let mut pool = workers().fault_once("abort", "at=end").start();
    pool.play_with("a", [call("look", json!({})), text("Well.")], json!({"tools": [tool("look")]}));
    pool.answer_tools_with(json!("a gate"));
    assert_eq!(pool.turn("a", "x")["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!((pool.count("tool/call"), pool.counter("replays")), (1, 1));
}

#[test]
fn a_worker_that_dies_while_tools_work_is_not_missed() {
    let mut pool = workers().with_events().start();
    pool.play_with("a", [call("look", json!({})), text("Well.")], json!({"tools": [tool("look")]}));
    let turn = pool.start_turn("a", "x");
    let asked = pool.tool_call();
    for pid in pool.when_ready(2) {
        send_signal(pid, Signal::SIGKILL);
        pool.event("workerDied");
    }
    pool.reply(&asked, json!("a gate"));
    assert_eq!(pool.wait_ok(&turn)["text"], "Well.");
    assert_eq!((pool.count("tool/call"), pool.counter("replays")), (1, 0), "no step was in flight");
}

#[test]
fn without_a_spare_it_works_too() {
    let mut pool = workers().fault_once("abort", "").flags(&["--no-spare"]).start();
    pool.play("a", [text("one"), text("two")]);
    assert_eq!((&pool.turn("a", "x")["text"], &pool.turn("a", "y")["text"]), (&json!("one"), &json!("two")));
}

/// Plays plain, streamed, tool and structured turns. Returns their results and the saved transcript.
fn mixed_turns(setup: Setup) -> (Vec<Value>, Value, Value) {
    let schema = json!({"type": "object", "required": ["choice"],
        "properties": {"choice": {"enum": ["fight", "flee"]}}});
    let mut pool = setup.start();
    pool.when_ready(2);
    let mut steps = Vec::new();
    for round in 0..4 {
        steps.push(text(&format!("Round {round}.")));
        steps.push(json!({"text": format!("Listen: round {round} is long."), "chunks": 5}));
        steps.extend([call("look", json!({"what": round})), template("I see {toolOutput}.")]);
        steps.push(json!({"json": {"choice": "flee"}}));
    }
    pool.play_with("a", steps, json!({"tools": [tool("look")]}));
    pool.answer_tools(|call| oam_tests::Reply::Output(json!(format!("number {}", call.arguments["what"]))));
    let mut results = Vec::new();
    for round in 0..4 {
        results.push(pool.turn("a", &format!("Plain {round}")));
        results.push(pool.streamed("a", &format!("Streamed {round}")).0);
        results.push(pool.turn("a", &format!("Tool {round}")));
        results.push(pool.turn_with("a", &format!("Structured {round}"), json!({"schema": schema})));
    }
    for result in &mut results {
        for call in result["toolCalls"].as_array_mut().unwrap() {
            call["durationSeconds"].take();
            call["call"]["id"].take();
        }
    }
    let contents = pool.entries("a").iter().map(without_ids).collect();
    (results, contents, pool.crashes())
}

fn without_ids(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let named = members.iter().filter(|(name, _)| !["id", "toolCallID"].contains(&name.as_str()));
            named
                .map(|(name, value)| (name.clone(), without_ids(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(without_ids).collect(),
        other => other.clone(),
    }
}

#[test]
fn results_and_transcript_are_as_if_nothing_had_happened() {
    let (results, transcript, _) = mixed_turns(workers());
    assert_eq!(transcript.as_array().unwrap().len(), 1 + 4 * (3 * 2 + 4));
    // Every process dies in its third step, of 20 in all: the step played again is the next process's first.
    let (disturbed, disturbed_transcript, crashes) = mixed_turns(workers().fault("abort:step=3"));
    assert_eq!(disturbed, results);
    assert_eq!(disturbed_transcript, transcript);
    assert_eq!(crashes, json!({"SIGABRT": 9}));
}
