//! How a service ends.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;

use super::kit::{Home, Shared, start, system, until, within_patience};
use crate::{Service, ServiceConfig, ServiceLimits, StopReason, manager::ManagerLink, service::System};

fn slow_session(delay: u64) -> serde_json::Value {
    json!({"session": "s", "model": {"type": "scripted", "steps": [{"text": "Done.", "delayMs": delay}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_runs_ends_before_the_service_does() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.call("session/create", slow_session(300)).await.unwrap();
    let turn = client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    let (answer, ()) = within_patience(async { tokio::join!(client.answer(turn), service.stop()) }).await;
    assert_eq!(answer.unwrap()["text"], "Done.");
    assert_eq!(client.next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_starts_meanwhile_waits_for_the_end() {
    let home = Home::new();
    let old = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("session/create", slow_session(300)).await.unwrap();
    let turn = client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    let follow = async {
        until(|| !home.socket().exists()).await;
        home.start().await
    };
    let (answer, (), new) =
        within_patience(async { tokio::join!(client.answer(turn), old.stop(), follow) }).await;
    assert_eq!(answer.unwrap()["text"], "Done.");
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    let seen = client.call("session/transcript", json!({"session": "s"})).await.unwrap();
    assert!(seen.to_string().contains("Done."), "{seen}");
    new.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_socket_is_removed_ends() {
    let home = Home::new();
    let service = home.start().await;
    let client = home.connect().await;
    std::fs::remove_file(home.socket()).unwrap();
    let reason = within_patience(service.stopped()).await;
    assert!(matches!(&reason, StopReason::Failed(why) if why.contains("was removed")), "{reason:?}");
    drop(client);
    home.start().await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_longer_than_it_may_is_cancelled_and_answered() {
    let home = Home::new();
    let limits = ServiceLimits { drain: Duration::from_millis(50), ..ServiceLimits::default() };
    let service = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    let mut client = home.connect().await;
    client.call("session/create", slow_session(600_000)).await.unwrap();
    let turn = client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    let (answer, ()) = within_patience(async { tokio::join!(client.answer(turn), service.stop()) }).await;
    assert_eq!(answer.unwrap_err()["data"]["code"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_does_not_hold_the_end_up() {
    let home = Home::new();
    let limits = ServiceLimits { drain: Duration::ZERO, ..ServiceLimits::default() };
    let service = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    let mut client = home.connect().await;
    client.call("world/create", json!({"world": "w", "state": {"text": "x".repeat(1 << 20)}})).await.unwrap();
    for _ in 0..4 {
        client.send("world/get", json!({"world": "w"})).await;
    }
    within_patience(service.stop()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_ends_everything_at_once() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.call("session/create", slow_session(600_000)).await.unwrap();
    client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    service.cut();
    assert_eq!(client.next().await, None);
    within_patience(service.stop()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_nobody_uses_ends() {
    let home = Home::new();
    let limits = ServiceLimits { idle_exit: Some(Duration::from_millis(100)), ..ServiceLimits::default() };
    let service = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    let mut client = home.connect().await;
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.call("ping", json!({})).await.unwrap();
    }
    client.finish().await;
    assert_eq!(within_patience(service.stopped()).await, StopReason::Idle);
    assert!(!home.socket().exists());
}

/// What a manager was told.
fn told() -> (Shared<Vec<String>>, impl Fn(&[sd_notify::NotifyState<'_>]) + Send + Sync + 'static) {
    let told = Shared::<Vec<String>>::default();
    let news = Arc::clone(&told);
    let tell = move |states: &[sd_notify::NotifyState<'_>]| {
        let mut told = news.lock().unwrap();
        let words = states.iter().map(ToString::to_string);
        told.extend(words.filter(|word| !word.starts_with("STATUS") && !word.starts_with("MONOTONIC")));
    };
    (told, tell)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manager_hears_when_the_service_is_ready_reloads_and_stops() {
    let home = Home::new();
    let (told, tell) = told();
    let system = System { manager: ManagerLink::of_test(None, tell), ..system() };
    let service = Service::start_on(home.config(), system).await.unwrap();
    service.reload(ServiceLimits::default(), oam_bridge::BridgeConfig::default());
    service.stop().await;
    assert_eq!(*told.lock().unwrap(), ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_fed_while_all_is_well() {
    let home = Home::new();
    let (told, tell) = told();
    let system = System { manager: ManagerLink::of_test(Some(Duration::from_millis(20)), tell), ..system() };
    let service = Service::start_on(home.config(), system).await.unwrap();
    let fed =
        |told: &Mutex<Vec<String>>| told.lock().unwrap().iter().filter(|word| *word == "WATCHDOG=1").count();
    super::kit::until(|| fed(&told) >= 3).await;
    service.stop().await;
}
