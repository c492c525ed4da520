//! What does not grow, however often workers are replaced.

use std::fs;

use nix::sys::signal::Signal;
use oam_tests::{
    pool::{lives, pids, send_signal, until, workers},
    procfs,
};
use serde_json::json;

/// The children of a process, dead ones that nobody has reaped included.
fn children(pid: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let list = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
    }
    children.sort_unstable();
    children
}

#[test]
fn fifty_restarts_leave_no_descriptor_no_child_and_no_zombie() {
    let mut pool = workers().with_events().start();
    pool.open("a", json!({}));
    let supervisor = pool.pid();
    let mut descriptors = Vec::new();
    for restart in 0..50 {
        let victim = pool.when_ready(2)[restart % 2];
        send_signal(victim, Signal::SIGKILL);
        assert_eq!(pool.event("workerDied")["signal"], "SIGKILL");
        // A finished step between them: no storm.
        assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
        let mut workers = pool.when_ready(2);
        workers.sort_unstable();
        assert_eq!(children(supervisor), workers, "after restart {restart}");
        descriptors.push(procfs::usage(supervisor).unwrap().descriptors);
    }
    assert_eq!(descriptors[4..].iter().max(), Some(&descriptors[4]), "{descriptors:?}");
    assert_eq!(pool.counter("started"), 52);
}

#[test]
fn what_a_dead_worker_leaves_behind_keeps_nothing_open() {
    // In its group, and out of it; each holds the connection and both outputs.
    for start in ["sleep 1000", "setsid sleep 1000"] {
        let setup = workers();
        let left = setup.path("left");
        let script = format!(
            "exec 3<&0; {start} <&3 & echo $! >> {}; exec \"$0\" worker scripted 3<&-",
            shell_words::quote(left.to_str().unwrap())
        );
        let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
        let mut pool =
            setup.program(&["/bin/sh", "-c", &script, &oam]).flags(&["--no-spare"]).with_events().start();
        pool.open("a", json!({}));
        let mut descriptors = Vec::new();
        for _ in 0..5 {
            assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
            let victim = pool.when_ready(1)[0];
            descriptors.push(procfs::usage(pool.pid()).unwrap().descriptors);
            send_signal(victim, Signal::SIGKILL);
            pool.event("workerDied");
        }
        assert_eq!(descriptors.iter().max(), descriptors.first(), "{start}: {descriptors:?}");
        pool.ok("shutdown", json!({}));
        pool.wait_exit();
        let left = fs::read_to_string(left).unwrap();
        for pid in left.lines().map(|pid| pid.parse().unwrap()) {
            if start == "sleep 1000" {
                until("what the dead worker started is gone", || !lives(pid));
            } else if lives(pid) {
                send_signal(pid, Signal::SIGKILL);
            }
        }
    }
}

#[test]
fn a_worker_that_has_grown_too_large_is_replaced_between_steps() {
    // The limit is 1 GiB, and each step keeps 64 MiB more.
    let mut pool = workers().fault("leak").flags(&["--workers", "1"]).with_events().start();
    pool.open("a", json!({}));
    let mut steps = 0;
    while !pool.event_types().contains(&"workerRecycled") {
        // A worker is weighed when it answers a ping.
        if steps < 20 {
            assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
            steps += 1;
        } else {
            pool.event("workerRecycled");
            break;
        }
    }
    let status = pool.status_when("the old one gone", |status| {
        pids(status).len() == 2 && oam_tests::pool::states(status).iter().all(|state| state == "ready")
    });
    assert_eq!(status["counters"]["recycled"], 1, "{status}");
    assert_eq!(status["counters"]["crashes"], json!({}), "it went in good order");
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
}
