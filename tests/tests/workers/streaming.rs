//! Streaming is distrusted after a worker died of it.

use oam_tests::{
    pool::{Pool, types, workers},
    script::text,
};
use serde_json::{Value, json};

const SPOKEN: &str = "It is a long way to the northern gate.";

fn spoken(pool: &mut Pool) {
    pool.play("a", (0..4).map(|_| json!({"text": SPOKEN, "chunks": 6})));
}

fn texts(events: &[Value]) -> usize {
    types(events).iter().filter(|kind| **kind == "text").count()
}

#[test]
fn after_a_crash_while_streaming_answers_come_whole() {
    let mut pool = workers().fault("crash-streaming").start();
    spoken(&mut pool);
    assert_eq!(pool.status()["streamingTrusted"], true);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!((&result["text"], texts(&events)), (&json!(SPOKEN), 3), "two pieces, then the rest at once");
    assert_eq!(pool.status()["streamingTrusted"], false);
    for _ in 0..3 {
        let (result, events) = pool.streamed("a", "x");
        assert_eq!((&result["text"], texts(&events)), (&json!(SPOKEN), 1));
        assert_eq!(events[1], json!({"type": "text", "delta": SPOKEN, "text": SPOKEN, "isReset": false}));
    }
    assert_eq!(pool.crashes(), json!({"SIGABRT": 1}));
}

#[test]
fn a_crash_of_a_step_that_was_not_streamed_costs_no_trust() {
    let mut pool = workers().fault_once("abort", "").start();
    spoken(&mut pool);
    pool.turn("a", "x");
    assert_eq!(pool.status()["streamingTrusted"], true);
    assert_eq!(texts(&pool.streamed("a", "x").1), 6);
}

#[test]
fn streaming_always_streams_whatever_happened() {
    let mut pool = workers().fault("crash-streaming").flags(&["--streaming", "always"]).start();
    spoken(&mut pool);
    for crashes in 1..=3 {
        let (result, events) = pool.streamed("a", "x");
        assert_eq!((&result["text"], texts(&events)), (&json!(SPOKEN), 3));
        assert_eq!(pool.crashes(), json!({"SIGABRT": crashes}));
    }
}

#[test]
fn streaming_never_asks_no_worker_to_stream() {
    let mut pool = workers().fault("crash-streaming").flags(&["--streaming", "never"]).start();
    spoken(&mut pool);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!((&result["text"], texts(&events)), (&json!(SPOKEN), 1));
    assert_eq!(pool.crashes(), json!({}));
}

#[test]
fn without_trouble_the_pieces_arrive_as_they_are_made() {
    let mut pool = workers().start();
    spoken(&mut pool);
    assert_eq!(texts(&pool.streamed("a", "x").1), 6);
    pool.play("b", [text("not streamed")]);
    pool.turn("b", "x");
}
