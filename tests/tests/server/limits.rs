//! More than the server takes.

use oam_tests::script::{endless, text};
use serde_json::json;

use crate::run::{said, said_with, serve};

#[test]
fn a_completion_that_takes_too_long_times_out() {
    let server = serve(["--timeout", "0.2"]).script(json!([endless()])).listens();
    let answer = server.complete(said("Hello?"));
    assert_eq!((answer.status, answer.code().as_str()), (504, "timeout"));
    let streamed = server.complete(said_with("Hello?", json!({"stream": true})));
    assert_eq!(streamed.status, 200, "the script goes on: {streamed:?}");
    let log = server.stops();
    assert!(log.contains("[warning] POST /v1/chat/completions → 504 timeout "), "{log}");
}

#[test]
fn what_cannot_even_wait_is_told_to_come_again() {
    let arguments = ["--max-concurrent", "1", "--max-queued", "0"];
    let server = serve(arguments).script(json!([endless(), text("Here I am.")])).listens();
    let _waiting = server.begin(said("Hello?"));
    let refused = server.complete(said("Hello?"));
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
}

#[test]
fn a_client_that_goes_away_makes_room() {
    let server = serve(["--max-concurrent", "1"]).script(json!([endless(), text("Here I am.")])).listens();
    let gone = server.begin(said("Hello?"));
    drop(gone);
    server.until_number("oam_completions_active", 0.0);
    let answer = server.complete(said("Hello?")).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "Here I am.");
}
