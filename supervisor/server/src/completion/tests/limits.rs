//! Time, turns, and what is left behind.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::kit::*;
use crate::{
    CompletionReply, Completions,
    http::tests::client::{PausingModel, eventually},
};

fn counts(server: &Completions) -> (u64, u64) {
    let health: Value = serde_json::from_slice(&server.health().body).unwrap();
    (health["active_requests"].as_u64().unwrap(), health["queued_requests"].as_u64().unwrap())
}

#[tokio::test]
async fn a_completion_has_a_time_limit() {
    let server = server_with(
        scripted(&json!({"steps": [], "fallback": {"text": "Late", "delayMs": 3_600_000}})),
        |config| {
            config.limits.time = Duration::from_millis(50);
        },
    );
    for error in
        [ask(&server, hi(json!({}))).await.unwrap_err(), stream(&server, hi(json!({}))).await.unwrap_err()]
    {
        assert_eq!((error.status, error.code), (504, Some("timeout")));
    }
    eventually("the place is free", || counts(&server) == (0, 0)).await;
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_ends_a_stream_too() {
    let server = server(teller([vec![Act::Say("Once"), Act::Hang]]));
    let body = hi(json!({"stream": true})).to_string();
    let CompletionReply::Stream(stream) = server.chat(body.clone().into()).await.unwrap() else {
        panic!("a stream was asked for")
    };
    let read = Read::of(&String::from_utf8(stream.collect::<Vec<_>>().await.concat()).unwrap());
    assert_eq!((read.text().as_str(), read.error()), ("Once", Some(&json!("timeout"))));
}

#[tokio::test(start_paused = true)]
async fn waiting_counts_as_time() {
    let server = server_with(teller([vec![Act::Hang]]), |config| {
        config.limits.concurrent = NonZeroUsize::MIN;
        config.limits.time = Duration::from_secs(1);
    });
    let body = hi(json!({})).to_string();
    let (first, second) = tokio::join!(server.chat(body.clone().into()), server.chat(body.clone().into()));
    assert_eq!((first.unwrap_err().status, second.unwrap_err().status), (504, 504));
}

#[tokio::test]
async fn completions_wait_for_their_turn_and_too_many_are_refused() {
    let model = Arc::new(PausingModel::default());
    let server = server_with(model.clone(), |config| {
        config.limits.concurrent = NonZeroUsize::MIN;
        config.limits.queued = 1;
    });
    let asking = |name: &'static str| {
        let server = server.clone();
        let body = json!({"messages": [{"role": "user", "content": name}]});
        tokio::spawn(async move { ask(&server, body).await })
    };
    let first = asking("first");
    eventually("the first is generated", || counts(&server) == (1, 0)).await;
    let second = asking("second");
    eventually("the second waits", || counts(&server) == (1, 1)).await;
    let refused = asking("third").await.unwrap().unwrap_err();
    assert_eq!((refused.status, refused.code, refused.retry_after), (429, Some("rate_limited"), Some(1)));
    for answer in [first, second] {
        model.go_on();
        assert_eq!(message(&answer.await.unwrap().unwrap())["content"], "one two");
    }
    eventually("all places are free", || counts(&server) == (0, 0)).await;
}

#[tokio::test]
async fn who_goes_away_frees_the_place() {
    let server = server(teller([vec![Act::Hang], vec![Act::Say("Once"), Act::Hang]]));
    let body = hi(json!({})).to_string();
    let asking = server.chat(body.clone().into());
    assert!(futures_util::poll!(Box::pin(asking)).is_pending());
    assert_eq!(counts(&server), (0, 0), "the future was dropped");

    let body = hi(json!({"stream": true})).to_string();
    let reply = server.chat(body.clone().into()).await.unwrap();
    assert_eq!(counts(&server), (1, 0));
    drop(reply);
    while counts(&server) != (0, 0) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stream_that_nobody_reads_frees_the_place_when_it_is_generated() {
    let server = server(scripted(&json!([{"text": "x".repeat(10_000), "chunks": 10_000}])));
    let body = hi(json!({"stream": true})).to_string();
    let reply = server.chat(body.clone().into()).await.unwrap();
    while counts(&server) != (0, 0) {
        tokio::task::yield_now().await;
    }
    drop(reply);
}
