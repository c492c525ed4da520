//! Time, turns, and what is left behind.

use std::time::Duration;

use serde_json::{Value, json};

use super::kit::*;
use crate::Completions;

fn counts(server: &Completions) -> (u64, u64) {
    let health: Value = serde_json::from_slice(&server.health().body).unwrap();
    (health["active_requests"].as_u64().unwrap(), health["queued_requests"].as_u64().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_completion_has_a_time_limit() {
    let server = server_with(
        scripted(&json!({"steps": [], "fallback": {"text": "Late", "delayMs": 10_000}})),
        |config| {
            config.limits.time = Duration::from_millis(300);
        },
    );
    for error in
        [ask(&server, hi(json!({}))).await.unwrap_err(), stream(&server, hi(json!({}))).await.unwrap_err()]
    {
        assert_eq!((error.status, error.code), (504, Some("timeout")));
    }
    assert_eq!(counts(&server), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_ends_a_stream_too() {
    let server = server(teller([vec![Act::Say("Once"), Act::Hang]]));
    let read = stream(&server, hi(json!({}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.error()), ("Once", Some(&json!("timeout"))));
}

#[tokio::test(start_paused = true)]
async fn waiting_counts_as_time() {
    let server = server_with(teller([vec![Act::Hang]]), |config| {
        config.limits.concurrent = std::num::NonZeroUsize::MIN;
        config.limits.time = Duration::from_secs(1);
    });
    let (first, second) = tokio::join!(ask(&server, hi(json!({}))), ask(&server, hi(json!({}))));
    assert_eq!((first.unwrap_err().status, second.unwrap_err().status), (504, 504));
}

#[tokio::test(start_paused = true)]
async fn completions_wait_for_their_turn_and_too_many_are_refused() {
    let server = server_with(
        scripted(&json!([{"text": "a", "delayMs": 400}, {"text": "b", "delayMs": 400}])),
        |config| {
            config.limits.concurrent = std::num::NonZeroUsize::MIN;
            config.limits.queued = 1;
        },
    );
    let after = async |millis| {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        ask(&server, hi(json!({}))).await
    };
    let watch = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        counts(&server)
    };
    let (a, b, refused, during) = tokio::join!(after(0), after(50), after(100), watch);
    assert_eq!(
        (&message(&a.unwrap())["content"], &message(&b.unwrap())["content"]),
        (&json!("a"), &json!("b"))
    );
    let refused = refused.unwrap_err();
    assert_eq!((refused.status, refused.code, refused.retry_after), (429, Some("rate_limited"), Some(1)));
    assert_eq!((during, counts(&server)), ((1, 1), (0, 0)));
}

#[tokio::test]
async fn who_goes_away_frees_the_place() {
    let server = server(teller([vec![Act::Hang], vec![Act::Say("Once"), Act::Hang]]));
    let asking = ask(&server, hi(json!({})));
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
