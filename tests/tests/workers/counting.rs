//! Counting tokens, which may kill or block a worker as a step may.

use oam_tests::pool::workers;
use serde_json::json;

/// More than a context of 1000 tokens is likely to hold, so that tokens are counted.
fn long(word: &str) -> String {
    format!("{word} {}", "and ".repeat(600))
}

#[test]
fn a_count_that_kills_its_worker_is_estimated_and_blamed_on_nobody() {
    let mut pool = workers()
        .worker_args(&["--context", "1000"])
        .fault("crash-counting:word=boom")
        .flags(&["--max-step-crashes", "1", "--no-spare"])
        .start();
    pool.when_ready(1);
    pool.open("a", json!({}));
    for prompt in ["x", &long("boom"), "x"] {
        assert_eq!(pool.turn("a", prompt)["text"], format!("You say: {prompt}"));
    }
    let status = pool.status();
    assert_eq!(
        (&status["counters"]["crashes"], &status["counters"]["quarantined"]),
        (&json!({"SIGABRT": 1}), &json!(0))
    );
}

#[test]
fn a_worker_that_does_not_answer_a_count_costs_one_wait() {
    let mut pool = workers()
        .worker_args(&["--context", "1000"])
        .fault("skip-counting")
        .flags(&["--no-spare", "--log-level", "debug"])
        .start();
    pool.when_ready(1);
    pool.open("a", json!({}));
    for _ in 0..8 {
        assert_eq!(pool.turn("a", &long("x"))["text"], format!("You say: {}", long("x")));
    }
    pool.ok("shutdown", json!({}));
    pool.wait_exit();
    // It says so each time that it is asked, and goes on being a worker.
    let log = pool.stderr();
    assert_eq!(log.matches("going wrong: ").count(), 1, "{log}");
    assert!(!log.contains("warning"), "{log}");
}
