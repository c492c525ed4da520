//! A cancelled turn reaches its worker, which lets go of the step or is killed.

use oam_tests::{
    Id,
    pool::{Pool, states, workers},
    script::text,
};
use serde_json::json;

/// Starts a turn that hangs behind its first piece, and waits until it does.
fn hanging_turn(pool: &mut Pool) -> Id {
    pool.open("a", json!({}));
    let turn = pool.start_turn_with("a", "boom", json!({"stream": true}));
    pool.take("the first piece", |message| message.event().is_some_and(|event| event["type"] == "text"));
    turn
}

#[test]
fn a_cancelled_step_leaves_its_worker_as_it_was() {
    for fault in ["hang:word=boom", "spin:word=boom"] {
        let mut pool = workers().fault(fault).start();
        let before = pool.when_ready(2);
        let turn = hanging_turn(&mut pool);
        assert!(states(&pool.status()).contains(&"busy".to_owned()));
        assert_eq!(pool.ok("session/cancel", json!({"session": "a"}))["cancelled"], 1);
        assert_eq!(pool.wait_fails(&turn).name, "cancelled");
        // The worker has let go of it.
        assert_eq!(pool.when_ready(2), before, "{fault}");
        let status = pool.status();
        assert_eq!(status["counters"]["steps"], 1, "the worker ended it: {status}");
        assert_eq!((&status["counters"]["crashes"], &status["counters"]["hangs"]), (&json!({}), &json!(0)));
        assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
        assert_eq!(pool.entries("a").len(), 2, "the cancelled turn left no trace");
    }
}

#[test]
fn a_worker_that_ignores_a_cancel_is_killed() {
    let mut pool = workers().fault("hang-ignoring-cancel:word=boom").with_events().start();
    let before = pool.when_ready(2);
    let turn = hanging_turn(&mut pool);
    pool.ok("session/cancel", json!({"session": "a"}));
    assert_eq!(pool.wait_fails(&turn).name, "cancelled", "nobody waits for the worker");
    assert_eq!(pool.event("workerHung")["cause"], "cancel ignored");
    let after = pool.when_ready(2);
    assert_eq!(before.iter().filter(|pid| after.contains(pid)).count(), 1);
    assert_eq!(pool.counter("replays"), 0, "nobody waits for the step either");
}

#[test]
fn deleting_a_session_frees_its_worker() {
    let mut pool = workers().fault("hang:word=boom").flags(&["--no-spare"]).start();
    let before = pool.when_ready(1);
    let turn = hanging_turn(&mut pool);
    pool.ok("session/delete", json!({"session": "a"}));
    assert_eq!(pool.wait_fails(&turn).name, "cancelled");
    assert_eq!(pool.when_ready(1), before);
}

#[test]
fn a_turn_cancelled_while_it_waits_for_a_worker_is_never_played() {
    let mut pool =
        workers().worker_args(&["--parallel", "1"]).fault("hang:word=boom").flags(&["--no-spare"]).start();
    let running = hanging_turn(&mut pool);
    pool.play("b", [text("never said")]);
    let waiting = pool.start_turn("b", "x");
    pool.status_when("a waiting step", |status| status["waitingSteps"] == 1);
    pool.ok("session/cancel", json!({"session": "b"}));
    assert_eq!(pool.wait_fails(&waiting).name, "cancelled");
    assert_eq!(pool.status()["waitingSteps"], 0);
    pool.ok("session/cancel", json!({"session": "a"}));
    pool.wait_fails(&running);
    pool.when_ready(1);
    assert_eq!(pool.counter("steps"), 1);
}
