//! What connections share, and what is there afterwards.

use std::{num::NonZeroUsize, time::Duration};

use serde_json::json;

use super::{
    kit::{Home, start, until, within_patience},
    starts::in_a_process_of_its_own,
};
use crate::{ServiceConfig, ServiceLimits, StopReason};

#[tokio::test(flavor = "multi_thread")]
async fn connections_in_a_realm_share_its_objects() {
    let home = Home::new();
    let service = home.start().await;
    let (mut one, mut other) = (home.connect().await, home.connect().await);
    assert_eq!(one.enter("castle").await.unwrap()["realm"], "castle");
    other.enter("castle").await.unwrap();
    one.call("world/create", json!({"world": "w", "state": {"gold": 3}})).await.unwrap();
    other.call("world/set", json!({"world": "w", "path": "gold", "value": 4})).await.unwrap();
    let seen = one.call("world/get", json!({"world": "w", "path": "gold"})).await.unwrap();
    assert_eq!(seen["value"], 4);
    drop((one, other));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_outlives_its_connections_and_the_service() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("world/create", json!({"world": "w", "state": {"gold": 3}})).await.unwrap();
    client.finish().await;
    until(|| service.open_connections() == 0).await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    assert_eq!(client.call("world/get", json!({"world": "w"})).await.unwrap()["value"], json!({"gold": 3}));
    client.call("world/set", json!({"world": "w", "path": "gold", "value": 5})).await.unwrap();
    drop(client);
    service.stop().await;

    let service = home.start().await;
    let mut client = home.connect().await;
    let status = client.call("service/status", json!({})).await.unwrap();
    assert_eq!(
        (&status["realms"][0]["name"], &status["realms"][0]["isLoaded"]),
        (&json!("castle"), &json!(false))
    );
    client.enter("castle").await.unwrap();
    assert_eq!(client.call("world/get", json!({"world": "w"})).await.unwrap()["value"], json!({"gold": 5}));
    let status = client.call("service/status", json!({})).await.unwrap();
    assert_eq!(status["realms"][0]["worlds"], 1);
    assert_eq!(status["connections"][0]["realm"], "castle");
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_is_new_to_who_names_it_first_and_never_again() {
    let home = Home::new();
    let service = home.start().await;
    let (mut one, mut other) = (home.connect().await, home.connect().await);
    assert_eq!(one.enter("castle").await.unwrap()["realmCreated"], true);
    assert_eq!(one.enter("castle").await.unwrap().get("realmCreated"), None);
    assert_eq!(other.enter("castle").await.unwrap().get("realmCreated"), None);
    drop((one, other));
    service.stop().await;

    let service = home.start().await;
    let (mut same, mut misspelt) = (home.connect().await, home.connect().await);
    assert_eq!(same.enter("castle").await.unwrap().get("realmCreated"), None);
    assert_eq!(misspelt.enter("caslte").await.unwrap()["realmCreated"], true);
    let mut looker = home.connect().await;
    looker.call("service/deleteRealm", json!({"realm": "castle"})).await.unwrap_err();
    drop(same);
    until(|| service.open_connections() == 2).await;
    looker.call("service/deleteRealm", json!({"realm": "castle"})).await.unwrap();
    assert_eq!(looker.enter("castle").await.unwrap()["realmCreated"], true);
    drop((misspelt, looker));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_service_had_answered_is_there() {
    let home = Home::new();
    let mut killed = in_a_process_of_its_own(&home).await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("world/create", json!({"world": "w"})).await.unwrap();
    for gold in 1..=20 {
        client.call("world/set", json!({"world": "w", "path": "gold", "value": gold})).await.unwrap();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    assert_eq!(client.call("world/get", json!({"world": "w"})).await.unwrap()["value"], json!({"gold": 20}));
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_realm_is_deleted_when_nobody_uses_it() {
    let home = Home::new();
    let service = home.start().await;
    let (mut user, mut other) = (home.connect().await, home.connect().await);
    user.enter("castle").await.unwrap();
    user.call("world/create", json!({"world": "w"})).await.unwrap();
    let error = other.call("service/deleteRealm", json!({"realm": "castle"})).await.unwrap_err();
    assert_eq!(
        error,
        json!({
            "code": -32063,
            "message": "Realm 'castle' is in use (1 connections); end them first.",
            "data": {"code": "realm_in_use", "realm": "castle", "connections": 1},
        })
    );
    user.finish().await;
    until(|| service.open_connections() == 1).await;
    within_patience(async {
        while other.call("service/deleteRealm", json!({"realm": "castle"})).await.is_err() {}
    })
    .await;
    let error = other.call("service/deleteRealm", json!({"realm": "castle"})).await.unwrap_err();
    assert_eq!(error["data"]["code"], "realm_not_found");
    other.enter("castle").await.unwrap();
    assert_eq!(other.call("world/list", json!({})).await.unwrap()["worlds"], json!([]));
    drop(other);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_more_realms_than_there_may_be() {
    let home = Home::new();
    let limits = ServiceLimits { realms: NonZeroUsize::new(1).unwrap(), ..ServiceLimits::default() };
    let service = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    home.connect().await.enter("one").await.unwrap();
    let error = home.connect().await.enter("two").await.unwrap_err();
    assert_eq!((&error["data"]["code"], &error["data"]["limit"]), (&json!("limit_reached"), &json!(1)));
    home.connect().await.enter("one").await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_connections_are_served_and_realms_tell_why_not() {
    let home = Home::new();
    let held = oam_store::Store::open(&home.path().join("data")).unwrap();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.call("world/create", json!({"world": "w"})).await.unwrap();
    client.finish().await;
    let mut client = home.connect().await;
    let error = client.enter("castle").await.unwrap_err();
    let message = format!(
        "Realm 'castle' cannot be opened: {} is in use by process {}.",
        home.path().join("data").display(),
        std::process::id()
    );
    assert_eq!((&error["data"]["code"], &error["message"]), (&json!("storage_failed"), &json!(message)));
    let status = client.call("service/status", json!({})).await.unwrap();
    assert_eq!(status["store"]["state"], "failed");
    held.close().unwrap();
    client.enter("castle").await.unwrap();
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn realms_move_to_the_service_that_takes_over() {
    let home = Home::new();
    let old = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("world/create", json!({"world": "w", "state": {"gold": 3}})).await.unwrap();
    let new = within_patience(start(ServiceConfig { replace: true, ..home.config() })).await.unwrap();
    // Whoever is in a realm of the old one is sent away, and finds everything at the new one.
    let mut again = home.connect().await;
    again.enter("castle").await.unwrap();
    assert_eq!(client.next().await, None);
    assert_eq!(again.call("world/get", json!({"world": "w"})).await.unwrap()["value"], json!({"gold": 3}));
    assert_eq!(within_patience(old.stopped()).await, StopReason::HandedOver);
    drop(again);
    new.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_enter_and_leave_at_once_find_one_realm() {
    let home = Home::new();
    let service = home.start().await;
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let socket = home.socket();
            tokio::spawn(async move {
                for round in 0..5 {
                    let mut client = super::kit::Client::connect(&socket).await;
                    client.enter("castle").await.unwrap();
                    let world = format!("w{number}-{round}");
                    client.call("world/create", json!({"world": world})).await.unwrap();
                    client.finish().await;
                }
            })
        })
        .collect();
    for task in tasks {
        within_patience(task).await.unwrap();
    }
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    let worlds = client.call("world/list", json!({})).await.unwrap();
    assert_eq!(worlds["worlds"].as_array().unwrap().len(), 40);
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_with_a_realm_in_no_use_ends_and_keeps_it() {
    let home = Home::new();
    let limits = ServiceLimits { idle_exit: Some(Duration::from_millis(50)), ..ServiceLimits::default() };
    let service = start(ServiceConfig { limits, ..home.config() }).await.unwrap();
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("world/create", json!({"world": "w"})).await.unwrap();
    client.finish().await;
    assert_eq!(within_patience(service.stopped()).await, StopReason::Idle);
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    assert!(client.call("world/get", json!({"world": "w"})).await.is_ok());
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_go_on_after_a_restart() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    let script = json!({"type": "scripted", "steps": [{"text": "One."}, {"text": "Two."}]});
    client.call("session/create", json!({"session": "s", "model": script})).await.unwrap();
    client.call("session/respond", json!({"session": "s", "prompt": "go"})).await.unwrap();
    let mira = json!({"npc": "mira", "persona": {"name": "Mira", "role": "innkeeper"}, "model": script});
    client.call("npc/create", mira).await.unwrap();
    let transcript = client.call("session/transcript", json!({"session": "s"})).await.unwrap();
    let state = client.call("npc/state", json!({"npc": "mira"})).await.unwrap();
    drop(client);
    service.stop().await;

    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    assert_eq!(client.call("session/transcript", json!({"session": "s"})).await.unwrap(), transcript);
    assert_eq!(client.call("npc/state", json!({"npc": "mira"})).await.unwrap(), state);
    let answer = client.call("session/respond", json!({"session": "s", "prompt": "on"})).await.unwrap();
    assert_eq!(answer["text"], "Two.");
    // Nobody keeps it in memory.
    client.finish().await;
    until(|| service.open_connections() == 0).await;
    let mut other = home.connect().await;
    within_patience(async {
        while other.call("service/deleteRealm", json!({"realm": "castle"})).await.is_err() {}
    })
    .await;
    drop(other);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_a_client_that_left_a_realm_keeps_nothing_and_nobody_waits_for_it() {
    let home = Home::new();
    let service = home.start().await;
    let (mut gone, mut other) = (home.connect().await, home.connect().await);
    for client in [&mut gone, &mut other] {
        client.enter("castle").await.unwrap();
    }
    let slow = json!({"type": "scripted", "steps": [{"text": "Never.", "delayMs": 600_000}]});
    gone.call("session/create", json!({"session": "s", "model": slow})).await.unwrap();
    gone.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    gone.call("ping", json!({})).await.unwrap();
    drop(gone);
    within_patience(other.call("session/reset", json!({"session": "s"}))).await.unwrap();
    drop(other);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_in_a_realm_ends_before_the_realm_moves() {
    let home = Home::new();
    let old = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    let slow = json!({"type": "scripted", "steps": [{"text": "Done.", "delayMs": 300}]});
    client.call("session/create", json!({"session": "s", "model": slow})).await.unwrap();
    let turn = client.send("session/respond", json!({"session": "s", "prompt": "go"})).await;
    client.call("ping", json!({})).await.unwrap();
    let new = within_patience(start(ServiceConfig { replace: true, ..home.config() })).await.unwrap();
    let mut again = home.connect().await;
    let (answer, entered) = tokio::join!(client.answer(turn), again.enter("castle"));
    assert_eq!((&answer.unwrap()["text"], entered.is_ok()), (&json!("Done."), true));
    let transcript = again.call("session/transcript", json!({"session": "s"})).await.unwrap();
    assert!(transcript.to_string().contains("Done."), "{transcript}");
    within_patience(old.stopped()).await;
    drop(again);
    new.stop().await;
}
