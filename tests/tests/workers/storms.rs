//! Workers that die again and again: delays, then failing at once, then one probe at a time.

use std::{fs, path::Path};

use oam_tests::{
    RpcError,
    pool::{Pool, Setup, workers},
};
use serde_json::json;

/// Workers that die before they are ready for as long as a file is there.
fn dying_while(setup: Setup, file: &Path) -> Setup {
    fs::write(file, "").unwrap();
    let script = format!(
        "test ! -e {} || {{ echo 'the licence has expired' >&2; exit 7; }}; exec \"$0\" worker scripted",
        shell_words::quote(file.to_str().unwrap())
    );
    let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
    setup.program(&["/bin/sh", "-c", &script, &oam])
}

fn fails_as_unavailable(pool: &mut Pool) -> RpcError {
    let turn = pool.start_turn("a", "Hello");
    let error = pool.wait_fails(&turn);
    assert_eq!((error.code, error.name.as_str()), (-32001, "model_unavailable"), "{}", error.message);
    assert!((1..=10).contains(&error.data["retryAfterSeconds"].as_u64().unwrap()), "{}", error.data);
    error
}

#[test]
fn turns_fail_at_once_while_workers_keep_dying_and_work_again_later() {
    let setup = workers();
    let file = setup.path("broken");
    let mut pool = dying_while(setup, &file).with_events().start();
    pool.open("a", json!({}));
    let error = fails_as_unavailable(&mut pool);
    for part in ["/bin/sh", "exited with code 7", "before it was ready", "the licence has expired"] {
        assert!(error.message.contains(part), "{part}: {}", error.message);
    }
    assert!(pool.event("breakerOpened")["retryAfterSeconds"].as_f64().unwrap() > 0.0);
    assert_eq!(pool.ok("model/availability", json!({}))["available"], false);

    // A probe dies, and the breaker is open again.
    let started = pool.counter("started");
    pool.status_when("a probe that died", |status| {
        status["counters"]["started"].as_u64() > Some(started) && status["breaker"] == "open"
    });
    fails_as_unavailable(&mut pool);

    fs::remove_file(&file).unwrap();
    pool.status_when("a ready probe", |status| {
        status["breaker"] == "halfOpen" && oam_tests::pool::states(status) == ["ready"]
    });
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    pool.event("breakerClosed");
    pool.when_ready(2);
    assert_eq!(pool.ok("model/availability", json!({}))["available"], true);
}

#[test]
fn a_turn_that_waits_for_a_worker_fails_when_the_breaker_opens() {
    let setup = workers();
    let file = setup.path("broken");
    let mut pool = dying_while(setup, &file).flags(&["--workers", "3"]).start();
    let turns: Vec<_> = (0..5)
        .map(|index| {
            let session = format!("s{index}");
            pool.open(&session, json!({}));
            pool.start_turn(&session, "Hello")
        })
        .collect();
    for turn in &turns {
        assert_eq!(pool.wait_fails(turn).code, -32001);
    }
}

#[test]
fn steps_that_kill_every_worker_open_the_breaker_before_their_verdict() {
    let mut pool =
        workers().fault("abort:word=boom").flags(&["--max-step-crashes", "20"]).with_events().start();
    pool.open("a", json!({}));
    let turn = pool.start_turn("a", "boom");
    assert_eq!(pool.wait_fails(&turn).code, -32001);
    assert_eq!(pool.crashes(), json!({"SIGABRT": 6}));
    fails_as_unavailable(&mut pool);
    let availability = pool.ok("model/availability", json!({}));
    assert_eq!(
        (&availability["available"], &availability["reason"]),
        (&json!(false), &json!("model_not_ready"))
    );
    // The next probe is ready, and the step it is tried with is a harmless one.
    pool.status_when("a ready probe", |status| {
        status["breaker"] == "halfOpen" && oam_tests::pool::states(status) == ["ready"]
    });
    assert_eq!(pool.ok("model/availability", json!({}))["available"], true, "somebody has to try it");
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    pool.event("breakerClosed");
}

#[test]
fn a_probe_that_dies_of_its_step_opens_the_breaker_again() {
    let mut pool = workers().fault("abort:word=boom").flags(&["--max-step-crashes", "20"]).start();
    pool.open("a", json!({}));
    let turn = pool.start_turn("a", "boom");
    pool.wait_fails(&turn);
    pool.status_when("a ready probe", |status| {
        status["breaker"] == "halfOpen" && oam_tests::pool::states(status) == ["ready"]
    });
    let turn = pool.start_turn("a", "boom");
    assert_eq!(pool.wait_fails(&turn).code, -32001);
    assert_eq!((pool.crashes(), pool.status()["breaker"].clone()), (json!({"SIGABRT": 7}), json!("open")));
}
