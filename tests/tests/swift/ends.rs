//! However the supervisor ends, its workers end too, busy or idle.

use nix::sys::signal::Signal;
use oam_tests::pool::{Pool, exists, lives, pids, states, until};
use serde_json::json;

use crate::swift;

/// A program with two busy workers, one of them deaf to cancellation, and an idle one. Returns their process ids.
fn in_full_swing() -> (Pool, Vec<u32>) {
    let mut pool = swift().flags(&["--workers", "2"]).start();
    pool.when_ready(3);
    for (session, is_deaf) in [("a", false), ("b", true)] {
        pool.play(session, [json!({"text": "Never said.", "delayMs": 3_600_000, "uncancellable": is_deaf})]);
        pool.start_turn(session, "x");
    }
    let status = pool.status_when("two busy workers", |status| {
        states(status).iter().filter(|state| *state == "busy").count() == 2
    });
    let pids = pids(&status);
    assert_eq!(pids.len(), 3);
    (pool, pids)
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_killed_supervisor_leaves_no_worker() {
    let (mut pool, pids) = in_full_swing();
    pool.signal(Signal::SIGKILL);
    pool.wait_exit();
    until("no worker lives", || !pids.iter().any(|pid| lives(*pid)));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_supervisor_that_leaves_in_good_order_reaps_all_workers() {
    let (mut pool, pids) = in_full_swing();
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    let left: Vec<_> = pids.iter().filter(|pid| exists(**pid)).collect();
    assert!(left.is_empty(), "{left:?} are left of {pids:?}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn the_end_of_input_waits_for_what_was_asked() {
    let mut pool = swift().start();
    let pids = pool.when_ready(2);
    pool.play("a", [json!({"text": "To the end.", "delayMs": 200})]);
    let turn = pool.start_turn("a", "x");
    pool.close_input();
    assert_eq!(pool.wait_ok(&turn)["text"], "To the end.");
    assert!(pool.wait_exit().success());
    assert!(!pids.iter().any(|pid| exists(*pid)));
}
