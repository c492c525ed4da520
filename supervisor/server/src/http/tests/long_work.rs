//! Requests that make work for long, and those that come meanwhile.

use std::sync::mpsc;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::client::{Wire, completions, config, eventually, get, hi, hi_with, longer, post, start};
use crate::Server;

/// Takes all threads for long work until it is told to end.
struct Busy {
    end: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Busy {
    fn begin() -> Self {
        let (end, told) = mpsc::channel::<()>();
        let thread = tokio::task::spawn_blocking(move || assert!(told.recv().is_err(), "it is dropped"));
        Self { end, thread }
    }

    async fn end(self) {
        drop(self.end);
        self.thread.await.unwrap();
    }
}

/// On one thread for requests, and one for long work.
fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(1).build().unwrap().block_on(test);
}

async fn assert_others_are_served(server: &Server) {
    let mut other = Wire::connect(server).await;
    assert_eq!(other.ask(post(&hi(), "")).await.status, 200);
    assert_eq!(other.ask(get("/health", "")).await.status, 200);
}

#[test]
fn others_are_served_while_a_large_body_is_read() {
    run(async {
        let server = start(config()).await;
        let busy = Busy::begin();
        let (request, bytes) = longer(hi(), 1 << 20);
        let mut large = Wire::connect(&server).await;
        large.send(request).await;
        eventually("the large body is there", || server.buffered_bytes() == bytes).await;

        assert_others_are_served(&server).await;
        assert_eq!(server.buffered_bytes(), bytes, "the large body is not read yet");

        busy.end().await;
        assert_eq!(large.answer().await.status, 200);
    });
}

#[test]
fn others_are_served_while_a_large_answer_is_checked() {
    run(async {
        let value = json!({ "numbers": (0..20_000).collect::<Vec<_>>() });
        let completions = completions(&json!({ "fallback": { "json": value } }));
        let server = Server::start(config(), completions.clone()).await.unwrap();
        let busy = Busy::begin();
        let numbers = json!({ "type": "array", "items": { "type": "integer" } });
        let schema = json!({ "type": "object", "properties": { "numbers": numbers } });
        let format = json!({ "type": "json_schema", "json_schema": { "name": "Large", "schema": schema } });
        let mut large = Wire::connect(&server).await;
        large.send(post(&hi_with(json!({ "response_format": format })), "")).await;
        eventually("it is answered", || completions.active() == 1).await;

        assert_others_are_served(&server).await;
        assert_eq!(completions.active(), 1, "the answer is not checked yet");

        busy.end().await;
        let answer = large.answer().await.json();
        assert_eq!(answer["choices"][0]["message"]["content"], Value::from(value.to_string()));
    });
}
