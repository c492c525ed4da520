//! How a server ends.

use std::{io::Read, net::TcpStream};

use nix::sys::signal::Signal;
use oam_tests::{
    pool::until,
    script::{endless, text},
};
use serde_json::json;

use crate::{
    run::{said, said_with, serve},
    workers::worker,
};

#[test]
fn signals_stop_it_in_order() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let server = serve([]).script(json!([text("Hello.")])).listens();
        server.signal(signal);
        let ended = server.ended();
        assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
        assert!(ended.stderr.ends_with("[info] stopped\n"), "{signal}: {ended:?}");
    }
}

#[test]
fn an_open_stream_comes_to_its_end_when_it_is_told_to_stop() {
    let server = serve(["--worker", &worker("--piece-delay 50")]).listens();
    let port = server.port();
    let prompt = "one two three four five six seven eight nine ten";
    let mut stream = server.ask(said_with(prompt, json!({"stream": true})));
    assert_eq!(stream.status, 200);
    stream.event().expect("it has begun");
    server.signal(Signal::SIGTERM);
    let streamed = stream.stream();
    assert_eq!(streamed.finish(), "stop");
    assert!(streamed.text().contains("ten"), "{}", streamed.text());
    let ended = server.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it listens no more");
}

#[test]
fn answers_that_take_longer_than_the_drain_are_cut() {
    for (arguments, signals) in [(&["--drain", "0.1"][..], 1), (&["--drain", "3600"], 2)] {
        let server = serve(arguments.iter().copied()).script(json!([endless()])).listens();
        let mut asked = server.begin(said("Hello?"));
        let port = server.port();
        server.signal(Signal::SIGTERM);
        if signals == 2 {
            // Two that are waiting to be heard are one.
            until("it listens no more", || TcpStream::connect(("127.0.0.1", port)).is_err());
            server.signal(Signal::SIGTERM);
        }
        let mut answer = String::new();
        asked.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.0 503 ") && answer.contains(r#""code":"server_stopping""#),
            "{answer}"
        );
        let ended = server.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}
