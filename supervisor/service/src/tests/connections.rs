//! Who is served, and what is told of it.

use std::num::NonZeroUsize;

use serde_json::json;

use super::kit::{Home, start, system, until, within_patience};
use crate::{Service, ServiceConfig, ServiceLimits, service::System};

fn at_most(connections: usize) -> ServiceLimits {
    ServiceLimits { connections: NonZeroUsize::new(connections).unwrap(), ..ServiceLimits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_has_objects_of_its_own() {
    let home = Home::new();
    let service = home.start().await;
    let (mut one, mut other) = (home.connect().await, home.connect().await);
    for client in [&mut one, &mut other] {
        client.call("world/create", json!({"world": "w"})).await.unwrap();
    }
    one.finish().await;
    assert!(other.call("world/get", json!({"world": "w"})).await.is_ok());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_hears_why_and_is_ended() {
    let home = Home::new();
    let service = start(ServiceConfig { limits: at_most(2), ..home.config() }).await.unwrap();
    let (mut first, mut second) = (home.connect().await, home.connect().await);
    for client in [&mut first, &mut second] {
        client.call("ping", json!({})).await.unwrap();
    }
    let mut third = home.connect().await;
    third.send("ping", json!({})).await;
    let line = third.next().await.unwrap();
    assert_eq!(
        line,
        json!({"jsonrpc": "2.0", "id": null, "error": {
            "code": -32060,
            "message": "The service has 2 connections, and may have no more; try again later.",
            "data": {"code": "too_many_connections", "limit": 2, "retryable": true},
        }})
    );
    assert_eq!(third.next().await, None);
    first.finish().await;
    // The place is free once the service has seen the end.
    let mut is_served = false;
    while !is_served {
        let mut again = home.connect().await;
        again.send("ping", json!({})).await;
        is_served = again.next().await.unwrap()["error"].is_null();
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_service_can_still_be_asked_how_it_is_and_replaced() {
    let home = Home::new();
    let service = start(ServiceConfig { limits: at_most(1), ..home.config() }).await.unwrap();
    let mut only = home.connect().await;
    only.call("ping", json!({})).await.unwrap();
    let mut asker = home.connect().await;
    let status = asker.call("service/status", json!({})).await.unwrap();
    assert_eq!(status["connections"].as_array().unwrap().len(), 2);
    // As `oam service status` asks.
    let mut introduced = home.connect().await;
    introduced.send("initialize", json!({"client": {"name": "oam"}})).await;
    let status = introduced.call("service/status", json!({})).await.unwrap();
    assert_eq!(status["connections"].as_array().unwrap().len(), 3);
    let next = start(ServiceConfig { replace: true, ..home.config() }).await.unwrap();
    drop((only, asker, introduced));
    within_patience(service.stopped()).await;
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_not_served() {
    let home = Home::new();
    let foreign = System { peer_user: |_| Ok(nix::unistd::geteuid().as_raw() + 1), ..system() };
    let service = Service::start_on(home.config(), foreign).await.unwrap();
    let mut client = home.connect().await;
    assert_eq!(client.next().await, None);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_tells_who_is_connected_and_what_is_at_work() {
    let home = Home::new();
    let service = home.start().await;
    let (mut busy, mut asker) = (home.connect().await, home.connect().await);
    busy.call("initialize", json!({"client": {"name": "tavern", "version": "1.2"}})).await.unwrap();
    let slow =
        json!({"session": "s", "model": {"type": "scripted", "steps": [{"text": "…", "delayMs": 600_000}]}});
    busy.call("session/create", slow).await.unwrap();
    busy.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    let mut status = json!(null);
    within_patience(async {
        while status["connections"][0]["busy"] != 1 {
            status = asker.call("service/status", json!({})).await.unwrap();
        }
    })
    .await;
    let connections = status["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 2);
    assert_eq!(connections[0]["client"], json!({"name": "tavern", "version": "1.2"}));
    assert_eq!(connections[0]["pid"], std::process::id());
    assert_eq!((&connections[1]["client"], &connections[1]["busy"]), (&json!(null), &json!(0)));
    assert_eq!((&connections[0]["isOwn"], &connections[1]["isOwn"]), (&json!(false), &json!(true)));
    assert_eq!(status["pid"], std::process::id());
    assert_eq!(status["state"], "serving");
    assert_eq!(status["store"]["state"], "open");
    assert_eq!(status["maxConnections"], 64);
    drop((busy, asker));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_known_although_it_is_refused() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    for (refused, known) in [
        (json!({"client": "tavern"}), json!(null)),
        (json!({"client": {"name": "tavern"}, "protocolVersion": "2.0"}), json!("tavern")),
        (json!({"client": {"name": "other", "realm": ""}}), json!("other")),
        (json!({"client": ["tavern"]}), json!("other")),
    ] {
        client.call("initialize", refused).await.unwrap_err();
        let status = client.call("service/status", json!({})).await.unwrap();
        assert_eq!(status["connections"][0]["client"]["name"], known);
    }
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_limits_hold_for_new_connections() {
    let home = Home::new();
    let service = start(ServiceConfig { limits: at_most(1), ..home.config() }).await.unwrap();
    let mut first = home.connect().await;
    let initialized = first.call("initialize", json!({})).await.unwrap();
    assert_eq!(initialized["capabilities"]["maxSessions"], 64);
    let bridge = oam_bridge::BridgeConfig { max_sessions: 5, ..Default::default() };
    service.reload(at_most(2), bridge);
    let mut second = home.connect().await;
    let initialized = second.call("initialize", json!({})).await.unwrap();
    assert_eq!(initialized["capabilities"]["maxSessions"], 5);
    assert_eq!(first.call("initialize", json!({})).await.unwrap()["capabilities"]["maxSessions"], 64);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_that_died_had_asked_for_is_cancelled() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    let slow =
        json!({"session": "s", "model": {"type": "scripted", "steps": [{"text": "…", "delayMs": 600_000}]}});
    client.call("session/create", slow).await.unwrap();
    client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    drop(client);
    until(|| service.open_connections() == 0).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocol_names_every_member_of_the_status() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/PROTOCOL.md")).unwrap();
    let (_, section) = text.split_once("### The service's methods").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    let status = client.call("service/status", json!({})).await.unwrap();
    let objects = [&status, &status["connections"][0], &status["realms"][0], &status["store"]];
    for name in objects.iter().flat_map(|object| object.as_object().unwrap().keys()) {
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
    drop(client);
    service.stop().await;
}
