//! What clients get: models, answers, the one script for all.

use std::process::Command;

use oam_tests::script::{error, text};
use serde_json::{Value, json};

use crate::{
    run::{said, said_with, serve},
    workers::worker,
};

#[test]
fn the_model_has_the_names_that_were_given() {
    let server = serve(["--model-alias", "gpt-4o-mini=system"])
        .script(json!([text("Hello."), text("Hello.")]))
        .listens();
    let models = server.get("/v1/models").json();
    let ids: Vec<_> = models["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["system", "gpt-4o-mini"]);
    let answer = server.complete(said_with("Hello?", json!({"model": "gpt-4o-mini"})));
    assert_eq!((answer.status, &answer.json()["model"]), (200, &json!("system")));
    let unknown = server.complete(said_with("Hello?", json!({"model": "gpt-5"})));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "model_not_found"));
    let health = server.get("/health").json();
    assert_eq!((&health["status"], &health["models"]["system"]), (&json!("ok"), &json!("available")));
}

#[test]
fn all_requests_together_play_the_script_once() {
    let server = serve([]).script(json!([text("One."), text("Two."), text("Three.")])).listens();
    let answers: Vec<_> = (0..4)
        .map(|_| server.complete(said("Next?")).json()["choices"][0]["message"]["content"].clone())
        .collect();
    assert_eq!(answers, ["One.", "Two.", "Three.", "(script exhausted)"]);
}

#[test]
fn the_server_s_instructions_come_before_those_of_the_request() {
    let server =
        serve(["-i", "oam-script: [{\"text\": \"As I was told.\"}]", "--worker", &worker("")]).listens();
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]);
    let answer = server.complete(json!({"messages": messages})).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "As I was told.");
}

#[test]
fn failures_of_the_model_have_the_status_for_them() {
    let cases = [
        ("guardrail_violation", 1, 400, "content_filter"),
        ("context_size_exceeded", 1, 400, "context_length_exceeded"),
        ("rate_limited", 2, 429, "rate_limited"),
    ];
    for (failure, times, status, code) in cases {
        let server = serve([]).script(json!(vec![error(failure); times])).listens();
        let answer = server.complete(said("Hello?"));
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
        assert!(status != 429 || answer.head.contains("retry-after: "), "{answer:?}");
    }
}

#[test]
fn curl_gets_answers_through_a_unix_socket_and_in_chunks() {
    let server = serve(["--socket", "s"])
        .script(json!([text("Hello there."), {"text": "Hello once more.", "chunks": 4}]))
        .listens();
    let curl = |request: Value| {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--no-buffer", "--include", "--unix-socket", "s"])
            .args(["-H", "Content-Type: application/json", "-d", &request.to_string()])
            .arg("http://localhost/v1/chat/completions")
            .current_dir(server.path(""))
            .output()
            .expect("curl is installed");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = curl(said("Hello?"));
    assert!(whole.starts_with("HTTP/1.1 200 ") && whole.contains("\"content\":\"Hello there.\""), "{whole}");
    let streamed = curl(said_with("Hello?", json!({"stream": true})));
    assert!(streamed.to_lowercase().contains("transfer-encoding: chunked"), "{streamed}");
    assert!(streamed.matches("data: {").count() > 3 && streamed.ends_with("data: [DONE]\n\n"), "{streamed}");
    let socket = server.path("s");
    server.stops();
    assert!(!socket.exists());
}

#[test]
fn pages_get_answers_only_from_origins_that_are_allowed() {
    let script = json!([text("Hello."), text("Hello.")]);
    let mut server = serve(["--allow-origin", "https://game.example"]).script(script).listens();
    server.field("Origin: https://game.example");
    let answer = server.complete(said("Hello?"));
    assert!(answer.head.contains("access-control-allow-origin: https://game.example\r\n"), "{answer:?}");
    assert_eq!(answer.status, 200);
    server.field("Origin: https://other.example");
    let refused = server.complete(said("Hello?"));
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[test]
fn a_name_that_the_server_is_reached_under_can_be_allowed() {
    for (arguments, status) in [(&[][..], 421), (&["--allow-host", "studio.example"], 200)] {
        let server = serve(arguments.iter().copied()).script(json!([])).listens();
        assert_eq!(server.get("http://studio.example/health").status, status, "{arguments:?}");
    }
}

#[test]
fn a_silent_stream_carries_comments_as_often_as_wanted() {
    let worker = worker("--piece-delay 500");
    let script = r#"oam-script: [{"text": "One two", "chunks": 2}]"#;
    for (seconds, is_wanted) in [("0.05", true), ("0", false)] {
        let server = serve(["--keep-alive", seconds, "-i", script, "--worker", &worker]).listens();
        let stream = server.ask(said_with("Hello?", json!({"stream": true}))).whole().body;
        assert!(stream.contains("[DONE]"), "{stream}");
        assert_eq!(stream.contains(": keep-alive\n"), is_wanted, "{stream}");
    }
}

#[test]
fn a_recorded_server_can_be_played_again() {
    let server =
        serve([]).script(json!([text("Amber."), text("Gold.")])).env("OAM_RECORD", "r.json").listens();
    let ask = |server: &crate::run::Serving, prompt| {
        server.complete(said(prompt)).json()["choices"][0]["message"]["content"].clone()
    };
    assert_eq!((ask(&server, "One?"), ask(&server, "Another?")), (json!("Amber."), json!("Gold.")));
    server.signal(nix::sys::signal::Signal::SIGTERM);
    let ended = server.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let recording = std::fs::read_to_string(ended.folder.unwrap().path().join("r.json")).unwrap();
    let server = serve([]).file("script.json", &recording).env("OAM_SCRIPT", "script.json").listens();
    // Steps are recognized by what they ask.
    assert_eq!((ask(&server, "Another?"), ask(&server, "One?")), (json!("Gold."), json!("Amber.")));
}
