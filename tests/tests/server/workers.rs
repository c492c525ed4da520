//! The server in front of workers that die.

use oam_tests::{oam_binary, pool::exists};
use serde_json::json;

use crate::{
    http::hear,
    run::{said, said_with, serve},
};

/// The command line of a scripted worker with these arguments.
pub(crate) fn worker(arguments: &str) -> String {
    format!("{} worker scripted {arguments}", shell_words::quote(oam_binary().to_str().unwrap()))
}

#[test]
fn a_stream_goes_on_when_its_worker_dies() {
    let once = tempfile::tempdir().unwrap();
    let fault = format!("--fault crash-streaming:once={}", once.path().join("died").display());
    let server = serve(["--worker", &worker(&fault)]).listens();
    let prompt = "tell me of the old mill by the river";
    let streamed = server.ask(said_with(prompt, json!({"stream": true}))).stream();
    assert_eq!(streamed.finish(), "stop");
    assert!(once.path().join("died").exists(), "no worker died");
    let whole = server.complete(said(prompt)).json();
    assert_eq!(json!(streamed.text()), whole["choices"][0]["message"]["content"]);
    assert_eq!(server.number("oam_worker_crashes_total{cause=\"SIGABRT\"}"), Some(1.0));
    assert_eq!(server.number("oam_worker_replays_total"), Some(1.0));
    assert!(server.number("oam_worker_started_total") >= Some(2.0));
}

#[test]
fn a_stream_that_no_worker_can_finish_ends_with_an_error() {
    let arguments = ["--max-step-crashes", "2", "--streaming", "always"];
    let worker = worker("--fault abort:word=boom+at=middle");
    let server = serve(arguments.into_iter().chain(["--worker", &worker])).listens();
    let streamed =
        server.ask(said_with("tell me of the big boom back then", json!({"stream": true}))).stream();
    let last = streamed.0.last().unwrap();
    assert_eq!(last["error"]["type"], "server_error", "{last}");
    assert_ne!(streamed.text(), "");
    // Others get their answers.
    assert_eq!(server.complete(said("Hello there")).status, 200);
    assert_eq!(server.number("oam_worker_quarantined_steps_total"), Some(1.0));
    // What the client was told at the end counts, not the status at the beginning.
    server.until_number("oam_turns_total{outcome=\"failed\"}", 1.0);
    server.until_number("oam_turns_total{outcome=\"answered\"}", 1.0);
    let log = server.stops();
    assert!(log.contains("[warning] POST /v1/chat/completions → 200 (stream, server_error) "), "{log}");
}

#[test]
fn the_numbers_of_workers_are_shown() {
    let server = serve(["--worker", &worker(""), "--workers", "2", "--no-spare"]).listens();
    assert_eq!(server.complete(said("Hello there")).status, 200);
    server.until_number("oam_workers{state=\"ready\"}", 2.0);
    assert_eq!(server.number("oam_worker_steps_total"), Some(1.0));
    assert_eq!(server.number("oam_worker_starts_paused"), Some(0.0));
    assert_eq!(server.number("oam_steps_total{outcome=\"finished\"}"), Some(1.0));
    let log = server.stops();
    assert!(log.contains("[info] stopped\n"), "{log}");
}

#[test]
fn every_number_is_documented() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/SERVER.md");
    let document = std::fs::read_to_string(document).unwrap();
    let server = serve(["--worker", &worker("")]).listens();
    let metrics = server.get("/metrics").body;
    let names = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let missing: Vec<_> = names
        .filter(|name| !document.contains(&format!("`{name}`")) && !document.contains(&format!("`{name}{{")))
        .collect();
    assert!(metrics.contains("# TYPE oam_workers ") && missing.is_empty(), "{missing:?}");
}

#[test]
fn no_worker_outlives_its_server() {
    let server = serve(["--worker", &worker("")]).listens();
    let workers = oam_tests::procfs::children(server.pid()).unwrap();
    assert!(!workers.is_empty());
    server.stops();
    for worker in workers {
        assert!(!exists(worker.pid), "{} is left", worker.pid);
    }
}

#[test]
fn answers_that_are_too_long_are_errors_of_their_own_clients_alone() {
    let server = serve(["--worker", &worker(""), "--max-concurrent", "16"]).listens();
    let long = "x".repeat(1 << 20);
    let asked: Vec<_> = (0..8).map(|_| server.send(said(&long))).collect();
    assert_eq!(server.complete(said("Hello there")).status, 200);
    for answer in asked {
        let answer = hear(answer).whole();
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, &error["type"], &error["code"]),
            (500, &json!("server_error"), &json!(null))
        );
        assert_eq!(error["message"], "The answer is longer than 1048576 bytes.");
    }
    let streamed = server.ask(said_with(&long, json!({"stream": true}))).stream();
    assert_eq!(streamed.0.last().unwrap()["error"]["message"], "The answer is longer than 1048576 bytes.");
    assert_eq!(server.complete(said("Hello again")).status, 200);
    assert_eq!(server.number("oam_worker_violations_total"), Some(0.0));
    assert_eq!(server.number("oam_worker_replays_total"), Some(0.0));
}
