//! One service takes the place of another.

use std::{os::unix::net::UnixListener, time::Duration};

use serde_json::json;

use super::kit::{Home, start, within_patience};
use crate::{ServiceConfig, ServiceError, ServiceLimits, StopReason};

fn replacing(home: &Home) -> ServiceConfig {
    ServiceConfig { replace: true, ..home.config() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_new_one_serves_at_once_and_the_old_one_ends_its_turns() {
    let home = Home::new();
    let old = home.start().await;
    let mut client = home.connect().await;
    let slow =
        json!({"session": "s", "model": {"type": "scripted", "steps": [{"text": "Done.", "delayMs": 300}]}});
    client.call("session/create", slow).await.unwrap();
    let turn = client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    let new = within_patience(start(replacing(&home))).await.unwrap();
    assert_eq!(new.socket_path(), home.socket());
    let mut served = home.connect().await;
    served.call("ping", json!({})).await.unwrap();
    assert_eq!(new.open_connections(), 1);
    assert_eq!(client.answer(turn).await.unwrap()["text"], "Done.");
    client.finish().await;
    assert_eq!(within_patience(old.stopped()).await, StopReason::HandedOver);
    drop(old);
    assert!(home.socket().exists(), "the socket is the new one's");
    home.connect().await.call("ping", json!({})).await.unwrap();
    drop(served);
    new.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_one_to_replace_it_just_starts() {
    let home = Home::new();
    let service = start(replacing(&home)).await.unwrap();
    home.connect().await.call("ping", json!({})).await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_stay_are_ended_when_the_time_is_over() {
    let home = Home::new();
    let limits = ServiceLimits { drain: Duration::from_millis(50), ..ServiceLimits::default() };
    let old = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    let mut client = home.connect().await;
    client.call("ping", json!({})).await.unwrap();
    let new = start(replacing(&home)).await.unwrap();
    assert_eq!(client.next().await, None);
    assert_eq!(within_patience(old.stopped()).await, StopReason::HandedOver);
    new.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_successor_that_dies_on_the_way_changes_nothing() {
    let home = Home::new();
    let service = home.start().await;
    let mut successor = home.connect().await;
    successor.call("service/handover", json!({})).await.unwrap();
    let mut other = home.connect().await;
    let error = other.call("service/handover", json!({})).await.unwrap_err();
    assert_eq!(error["data"]["code"], "handover_refused");
    successor.finish().await;
    other.call("ping", json!({})).await.unwrap();
    within_patience(async { while other.call("service/handover", json!({})).await.is_err() {} }).await;
    assert_eq!(other.call("service/status", json!({})).await.unwrap()["state"], "serving");
    other.finish().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_one_removes_what_a_successor_that_was_killed_left_behind() {
    let home = Home::new();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let beside = |pid: u32| home.path().join(format!("oam.sock.{pid}"));
    let leave = |path: &std::path::Path| drop(UnixListener::bind(path).unwrap());
    let living = beside(std::os::unix::process::parent_id());
    let other = home.path().join(format!("other.sock.{}", dead.id()));
    leave(&living);
    leave(&other);

    leave(&beside(dead.id()));
    let first = home.start().await;
    assert!(!beside(dead.id()).exists());
    leave(&beside(dead.id()));
    let second = start(replacing(&home)).await.unwrap();
    within_patience(first.stopped()).await;
    assert!(!beside(dead.id()).exists());
    second.stop().await;

    let listener = UnixListener::bind(beside(dead.id())).unwrap();
    home.start().await.stop().await;
    drop(listener);
    assert!([beside(dead.id()), living, other].iter().all(|path| path.exists()));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_successor_waits_for_the_lock_others_hear_that_a_service_serves() {
    let home = Home::new();
    let successor = tokio::net::UnixListener::bind(home.socket()).unwrap();
    let starting = tokio::spawn(start(home.config()));
    // It looks who is there, with the lock in its hands.
    successor.accept().await.unwrap();
    let mut lock = None;
    super::kit::until(|| {
        lock = oam_store::ProcessLock::take(&crate::paths::lock_file(&home.socket())).ok();
        lock.is_some()
    })
    .await;
    let error = within_patience(starting).await.unwrap().unwrap_err();
    assert!(matches!(error, ServiceError::AlreadyRunning { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_connects_meanwhile_is_refused() {
    let home = Home::new();
    let mut services = vec![home.start().await];
    let socket = home.socket();
    let stop = tokio_util::sync::CancellationToken::new();
    let connecting = tokio::spawn({
        let stop = stop.clone();
        async move {
            let mut count = 0;
            while !stop.is_cancelled() {
                let mut client = super::kit::Client::connect(&socket).await;
                client.call("ping", json!({})).await.unwrap();
                count += 1;
            }
            count
        }
    });
    for _ in 0..5 {
        services.push(within_patience(start(replacing(&home))).await.unwrap());
    }
    stop.cancel();
    assert!(connecting.await.unwrap() > 0);
    for service in &services[..5] {
        assert_eq!(within_patience(service.stopped()).await, StopReason::HandedOver);
    }
    services.pop().unwrap().stop().await;
}
