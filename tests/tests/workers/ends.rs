//! However the supervisor ends, its workers end too, and nothing is left of them.

use std::{fs, time::Duration};

use nix::sys::signal::Signal;
use oam_tests::{
    pool::{Pool, exists, lives, pids, send_signal, states, until, workers},
    procfs,
    script::text,
};
use serde_json::json;

/// A program with busy, hanging and idle workers. Returns their process ids.
fn in_full_swing() -> (Pool, Vec<u32>) {
    let mut pool = workers()
        .worker_args(&["--parallel", "1"])
        .fault("spin:word=spin")
        .fault("hang:word=hang")
        .fault("hang-ignoring-cancel:word=deaf")
        .flags(&["--workers", "4"])
        .start();
    pool.when_ready(5);
    for word in ["spin", "hang", "deaf"] {
        pool.open(word, json!({}));
        pool.start_turn(word, word);
    }
    let status = pool.status_when("three busy workers", |status| {
        states(status).iter().filter(|state| *state == "busy").count() == 3
    });
    let pids = pids(&status);
    assert_eq!(pids.len(), 5);
    (pool, pids)
}

#[track_caller]
fn assert_gone(pids: &[u32]) {
    let left: Vec<_> = pids.iter().filter(|pid| exists(**pid)).collect();
    assert!(left.is_empty(), "{left:?} are left of {pids:?}");
}

#[test]
fn a_shutdown_ends_and_reaps_all_workers() {
    let (mut pool, pids) = in_full_swing();
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    assert_gone(&pids);
}

#[test]
fn the_end_of_input_ends_and_reaps_all_workers() {
    let mut pool = workers().flags(&["--workers", "3"]).worker_args(&["--step-delay", "200"]).start();
    let pids = pool.when_ready(4);
    pool.play("a", [text("to the end")]);
    let turn = pool.start_turn("a", "x");
    pool.close_input();
    assert_eq!(pool.wait_ok(&turn)["text"], "to the end", "what was asked is finished");
    assert!(pool.wait_exit().success());
    assert_gone(&pids);
}

#[test]
fn signals_end_and_reap_all_workers() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let (mut pool, pids) = in_full_swing();
        pool.signal(signal);
        pool.wait_exit();
        assert_gone(&pids);
    }
}

#[test]
fn a_program_that_stops_while_workers_start_leaves_none() {
    let mut pool = workers().worker_args(&["--ready-delay", "60000"]).start();
    let status = pool.status_when("two starting workers", |status| pids(status).len() == 2);
    assert_eq!(states(&status), ["starting", "starting"]);
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    assert_gone(&pids(&status));
}

#[test]
fn a_signal_while_the_first_workers_start_ends_it_as_promised() {
    for (signal, code) in [(Signal::SIGTERM, 0), (Signal::SIGINT, 130)] {
        // They are never ready, and never look at their connection.
        let setup = workers().program(&["sleep", "1000"]);
        let mut oam = setup.builder().start();
        let children = || procfs::children(oam.pid()).unwrap();
        until("two workers start", || children().len() == 2);
        let pids: Vec<_> = children().iter().map(|child| child.pid).collect();
        oam.signal(signal);
        assert_eq!(oam.wait_exit().code(), Some(code), "{signal}");
        assert_gone(&pids);
    }
}

#[test]
fn a_second_signal_ends_it_without_waiting_for_workers() {
    let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
    let script = "trap '' TERM; \"$0\" worker scripted; exec sleep 1000";
    let setup = workers().program(&["/bin/sh", "-c", script, &oam]);
    let mut pool = setup.flags(&["--no-spare", "--log-level", "info"]).start();
    let pids = pool.when_ready(1);
    pool.signal(Signal::SIGTERM);
    // Another one: two of a kind may count as one.
    pool.signal(Signal::SIGINT);
    assert_eq!(pool.wait_exit().code(), Some(0), "the code of the first");
    assert!(pool.stderr().contains("a second signal"), "{}", pool.stderr());
    until("the worker is gone", || !lives(pids[0]));
}

#[test]
fn a_stopped_worker_ends_with_a_killed_supervisor() {
    let mut pool = workers().start();
    let pids = pool.when_ready(2);
    send_signal(pids[0], Signal::SIGSTOP);
    pool.signal(Signal::SIGKILL);
    pool.wait_exit();
    until("no worker lives", || !pids.iter().any(|pid| lives(*pid)));
}

#[test]
fn an_orderly_end_while_workers_start_warns_of_nothing() {
    let mut pool = workers().worker_args(&["--ready-delay", "60000"]).start();
    pool.status_when("two starting workers", |status| pids(status).len() == 2);
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    assert_eq!(pool.stderr(), "");
}

#[test]
fn what_a_dead_wrapper_leaves_behind_ends_too() {
    let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
    let script = "\"$0\" worker scripted; exit $?";
    let mut pool = workers().program(&["/bin/sh", "-c", script, &oam]).flags(&["--no-spare"]).start();
    let below = |wrapper: u32| {
        let children = fs::read_to_string(format!("/proc/{wrapper}/task/{wrapper}/children")).unwrap();
        children.trim().parse::<u32>().unwrap()
    };
    let wrapper = pool.when_ready(1)[0];
    let worker = below(wrapper);
    send_signal(wrapper, Signal::SIGKILL);
    until("the worker of the dead wrapper is gone", || !lives(worker));
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    let worker = below(pool.when_ready(1)[0]);
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    until("the other worker is gone", || !lives(worker));
}

/// The processes whose command line holds this text.
fn processes_with(mark: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(mark).then_some(pid)
    });
    processes.collect()
}

#[test]
fn a_killed_supervisor_takes_its_workers_with_it_at_any_moment() {
    const MOMENTS: u64 = 100;
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for moment in 0..MOMENTS {
        let mark = (u64::from(std::process::id()) << 32 | moment << 1 | 1).to_string();
        let mut pool = workers()
            .worker_args(&["--parallel", "2", "--seed", &mark])
            .fault("spin:word=spin")
            .fault("kill:word=die")
            .flags(&["--workers", "2"])
            .start();
        for (session, prompt) in [("a", "spin"), ("b", "die"), ("c", "spin"), ("d", "Hello")] {
            pool.request("session/create", json!({"session": session}));
            pool.start_turn_with(session, prompt, json!({"stream": true}));
        }
        // The moment: from its very start to workers in the middle of their work.
        std::thread::sleep(Duration::from_micros(random.u64(..150_000)));
        pool.signal(Signal::SIGKILL);
        pool.wait_exit();
        let what = format!("no worker lives (moment {moment}, seed {seed})");
        let killed = std::time::Instant::now();
        until(&what, || processes_with(&mark).is_empty());
        assert!(killed.elapsed() < Duration::from_secs(1), "{what}: {:?}", killed.elapsed());
    }
}
