//! Turns on worker processes: a worker that dies changes nothing, and nothing is left behind.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};
use oam_tests::{DEADLINE, oam_binary};
use serde_json::json;
use wait_timeout::ChildExt;

use super::{order_and_weather, respond, weather};

fn worker(arguments: &str) -> String {
    format!("{} worker scripted --script s.json {arguments}", oam_binary().display())
}

#[test]
fn a_worker_that_dies_in_the_middle_changes_nothing() {
    let script = json!([weather(), {"template": "It says {toolOutput}, as ever."}]).to_string();
    let expected = respond(["--tools", "tools.json", "Paris?", "--worker", &worker("")])
        .file("s.json", &script)
        .ends_with(0);
    assert!(expected.stdout.contains("\"temperature_c\":14"));
    for when in ["step=1+at=start", "step=2+at=start", "step=2+at=middle", "step=2+at=end"] {
        let marks = tempfile::tempdir().unwrap();
        for fault in ["kill", "segv", "abort"] {
            let once = marks.path().join(fault);
            let worker = worker(&format!("--fault {fault}:{when}+once={}", once.display()));
            let told = respond(["--tools", "tools.json", "Paris?", "--worker", &worker])
                .file("s.json", &script)
                .ends_with(0);
            assert_eq!((&told.stdout, told.stderr.as_str()), (&expected.stdout, ""), "{fault} {when}");
            assert!(once.exists(), "it did die: {fault} {when}");
        }
    }
}

#[test]
fn a_turn_that_waits_goes_on_over_deaths_too() {
    let script = json!([order_and_weather(), {"template": "{toolOutputs}"}]).to_string();
    let told =
        respond(["--tools", "tools.json", "Order?", "--save-transcript", "t.json", "--worker", &worker("")])
            .file("s.json", &script)
            .ends_with(10);
    let marks = tempfile::tempdir().unwrap();
    let worker = worker(&format!("--fault abort:once={}", marks.path().join("once").display()));
    let told = told
        .then(["respond", "--resume", "t.json", "--tool-output", "o=shipped", "--worker", &worker])
        .ends_with(0);
    assert!(told.stdout.starts_with("shipped\n{\"city\""), "{told:?}");
}

#[test]
fn a_step_that_kills_every_worker_fails_the_turn() {
    let told = respond(["Hi", "--json", "--worker", &worker("--fault segv")])
        .file("s.json", "[{\"text\": \"Hi.\"}]")
        .ends_with(1);
    let (code, message) = told.error();
    assert_eq!(code, "generation_failed");
    assert!(message.contains("worker"), "{message}");
}

/// Passes on what is written into a pipe, line by line; a `None` when nobody holds it any more.
fn lines_of(pipe: &Path) -> mpsc::Receiver<Option<String>> {
    let (said, lines) = mpsc::channel();
    let pipe = pipe.to_owned();
    thread::spawn(move || {
        for line in BufReader::new(File::open(pipe).unwrap()).lines() {
            said.send(Some(line.unwrap())).unwrap();
        }
        let _ = said.send(None);
    });
    lines
}

#[test]
fn a_signal_ends_the_turn_and_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let script = json!([{"toolCalls": [{"name": "wait"}]}, {"text": "Hi."}]);
    std::fs::write(file("s.json"), script.to_string()).unwrap();
    // Worker and tool hold the pipe for as long as they, or children of theirs, live.
    let worker = format!("sh -c 'exec 3>pipe; exec {}'", worker(""));
    let tool = json!({"name": "wait", "description": "Waits.", "x-oam": {"command": "exec 3>pipe; echo runs >&3; sleep 600; true"}});
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let _ = std::fs::remove_file(file("pipe"));
        mkfifo(&file("pipe"), Mode::S_IRWXU).unwrap();
        let held = lines_of(&file("pipe"));
        let mut oam = Command::new(oam_binary())
            .args(["respond", "Wait!", "--tool-json", &tool.to_string(), "--worker", &worker])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(held.recv_timeout(DEADLINE), Ok(Some("runs".to_owned())));
        kill(Pid::from_raw(i32::try_from(oam.id()).unwrap()), signal).unwrap();
        assert_eq!(oam.wait_timeout(DEADLINE).unwrap().and_then(|status| status.code()), Some(code));
        assert_eq!(held.recv_timeout(DEADLINE), Ok(None), "nobody is left");
    }
}
