//! A connection for the tests of transports, which understands a few words instead of messages.

use std::sync::Mutex;

use tokio::sync::watch;

use super::{Connection, serve::End};
use crate::{
    message::{Outgoing, Payload},
    outbox::{Outbox, OutboxConsumer, OutboxLimits, outbox},
};

/// Says every line back. `work` is answered with `worked` once the test or the line `finish` says so, or with
/// `cancelled`; `end` is what a shutdown request is to a bridge.
pub(super) struct TestConnection {
    pub(super) outbox: Outbox,
    pub(super) received: Mutex<Vec<String>>,
    owed: watch::Sender<usize>,
    has_ended: watch::Sender<bool>,
}

impl TestConnection {
    pub(super) fn new() -> (Self, OutboxConsumer) {
        Self::with_limits(OutboxLimits::default())
    }

    pub(super) fn with_limits(limits: OutboxLimits) -> (Self, OutboxConsumer) {
        let (outbox, messages) = outbox(limits);
        let connection = Self {
            outbox,
            received: Mutex::default(),
            owed: watch::Sender::new(0),
            has_ended: watch::Sender::new(false),
        };
        (connection, messages)
    }

    pub(super) fn say(&self, word: &str) {
        let params = Payload::empty_object();
        self.outbox.push(Outgoing::Notification { method: word, params: &params });
    }

    pub(super) fn settle(&self, outcome: &str) {
        for _ in 0..self.owed.send_replace(0) {
            self.say(outcome);
        }
    }

    pub(super) async fn has_received(&self, line: &str) {
        while !self.received.lock().unwrap().iter().any(|received| received == line) {
            tokio::task::yield_now().await;
        }
    }
}

impl Connection for TestConnection {
    fn receive(&self, line: &[u8]) {
        let line = String::from_utf8(line.to_vec()).unwrap();
        match &*line {
            "work" => self.owed.send_modify(|owed| *owed += 1),
            "finish" => self.settle("worked"),
            "end" => {
                self.say("bye");
                self.has_ended.send_replace(true);
            }
            other => self.say(other),
        }
        self.received.lock().unwrap().push(line);
    }

    fn oversized_line(&self, limit: usize) {
        self.say(&format!("more than {limit}"));
    }

    async fn idle(&self) {
        let _ = self.owed.subscribe().wait_for(|owed| *owed == 0).await;
    }

    async fn shut_down(&self) {
        self.settle("cancelled");
    }

    async fn ended(&self) {
        let _ = self.has_ended.subscribe().wait_for(|ended| *ended).await;
    }
}

/// The words of messages that [`TestConnection::say`] sent.
pub(super) fn words(output: &[u8]) -> Vec<String> {
    output
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let message: serde_json::Value = serde_json::from_slice(line).unwrap();
            message["method"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn exit_codes_tell_failures_from_ends() {
    use super::StopSignal::{Interrupt, Terminate};
    let cases = [
        (End::EndOfInput, 0),
        (End::Shutdown, 0),
        (End::Stopped(Terminate), 0),
        (End::Stopped(Interrupt), 130),
        (End::OutputClosed, 0),
        (End::OutputFailed, 1),
        (End::InputFailed, 1),
        (End::Overflowed, 1),
    ];
    for (end, code) in cases {
        assert_eq!(end.exit_code(), code, "{end:?}");
    }
}
