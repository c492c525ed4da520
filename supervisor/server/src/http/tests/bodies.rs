//! Whatever a request's body is, it is answered or refused, and the next request on the connection is not worse for it.

use std::{env, sync::Arc};

use fastrand::Rng;
use oam_agent::{
    Availability, BoxFuture, Capabilities, ErrorCode, Model, ModelError, StepContent, StepOutcome,
    StepRequest, StepSink, Usage,
};
use serde_json::Value;

use super::{
    client::{Answer, Wire, completions_of, config, eventually, get, post_bytes},
    mutations::mutated,
};
use crate::{Server, chat, responses};

/// How many of each API, whole and streamed. `OAM_BODIES` asks for more.
fn bodies() -> u64 {
    env::var("OAM_BODIES").map_or(2_500, |count| count.parse().expect("OAM_BODIES is a number"))
}

/// Answers `{}`, and never in a form that somebody makes up.
struct Plain;

impl Model for Plain {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            if request.schema.is_some() {
                return Err(ModelError::new(ErrorCode::Refusal, "Not in this form."));
            }
            sink.text("{");
            sink.text("}");
            Ok(StepOutcome { content: StepContent::Text("{}".to_owned()), usage: Usage::default() })
        })
    }

    fn availability(&self) -> Availability {
        Availability { unavailable: None, context_size: 4096, variant: None, supported_languages: Vec::new() }
    }

    fn context_size(&self) -> Option<u32> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { images: true, streaming: true, ..Capabilities::default() }
    }
}

/// Whether the body was answered; otherwise it was refused.
fn is_answered(answer: &Answer) -> bool {
    assert_eq!(answer.header("connection"), Some("keep-alive"));
    match answer.status {
        200 if answer.header("content-type") == Some("application/json") => {
            assert!(answer.json()["error"].is_null());
            true
        }
        200 => {
            let stream = std::str::from_utf8(&answer.body).unwrap();
            let ends = ["event: response.completed\n", "event: response.incomplete\n", "data: [DONE]\n"];
            let last = stream.trim_end().rsplit("\n\n").next().unwrap_or_default();
            assert!(ends.iter().any(|end| format!("{last}\n").starts_with(end)), "{stream}");
            assert!(!stream.contains(r#"data: {"error""#), "{stream}");
            true
        }
        400..500 => {
            answer.code();
            assert!(answer.body.len() < 4096, "what is repeated of a request is short");
            false
        }
        status => panic!("status {status}"),
    }
}

/// Sends bodies made of this one over one connection.
fn assert_answered_or_refused(path: &str, body: Value, is_streamed: bool) {
    let Value::Object(mut body) = body else { panic!("requests are objects") };
    body.insert("stream".to_owned(), is_streamed.into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(config(), completions_of(Arc::new(Plain))).await.unwrap();
        let mut wire = Wire::connect(&server).await;
        let (mut answered, bodies) = (0, bodies());
        for seed in 0..bodies {
            let sent = mutated(&mut Rng::with_seed(seed), &body);
            let _told = Told { seed, sent: &sent };
            let answer = wire.ask(post_bytes(path, &sent, "")).await;
            answered += u64::from(is_answered(&answer));
        }
        assert!((bodies / 10..bodies * 9 / 10).contains(&answered), "{answered} are answered");
        assert_eq!(wire.ask(get("/health", "")).await.status, 200);
        eventually("nothing is held", || server.buffered_bytes() == 0).await;
    });
}

/// Tells of the body at which a test fails.
struct Told<'a> {
    seed: u64,
    sent: &'a [u8],
}

impl Drop for Told<'_> {
    #[expect(clippy::print_stderr, reason = "beside the message of the panic")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let start = &self.sent[..self.sent.len().min(4096)];
            eprintln!("body {}: {}", self.seed, start.escape_ascii());
        }
    }
}

#[test]
fn mutated_chat_completions_are_answered_or_refused() {
    assert_answered_or_refused("/v1/chat/completions", chat::tests::rich_request(), false);
}

#[test]
fn mutated_streamed_chat_completions_are_answered_or_refused() {
    assert_answered_or_refused("/v1/chat/completions", chat::tests::rich_request(), true);
}

#[test]
fn mutated_responses_are_answered_or_refused() {
    assert_answered_or_refused("/v1/responses", responses::tests::rich_request(), false);
}

#[test]
fn mutated_streamed_responses_are_answered_or_refused() {
    assert_answered_or_refused("/v1/responses", responses::tests::rich_request(), true);
}
