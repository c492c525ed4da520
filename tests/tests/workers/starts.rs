//! Workers that do not get ready: what is wrong with them is said.

use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};

use oam_tests::{
    DEADLINE, oam_binary, oam_command,
    pool::{Setup, workers},
};
use serde_json::json;
use wait_timeout::ChildExt;

/// The message of the error that a turn fails with.
fn complaint(setup: Setup) -> String {
    let mut pool = setup.start();
    pool.open("a", json!({}));
    let turn = pool.start_turn("a", "x");
    let error = pool.wait_fails(&turn);
    assert_eq!((error.code, error.name.as_str()), (-32001, "model_unavailable"));
    assert!(error.data["retryAfterSeconds"].as_u64().unwrap() >= 1);
    error.message
}

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is missing: {message}");
    }
}

#[test]
fn a_worker_that_dies_before_it_is_ready_is_named_with_exit_and_last_words() {
    let message = complaint(workers().fault("die-before-ready"));
    assert_says(
        &message,
        &[
            oam_binary().to_str().unwrap(),
            "exited with code 1",
            "before it was ready",
            "cannot load the model: it does not exist",
        ],
    );
}

#[test]
fn a_worker_of_another_protocol_version_is_told_apart() {
    let message = complaint(workers().fault("bad-version"));
    assert_says(&message, &[oam_binary().to_str().unwrap(), "version 99", "this is version 1"]);
}

#[test]
fn a_program_that_is_no_program_is_named() {
    let setup = workers();
    let path = setup.path("worker");
    fs::write(&path, [0x7f, 0x45, 0x4c, 0x46, 0, 0, 0]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let message = complaint(setup.program(&[&path]));
    assert_says(&message, &[&path]);
}

#[test]
fn a_program_that_is_no_worker_is_told_apart() {
    // It exits at once and well, without a word.
    let message = complaint(workers().program(&["true"]));
    assert_says(&message, &["true", "exited with code 0", "before it was ready"]);
    // It says something, but nothing that a worker says.
    let message = complaint(workers().program(&["sh", "-c", "echo Hello, who is there? >&0; sleep 60"]));
    assert_says(&message, &["sh", "frame"]);
}

/// What `oam stdio` says, which must end with 2 at once because of its worker.
fn refusal(command: &str, by_variable: bool) -> String {
    let mut oam = oam_command();
    oam.arg("stdio").stdin(Stdio::piped()).stderr(Stdio::piped());
    if by_variable {
        oam.env("OAM_WORKER", command);
    } else {
        oam.args(["--worker", command]);
    }
    let mut child = oam.spawn().unwrap();
    let status = child.wait_timeout(DEADLINE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(2), "{command}");
    std::io::read_to_string(child.stderr.take().unwrap()).unwrap()
}

#[test]
fn a_program_that_cannot_be_started_ends_oam_at_once_and_is_named() {
    let setup = workers();
    let file = |name: &str, content: &str, mode: u32| {
        let path = setup.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let folder = setup.path("").to_str().unwrap().to_owned();
    let plain = file("plain", "#!/bin/sh\nexit 0\n", 0o644);
    let lost = file("lost", "#!/nowhere/python3 -u\n", 0o755);
    let cases = [
        ("/nowhere/worker --fast", vec!["there is no program /nowhere/worker"]),
        ("oam-worker-of-nobody", vec!["there is no program 'oam-worker-of-nobody' in PATH"]),
        (folder.as_str(), vec![folder.as_str(), "is a folder"]),
        (plain.as_str(), vec![plain.as_str(), "may not be executed"]),
        (lost.as_str(), vec![lost.as_str(), "#!", "/nowhere/python3, which does not exist"]),
        ("''", vec!["there is no program ''"]),
        (" ", vec!["names no program"]),
        ("worker 'unclosed", vec!["missing closing quote"]),
    ];
    for (command, parts) in cases {
        for (by_variable, source) in [(false, "--worker"), (true, "OAM_WORKER")] {
            let message = refusal(command, by_variable);
            assert_says(&message, &[source]);
            assert_says(&message, &parts);
        }
    }
}

#[test]
fn a_scripted_worker_that_does_not_know_a_fault_names_all() {
    let message = complaint(workers().fault("abrt"));
    assert_says(&message, &["exited with code 2", "there is no fault 'abrt'; the faults are abort, segv, "]);
}

#[test]
fn a_failed_start_is_tried_again() {
    for fault in ["die-before-ready", "bad-version"] {
        let mut pool = workers().fault_once(fault, "").flags(&["--no-spare"]).start();
        pool.open("a", json!({}));
        assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello", "{fault}");
        assert_eq!(pool.counter("started"), 2, "{fault}");
    }
}

#[test]
fn a_worker_that_never_gets_ready_is_replaced() {
    let mut pool = workers().fault_once("no-ready", "").flags(&["--no-spare"]).with_events().start();
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    assert_eq!(pool.event("workerHung")["cause"], "not ready in time");
}

#[test]
fn a_slow_start_delays_only_turns() {
    let mut pool = workers().worker_args(&["--ready-delay", "4000"]).start();
    assert_eq!(pool.ok("model/availability", json!({}))["reason"], "model_not_ready");
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    assert_eq!(pool.ok("model/availability", json!({}))["available"], true);
}

#[test]
fn the_variable_names_the_worker_too() {
    let setup = workers();
    let words = [oam_binary().to_str().unwrap(), "worker", "scripted"];
    let mut oam = oam_tests::Oam::builder().env("OAM_WORKER", shell_words::join(words)).start();
    oam.ok("session/create", json!({"session": "a"}));
    assert_eq!(oam.turn("a", "Hello")["text"], "You say: Hello");
    drop(setup);
}
