//! A worker that stops getting on is killed, and its step is played again.

use nix::sys::signal::Signal;
use oam_tests::{
    pool::{exists, send_signal, until, workers},
    script::text,
};
use serde_json::json;

#[test]
fn a_step_that_hangs_asleep_or_busy_is_played_again() {
    for fault in ["hang", "spin", "hang-ignoring-cancel"] {
        let mut pool =
            workers().fault_once(fault, "word=boom").flags(&["--step-timeout", "0.3"]).with_events().start();
        pool.play("a", [text("The gate is shut.")]);
        let (result, events) = pool.streamed("a", "boom");
        assert_eq!(result["text"], "The gate is shut.", "{fault}");
        assert_eq!(events.iter().filter(|event| event["type"] == "modelStep").count(), 1);
        assert_eq!(pool.event("workerHung")["cause"], "no progress");
        assert_eq!(pool.event("workerDied")["signal"], "SIGKILL");
        assert_eq!(pool.event_types(), ["workerHung", "workerDied", "stepReplayed"], "{fault}");
        assert_eq!(pool.counter("hangs"), 1);
    }
}

#[test]
fn a_step_that_always_hangs_fails_for_good() {
    let mut pool = workers().fault("hang:word=boom").flags(&["--step-timeout", "0.2"]).start();
    pool.open("a", json!({}));
    let turn = pool.start_turn("a", "boom");
    let error = pool.wait_fails(&turn);
    assert_eq!(
        *error.data,
        json!({"code": "generation_failed", "workerCrashes": 3, "reason": "hang", "signal": "SIGKILL"})
    );
    assert!(error.message.contains("the last one hung (no progress)"), "{}", error.message);
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    assert_eq!(pool.counter("hangs"), 3);
}

#[test]
fn a_worker_that_leaves_its_process_group_is_killed_too() {
    let mut pool = workers()
        .fault_once("leave-group", "word=boom")
        .flags(&["--step-timeout", "0.3", "--no-spare"])
        .start();
    let worker = pool.when_ready(1)[0];
    pool.play("a", [text("The gate is shut.")]);
    assert_eq!(pool.turn("a", "boom")["text"], "The gate is shut.");
    assert!(!exists(worker));
}

#[test]
fn a_step_that_gets_on_slowly_is_no_hang() {
    let mut pool = workers().worker_args(&["--piece-delay", "400"]).flags(&["--step-timeout", "2"]).start();
    pool.play("a", [json!({"text": "It takes me a long time to say anything.", "chunks": 8})]);
    let (result, _) = pool.streamed("a", "x");
    assert_eq!(result["text"], "It takes me a long time to say anything.");
    let status = pool.status();
    assert_eq!((&status["counters"]["hangs"], &status["counters"]["replays"]), (&json!(0), &json!(0)));
}

#[test]
fn an_idle_worker_that_answers_no_ping_is_replaced() {
    let mut pool = workers().fault_once("mute", "").with_events().start();
    let before = pool.when_ready(2);
    assert_eq!(pool.event("workerHung")["cause"], "no pong");
    assert_eq!(pool.event("workerDied")["signal"], "SIGKILL");
    let after = pool.when_ready(2);
    assert_eq!(before.iter().filter(|pid| after.contains(pid)).count(), 1, "{before:?} {after:?}");
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
}

#[test]
fn a_stopped_idle_worker_is_replaced() {
    let mut pool = workers().with_events().start();
    let stopped = pool.when_ready(2)[0];
    send_signal(stopped, Signal::SIGSTOP);
    assert_eq!(pool.event("workerHung")["cause"], "no pong");
    assert!(!pool.when_ready(2).contains(&stopped));
    until("the stopped one is gone and reaped", || !exists(stopped));
}

#[test]
fn a_worker_stopped_in_a_step_is_killed_and_the_step_played_again() {
    let mut pool = workers()
        .fault_once("hang", "word=boom")
        .flags(&["--step-timeout", "1", "--no-spare"])
        .with_events()
        .start();
    pool.play("a", [text("The gate is shut.")]);
    let worker = pool.when_ready(1)[0];
    let turn = pool.start_turn_with("a", "boom", json!({"stream": true}));
    pool.take("the first piece", |message| message.event().is_some_and(|event| event["type"] == "text"));
    send_signal(worker, Signal::SIGSTOP);
    assert_eq!(pool.wait_ok(&turn)["text"], "The gate is shut.");
    assert_eq!(pool.event("workerHung")["cause"], "no progress");
    assert!(!exists(worker));
}
