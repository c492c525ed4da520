//! A worker dies or stops in the middle of its work: its step is played again, and the game sees one step.

use nix::sys::signal::Signal;
use oam_tests::{
    pool::{Setup, exists, send_signal, types},
    script::{call, tool},
};
use serde_json::{Value, json};

use crate::swift;

const SPOKEN: &str = "The gate is shut and stays shut.";

/// A text of four pieces. The worker that has said two of them dies, the first time.
fn crash_once(setup: &Setup, step: Value) -> Value {
    let mut step = step;
    step["crashAfter"] = json!(2);
    step["once"] = json!(setup.path("crashed"));
    step
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_stream_that_breaks_off_is_continued() {
    let spoken = json!({"text": SPOKEN, "chunks": 4});
    let mut healthy = swift().start();
    healthy.play("a", [spoken.clone()]);
    let (undisturbed, _) = healthy.streamed("a", "x");

    let setup = swift();
    let spoken = crash_once(&setup, spoken);
    let mut pool = setup.with_events().start();
    pool.play("a", [spoken]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result, undisturbed, "steps, usage and text are those of one step");
    assert_eq!(types(&events)[0], "modelStep");
    assert!(events[1..].iter().all(|event| event["isReset"] == false), "{events:?}");
    let deltas: String = events[1..].iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(deltas, SPOKEN);
    assert_eq!(pool.event_types(), ["workerDied", "stepReplayed"]);
    assert_eq!((pool.crashes(), pool.counter("replays")), (json!({"SIGABRT": 1}), 1));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_structured_answer_that_breaks_off_comes_whole() {
    let setup = swift();
    let mood = json!({"why": "It rains all day long.", "mood": "calm"});
    let step = crash_once(&setup, json!({"json": mood, "chunks": 8}));
    let mut pool = setup.start();
    pool.play("a", [step]);
    let schema = json!({"type": "object", "required": ["why", "mood"], "properties":
        {"why": {"type": "string"}, "mood": {"enum": ["calm", "angry"]}}});
    let result = pool.turn_with("a", "x", json!({"schema": schema, "stream": true}));
    assert_eq!((&result["structured"], pool.counter("replays")), (&mood, 1));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_tool_that_has_answered_is_not_asked_again() {
    let setup = swift();
    let told = crash_once(&setup, json!({"template": "I see {toolOutput}, and I wonder.", "chunks": 4}));
    let mut pool = setup.start();
    pool.play_with("a", [call("look", json!({"what": "gate"})), told], json!({"tools": [tool("look")]}));
    pool.answer_tools_with(json!("a closed gate"));
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result["text"], "I see a closed gate, and I wonder.");
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!(types(&events).iter().filter(|kind| **kind == "modelStep").count(), 2);
    assert_eq!((pool.count("tool/call"), pool.counter("replays")), (1, 1));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn calls_of_a_step_that_broke_off_are_made_once() {
    let setup = swift();
    let look = crash_once(
        &setup,
        json!({"toolCalls": [{"name": "look", "arguments": {"what": "gate"}}], "fragments": 4}),
    );
    let mut pool = setup.start();
    pool.play_with("a", [look, json!({"text": "Well."})], json!({"tools": [tool("look")]}));
    pool.answer_tools_with(json!("a closed gate"));
    assert_eq!(pool.turn("a", "x")["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!((pool.count("tool/call"), pool.counter("replays")), (1, 1));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_step_that_kills_every_worker_fails_and_others_go_on() {
    let mut pool = swift().start();
    pool.play("a", [json!({"text": SPOKEN, "chunks": 4, "crashAfter": 1})]);
    let turn = pool.start_turn("a", "x");
    let error = pool.wait_fails(&turn);
    assert_eq!(
        *error.data,
        json!({"code": "generation_failed", "workerCrashes": 3, "reason": "crash", "signal": "SIGABRT"})
    );
    pool.open("b", json!({}));
    assert_eq!(pool.turn("b", "Hello")["text"], "You say: Hello");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_worker_that_is_killed_or_stopped_in_a_step_is_replaced() {
    for signal in [Signal::SIGKILL, Signal::SIGSEGV, Signal::SIGTERM, Signal::SIGSTOP] {
        let mut pool = swift().flags(&["--step-timeout", "3", "--no-spare"]).start();
        pool.play("a", [json!({"text": SPOKEN, "chunks": 4, "pieceDelayMs": 300})]);
        let worker = pool.when_ready(1)[0];
        let turn = pool.start_turn_with("a", "x", json!({"stream": true}));
        pool.take("the first piece", |message| message.event().is_some_and(|event| event["type"] == "text"));
        send_signal(worker, signal);
        assert_eq!(pool.wait_ok(&turn)["text"], SPOKEN, "{signal}");
        assert_eq!(pool.counter("hangs"), u64::from(signal == Signal::SIGSTOP), "{signal}");
        assert_eq!(pool.counter("replays"), 1, "{signal}");
        assert!(!exists(worker), "{signal}");
    }
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_stopped_idle_worker_is_found_out() {
    let mut pool = swift().with_events().start();
    let stopped = pool.when_ready(2)[0];
    send_signal(stopped, Signal::SIGSTOP);
    assert_eq!(pool.event("workerHung")["cause"], "no pong");
    assert!(!pool.when_ready(2).contains(&stopped));
}
