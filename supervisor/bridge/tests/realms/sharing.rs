//! What connections share in a realm, and what stays their own.

use std::sync::Arc;

use crate::support::{Client, Directory, Rewriting};
use oam_bridge::{Bridge, BridgeConfig};
use serde_json::{Value, json};

fn directory() -> Arc<Directory> {
    Directory::new(Rewriting::Never)
}

/// A session whose first step takes for ever, and whose others answer.
fn slow_session() -> Value {
    json!({"session": "gorm", "model": {"type": "scripted", "steps": [
        {"text": "never said", "delayMs": 3_600_000}, {"text": "Aye."}, {"text": "Nay."},
    ]}})
}

#[tokio::test]
async fn what_one_connection_makes_another_finds() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    one.call("session/create", json!({"session": "gorm", "model": "scripted"})).await;
    one.call("world/create", json!({"world": "inn", "state": {"fire": true}})).await;
    one.call(
        "npc/create",
        json!({"npc": "mira", "persona": {"name": "Mira"}, "world": "inn", "model": "scripted"}),
    )
    .await;
    assert_eq!(other.call("session/list", json!({})).await["sessions"][0]["session"], "gorm");
    assert_eq!(other.call("npc/list", json!({})).await["npcs"][0]["world"], "inn");
    assert_eq!(other.call("world/get", json!({"world": "inn", "path": "fire"})).await["value"], true);
    assert_eq!(
        other.try_call("session/create", json!({"session": "gorm"})).await.unwrap_err(),
        "session_exists"
    );
    let mut elsewhere = directory.client_in("hills").await;
    assert_eq!(elsewhere.call("session/list", json!({})).await["sessions"], json!([]));
    let mut alone = directory.client();
    assert_eq!(alone.call("session/list", json!({})).await["sessions"], json!([]));
}

#[tokio::test]
async fn who_makes_a_realm_is_told_so_once() {
    let directory = directory();
    let naming = json!({"client": {"realm": "valley"}});
    let mut maker = directory.client();
    assert_eq!(maker.call("initialize", naming.clone()).await["realmCreated"], true);
    assert_eq!(maker.call("initialize", naming.clone()).await.get("realmCreated"), None);
    let mut other = directory.client();
    assert_eq!(other.call("initialize", naming).await.get("realmCreated"), None);
    let mut alone = directory.client();
    assert_eq!(alone.call("initialize", json!({})).await.get("realmCreated"), None);
}

#[tokio::test]
async fn a_realm_is_named_once_and_before_anything_is_used() {
    let directory = directory();
    let naming = |realm: Value| json!({"client": {"realm": realm}});
    let mut client = directory.client();
    for refused in [json!(""), json!("a\u{7}b"), json!("x".repeat(129)), json!(7)] {
        assert_eq!(client.try_call("initialize", naming(refused)).await.unwrap_err(), "invalid_params");
    }
    assert_eq!(client.call("initialize", json!({})).await.get("realm"), None);
    client.join("valley").await;
    client.call("session/list", json!({})).await;
    client.join("valley").await;
    assert_eq!(client.call("initialize", json!({})).await["realm"], "valley");
    assert_eq!(client.try_call("initialize", naming(json!("hills"))).await.unwrap_err(), "invalid_params");

    let mut late = directory.client();
    late.call("world/list", json!({})).await;
    assert_eq!(late.try_call("initialize", naming(json!("valley"))).await.unwrap_err(), "invalid_params");
}

#[tokio::test]
async fn what_is_meant_for_a_realm_is_not_done_without_it() {
    let directory = directory();
    let mut client = directory.client();
    let naming = |realm: &str| json!({"client": {"realm": realm}});
    client.try_call("initialize", naming("")).await.unwrap_err();
    for (method, params) in [
        ("world/create", json!({"world": "inn"})),
        ("session/list", json!({})),
        ("decision/decide", json!({"situation": "Rain.", "options": ["stay"], "model": "scripted"})),
    ] {
        assert_eq!(client.try_call(method, params).await.unwrap_err(), "invalid_params", "{method}");
    }
    client.call("ping", json!({})).await;
    client.join("valley").await;
    client.call("world/create", json!({"world": "inn"})).await;

    let mut alone = directory.client();
    alone.try_call("initialize", naming("")).await.unwrap_err();
    alone.call("initialize", json!({})).await;
    assert_eq!(alone.call("world/list", json!({})).await["worlds"], json!([]));

    let mut member = directory.client_in("valley").await;
    member.try_call("initialize", naming("hills")).await.unwrap_err();
    assert_eq!(member.call("world/list", json!({})).await["worlds"][0]["world"], "inn");
}

/// Every way in which `initialize` is refused: what is sent, and the code of the error.
fn refusals() -> Vec<(String, &'static str)> {
    let request =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":"x","method":"initialize","params":{params}}}"#);
    let message = |members: &str| {
        format!(r#"{{{members},"method":"initialize","params":{{"client":{{"realm":"valley"}}}}}}"#)
    };
    let of_params = [
        r#"{"client":{"realm":""}}"#,
        r#"{"client":{"realm":"a\u0007b"}}"#,
        r#"{"client":{"realm":7}}"#,
        r#"{"client":{"realm":["valley"]}}"#,
        r#"{"client":{"realm":"valley"},"protocolVersion":"2.0"}"#,
        r#"{"client":{"realm":"valley"},"protocolVersion":1.0}"#,
        r#"{"client":{"realm":"valley","score":1e400}}"#,
        r#"{"client":{"realm":1e400}}"#,
        r#"{"client":{"realm":"valley"},"score":[0,-1e400]}"#,
        r#"{"client":1e400}"#,
        r#"{"client":[{"realm":"valley"}]}"#,
        r#"{"client":[]}"#,
        r#"{"client":"valley"}"#,
        r#"{"client":7}"#,
        r#"{"client":true}"#,
        r#"[{"client":{"realm":"valley"}}]"#,
        r#""valley""#,
        "7",
        "false",
        "1e400",
    ];
    let of_message = [
        r#""id":"x""#,
        r#""jsonrpc":"1.0","id":"x""#,
        r#""jsonrpc":2.0"#,
        r#""jsonrpc":"2.0","id":null"#,
        r#""jsonrpc":"2.0","id":[1]"#,
        r#""jsonrpc":"2.0","id":9007199254740992"#,
        r#""jsonrpc":"2.0","id":1e400"#,
    ];
    let of_params = of_params.map(|params| (request(params), "invalid_params"));
    let of_message = of_message.map(|members| (message(members), "invalid_message"));
    of_params.into_iter().chain(of_message).collect()
}

#[tokio::test]
async fn whatever_initialize_is_refused_for_the_next_one_decides_the_realm() {
    for (refused, code) in refusals() {
        let directory = directory();
        let world = json!({"world": "inn"});
        let mut client = directory.client();
        client.bridge.receive(refused.as_bytes());
        let error = client.next(|message| message.get("error").is_some()).await;
        assert_eq!(error["error"]["data"]["code"], code, "{refused}");
        for (method, params) in [("world/create", world.clone()), ("world/list", json!({}))] {
            assert_eq!(client.try_call(method, params).await.unwrap_err(), code, "{refused}: {method}");
        }
        client.call("ping", json!({})).await;
        client.join("valley").await;
        client.call("world/create", world.clone()).await;

        // A realm that is decided stays.
        client.bridge.receive(refused.as_bytes());
        assert_eq!(client.call("world/list", json!({})).await["worlds"][0]["world"], "inn", "{refused}");

        let mut alone = directory.client();
        alone.bridge.receive(refused.as_bytes());
        alone.call("initialize", json!({})).await;
        assert_eq!(alone.call("world/list", json!({})).await["worlds"], json!([]), "{refused}");
    }
}

#[tokio::test]
async fn a_notification_that_is_refused_decides_nothing_either() {
    let directory = directory();
    let mut client = directory.client();
    client.say(&json!({"jsonrpc": "2.0", "method": "initialize", "params": {"client": {"realm": ""}}}));
    assert_eq!(client.try_call("world/list", json!({})).await.unwrap_err(), "invalid_params");
    client.join("valley").await;
}

#[tokio::test]
async fn who_is_refused_without_asking_for_a_realm_goes_on_in_its_own() {
    for client_member in [json!(null), json!({}), json!({"name": "Game", "realm": null})] {
        let directory = directory();
        let mut client = directory.client();
        let asking = json!({"client": client_member, "protocolVersion": "2.0"});
        client.try_call("initialize", asking).await.unwrap_err();
        assert_eq!(client.call("world/list", json!({})).await["worlds"], json!([]));
    }
}

#[tokio::test]
async fn a_host_without_realms_says_where_they_are() {
    let mut client = Client::new(BridgeConfig::default());
    let id = client.send("initialize", &json!({"client": {"realm": "valley"}}));
    let answer = client.next(|message| message["id"] == id).await;
    assert_eq!(answer["error"]["data"]["code"], "invalid_params");
    assert!(answer["error"]["message"].as_str().unwrap().contains("oam stdio --connect"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_connection_cancels_its_own_operations_alone() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    one.call("session/create", slow_session()).await;
    let respond = json!({"session": "gorm", "prompt": "Hm?"});
    let running = one.send("session/respond", &json!({"session": "gorm", "prompt": "Hm?", "stream": true}));
    one.notification("session/event").await;
    // Behind the running operation: one of the other connection, then another of this one.
    let theirs = other.send("session/respond", &respond);
    let waiting = one.send("session/respond", &respond);
    one.bridge.shut_down().await;
    for cancelled in [running, waiting] {
        assert_eq!(one.answer(cancelled).await.unwrap_err(), "cancelled");
    }
    assert_eq!(other.answer(theirs).await.unwrap()["text"], "Aye.");
    assert_eq!(other.call("session/list", json!({})).await["sessions"][0]["pendingOperations"], 0);
    assert_eq!(directory.realm("valley").unwrap().overview().connections, 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_does_not_wait_for_the_operations_of_others() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    one.call(
        "session/create",
        json!({"session": "gorm", "model": {"type": "scripted", "steps": [
            {"text": "Aye."}, {"text": "at last", "delayMs": 60_000},
        ]}}),
    )
    .await;
    // The queue works itself off where it was empty: for the first one.
    let first = one.send("session/respond", &json!({"session": "gorm", "prompt": "Hm?"}));
    let slow = other.send("session/respond", &json!({"session": "gorm", "prompt": "And?"}));
    one.answer(first).await.unwrap();
    let before = tokio::time::Instant::now();
    one.bridge.shut_down().await;
    assert!(before.elapsed() < std::time::Duration::from_secs(1), "virtual time went by");
    drop(one);
    assert_eq!(other.answer(slow).await.unwrap()["text"], "at last");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_session_cancels_whoever_asked() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    one.call("session/create", slow_session()).await;
    let asked = [&mut one, &mut other]
        .map(|client| client.send("session/respond", &json!({"session": "gorm", "prompt": "Hm?"})));
    assert_eq!(other.call("session/cancel", json!({"session": "gorm"})).await["cancelled"], 2);
    assert_eq!(one.answer(asked[0]).await.unwrap_err(), "cancelled");
    assert_eq!(other.answer(asked[1]).await.unwrap_err(), "cancelled");
    let deleted = one.send("session/respond", &json!({"session": "gorm", "prompt": "Hm?"}));
    other.call("session/delete", json!({"session": "gorm"})).await;
    // Its step was quick: it was answered, or it was cancelled, but it is no more.
    let _ = one.answer(deleted).await;
    assert_eq!(
        one.try_call("session/transcript", json!({"session": "gorm"})).await.unwrap_err(),
        "session_not_found"
    );
}

#[tokio::test]
async fn a_tool_is_called_where_the_turn_was_asked_for() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    let step = json!({"toolCalls": [{"name": "look", "arguments": {}}]});
    one.call(
        "session/create",
        json!({"session": "gorm", "tools": [{"name": "look", "description": "Looks."}],
        "model": {"type": "scripted", "steps": [step, {"text": "Dark."}, step, {"text": "Still dark."}]}}),
    )
    .await;
    for (client, said) in [(&mut one, "Dark."), (&mut other, "Still dark.")] {
        let turn = client.send("session/respond", &json!({"session": "gorm", "prompt": "What do you see?"}));
        let call = client.next(|message| message["method"] == "tool/call").await;
        client.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"output": "nothing"}}));
        assert_eq!(client.answer(turn).await.unwrap()["text"], said);
    }
    assert_eq!((one.left(), other.left()), (vec![], vec![]));
}

#[tokio::test]
async fn subscriptions_belong_to_connections_and_end_with_the_world() {
    let directory = directory();
    let (mut one, mut other) = (directory.client_in("valley").await, directory.client_in("valley").await);
    one.call("world/create", json!({"world": "inn"})).await;
    for client in [&mut one, &mut other] {
        let subscribed = client.call("world/subscribe", json!({"world": "inn", "path": "fire"})).await;
        assert_eq!(subscribed["subscription"], "sub1");
    }
    one.call("world/subscribe", json!({"world": "inn"})).await;
    one.call("world/set", json!({"world": "inn", "path": "fire", "value": true})).await;
    assert_eq!(other.notification("world/changed").await["newValue"], true);
    let listed = other.call("world/list", json!({})).await;
    assert_eq!(listed["worlds"][0]["subscriptions"].as_array().unwrap().len(), 1);
    assert_eq!(other.call("world/delete", json!({"world": "inn"})).await["endedSubscriptions"], 3);
    one.left();
    one.call("world/create", json!({"world": "inn"})).await;
    one.call("world/set", json!({"world": "inn", "path": "fire", "value": false})).await;
    assert_eq!((one.left(), other.left()), (vec![], vec![]));
}

#[tokio::test]
async fn nothing_goes_on_in_a_realm_that_nobody_uses() {
    let directory = directory();
    let mut client = directory.client_in("valley").await;
    let slow = json!({"type": "scripted", "steps": [
        {"json": {"emotion": "happy", "line": "Hm.", "player_options": [], "ends_conversation": false}},
        {"text": "They met.", "delayMs": 3_600_000},
    ]});
    client
        .call(
            "npc/create",
            json!({"npc": "mira", "persona": {"name": "Mira"},
        "options": {"compactAfterTurns": 1, "keepRecentTurns": 0}, "model": slow}),
        )
        .await;
    client.call("npc/talk", json!({"npc": "mira", "line": "Hello."})).await;
    let journal = directory.journal("valley");
    client.bridge.shut_down().await;
    client.bridge.outbox().close();
    drop(client);
    directory.forget();
    // The summary that was being made would write its end into the journal.
    while Arc::strong_count(&journal) > 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_asked_of_a_bridge_that_is_dropped_is_done() {
    let bridge = Bridge::new(BridgeConfig::default(), |_| {});
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    for (method, params) in [
        ("session/create", json!({"session": "gorm", "model": "scripted"})),
        ("session/setInstructions", json!({"session": "gorm", "instructions": "Be brief."})),
        ("session/reset", json!({"session": "gorm"})),
    ] {
        let sender = sender.clone();
        bridge.call_then(method, Ok(Some(params)), None, move |end| sender.send(end.map(drop)).unwrap());
    }
    drop((bridge, sender));
    for _ in 0..3 {
        assert_eq!(answers.recv().await, Some(Ok(())));
    }
}

#[tokio::test]
async fn objects_outlive_the_connections_that_made_them() {
    let directory = directory();
    let mut one = directory.client_in("valley").await;
    one.call("world/create", json!({"world": "inn"})).await;
    one.call("world/subscribe", json!({"world": "inn"})).await;
    one.call("shutdown", json!({})).await;
    drop(one);
    let overview = directory.realm("valley").unwrap().overview();
    assert_eq!((overview.worlds, overview.connections), (1, 0));
    let mut other = directory.client_in("valley").await;
    assert_eq!(other.call("world/list", json!({})).await["worlds"][0]["subscriptions"], json!([]));
}
