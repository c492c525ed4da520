//! Subscriptions: who hears of which changes of a world, when, and in which order.

use oam_tests::{Id, Oam};
use serde_json::{Value, json};

fn with_world(state: Value) -> Oam {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w", "state": state}));
    oam
}

fn subscribe(oam: &mut Oam, path: &str) -> String {
    let result = oam.ok("world/subscribe", json!({"world": "w", "path": path}));
    result["subscription"].as_str().unwrap().to_owned()
}

/// Sends a write, and returns the `params` of the notifications that came before its answer, as they were written.
fn changes_of(oam: &mut Oam, method: &str, params: Value) -> Vec<String> {
    let mut all = json!({"world": "w"});
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    let before = oam.messages().len();
    let id = oam.request(method, all);
    oam.wait_ok(&id);
    oam.settle();
    let answer = oam.answer_position(&id);
    let messages = &oam.messages()[before..];
    let changed = messages.iter().filter(|message| message.method() == Some("world/changed"));
    let params: Vec<_> = changed.map(|message| message.value["params"].to_string()).collect();
    let early = oam.messages()[before..answer].len();
    assert_eq!(
        params.len(),
        early,
        "nothing but the notifications comes before the answer, and none comes after"
    );
    params
}

#[test]
fn a_change_is_told_to_each_subscription_before_the_answer() {
    let mut oam = with_world(json!({"player": {"gold": 60}}));
    let subscribed = oam.ok("world/subscribe", json!({"world": "w", "path": "player[gold]"}));
    assert_eq!(subscribed.to_string(), r#"{"subscription":"sub1","world":"w","path":"player[gold]"}"#);
    assert_eq!(
        oam.ok("world/subscribe", json!({"world": "w"})).to_string(),
        r#"{"subscription":"sub2","world":"w","path":""}"#
    );
    assert_eq!(
        changes_of(&mut oam, "world/set", json!({"path": "/player/gold", "value": 45})),
        [
            r#"{"world":"w","subscription":"sub1","path":"player.gold","oldValue":60,"newValue":45}"#,
            r#"{"world":"w","subscription":"sub2","path":"player.gold","oldValue":60,"newValue":45}"#,
        ]
    );
}

#[test]
fn created_values_have_no_old_one_and_removed_ones_no_new_one() {
    let mut oam = with_world(json!({"party": ["a", "b"]}));
    subscribe(&mut oam, "");
    for (method, params, expected) in [
        ("world/set", json!({"path": "horse", "value": null}), r#""path":"horse","newValue":null"#),
        ("world/set", json!({"path": "horse", "value": 1}), r#""path":"horse","oldValue":null,"newValue":1"#),
        ("world/remove", json!({"path": "horse"}), r#""path":"horse","oldValue":1"#),
        ("world/set", json!({"path": "a.b.c", "value": 1}), r#""path":"a.b.c","newValue":1"#),
        ("world/set", json!({"path": "party[2]", "value": "c"}), r#""path":"party.2","newValue":"c""#),
        (
            "world/set",
            json!({"path": "party.3.name", "value": "d"}),
            r#""path":"party.3.name","newValue":"d""#,
        ),
        ("world/remove", json!({"path": "party.1"}), r#""path":"party.1","oldValue":"b""#),
    ] {
        let changes = changes_of(&mut oam, method, params);
        assert_eq!(changes, [format!(r#"{{"world":"w","subscription":"sub1",{expected}}}"#)]);
    }
}

#[test]
fn a_subscription_hears_of_its_path_what_is_inside_and_what_is_above() {
    let mut oam = with_world(json!({"player": {"gold": 12, "name": "Aria"}, "players": 2, "quests": {}}));
    for path in ["player", "player.gold", "quests", "deep.down"] {
        subscribe(&mut oam, path);
    }
    let told = |changes: Vec<String>| -> Vec<String> {
        let short = |change: &String| {
            let change: Value = serde_json::from_str(change).unwrap();
            format!("{} {}", change["subscription"].as_str().unwrap(), change["path"].as_str().unwrap())
        };
        changes.iter().map(short).collect()
    };
    for (path, value, expected) in [
        ("player.gold", json!(50), vec!["sub1 player.gold", "sub2 player.gold"]),
        ("player.name", json!("Mira"), vec!["sub1 player.name"]),
        ("player.goldfish", json!(1), vec!["sub1 player.goldfish"]),
        ("players", json!(3), vec![]),
        ("player", json!({"gold": {"coins": 1}}), vec!["sub1 player", "sub2 player"]),
        ("player.gold.coins", json!(2), vec!["sub1 player.gold.coins", "sub2 player.gold.coins"]),
        ("", json!({"b": 2}), vec!["sub1 ", "sub2 ", "sub3 ", "sub4 "]),
    ] {
        let changes = changes_of(&mut oam, "world/set", json!({"path": path, "value": value}));
        assert_eq!(told(changes), expected, "{path:?}");
    }
}

#[test]
fn a_change_above_reports_the_values_of_the_ancestor() {
    let mut oam = with_world(json!({"a": 1}));
    subscribe(&mut oam, "deep.down");
    assert_eq!(
        changes_of(&mut oam, "world/set", json!({"value": {"b": 2}})),
        [r#"{"world":"w","subscription":"sub1","path":"","oldValue":{"a":1},"newValue":{"b":2}}"#]
    );
    assert_eq!(
        changes_of(&mut oam, "world/remove", json!({"path": ""})),
        [r#"{"world":"w","subscription":"sub1","path":"","oldValue":{"b":2}}"#]
    );
    assert!(changes_of(&mut oam, "world/remove", json!({"path": ""})).is_empty());
}

#[test]
fn a_merge_tells_each_changed_leaf_in_the_order_of_the_patch() {
    let mut oam =
        with_world(json!({"player": {"name": "Aria", "gold": 12, "hp": 30}, "day": 1, "bag": {"a": 1}}));
    subscribe(&mut oam, "player");
    subscribe(&mut oam, "");
    subscribe(&mut oam, "player.gold");
    let patch = json!({
        "day": 2,
        "player": {"title": {"short": "K", "long": null}, "gold": 20, "name": "Aria", "hp": null, "mana": null},
        "bag": ["x"],
    });
    let change = |subscription: u8, rest: &str| {
        format!(r#"{{"world":"w","subscription":"sub{subscription}",{rest}}}"#)
    };
    let title = r#""path":"player.title","newValue":{"short":"K"}"#;
    let gold = r#""path":"player.gold","oldValue":12,"newValue":20"#;
    let hp = r#""path":"player.hp","oldValue":30"#;
    assert_eq!(
        changes_of(&mut oam, "world/merge", json!({"patch": patch})),
        [
            change(2, r#""path":"day","oldValue":1,"newValue":2"#),
            change(1, title),
            change(2, title),
            change(1, gold),
            change(2, gold),
            change(3, gold),
            change(1, hp),
            change(2, hp),
            change(2, r#""path":"bag","oldValue":{"a":1},"newValue":["x"]"#),
        ]
    );
}

#[test]
fn writes_that_change_nothing_are_not_told() {
    let mut oam = with_world(json!({"a": {"x": 1, "y": 2}}));
    subscribe(&mut oam, "");
    for (method, params) in [
        ("world/set", json!({"path": "a", "value": {"y": 2.0, "x": 1}})),
        ("world/merge", json!({"patch": {"a": {"x": 1}, "b": null}})),
        ("world/remove", json!({"path": "b"})),
    ] {
        assert!(changes_of(&mut oam, method, params).is_empty(), "{method}");
    }
    oam.fails("world/set", json!({"world": "w", "path": "a.x.z", "value": 1}));
    oam.fails("world/merge", json!({"world": "w", "patch": 5}));
    assert_eq!(oam.count("world/changed"), 0);
}

#[test]
fn subscriptions_are_made_and_ended_one_by_one() {
    let mut oam = with_world(json!({}));
    assert_eq!([subscribe(&mut oam, "x"), subscribe(&mut oam, "x")], ["sub1", "sub2"]);
    assert_eq!(changes_of(&mut oam, "world/set", json!({"path": "x", "value": 1})).len(), 2);
    assert_eq!(
        oam.ok("world/unsubscribe", json!({"subscription": "sub1"})).to_string(),
        r#"{"subscription":"sub1","world":"w","path":"x","unsubscribed":true}"#
    );
    let error = oam.fails("world/unsubscribe", json!({"subscription": "sub1"}));
    assert_eq!((error.code, error.name.as_str()), (-32056, "subscription_not_found"));
    assert_eq!(error.data["subscription"], "sub1");
    assert_eq!(subscribe(&mut oam, "x"), "sub3", "ids are not used again");
    let changes = changes_of(&mut oam, "world/set", json!({"path": "x", "value": 2}));
    assert!(changes[0].contains("sub2") && changes[1].contains("sub3"), "{changes:?}");
    for params in [json!({}), json!({"subscription": 1}), json!({"subscription": null})] {
        let error = oam.fails("world/unsubscribe", params);
        assert_eq!((error.code, error.message.contains("'subscription'")), (-32602, true));
    }
}

#[test]
fn a_deleted_world_ends_its_subscriptions_and_no_others() {
    let mut oam = with_world(json!({"x": 1}));
    oam.ok("world/create", json!({"world": "other", "state": {"x": 1}}));
    subscribe(&mut oam, "x");
    oam.ok("world/subscribe", json!({"world": "other", "path": "x"}));
    subscribe(&mut oam, "");
    assert_eq!(oam.ok("world/delete", json!({"world": "w"}))["endedSubscriptions"], 2);
    assert_eq!(
        oam.fails("world/unsubscribe", json!({"subscription": "sub1"})).name,
        "subscription_not_found"
    );
    oam.ok("world/create", json!({"world": "w"}));
    assert!(changes_of(&mut oam, "world/set", json!({"path": "x", "value": 1})).is_empty());
    let changes = changes_of(&mut oam, "world/set", json!({"world": "other", "path": "x", "value": 2}));
    assert_eq!(changes, [r#"{"world":"other","subscription":"sub2","path":"x","oldValue":1,"newValue":2}"#]);
}

#[test]
fn there_may_be_256_subscriptions() {
    let mut oam = with_world(json!({}));
    oam.ok("world/create", json!({"world": "other"}));
    let ids: Vec<Id> = (0..256)
        .map(|number| {
            oam.request(
                "world/subscribe",
                json!({"world": (if number % 2 == 0 { "w" } else { "other" }), "path": "p"}),
            )
        })
        .collect();
    for id in ids {
        oam.wait_ok(&id);
    }
    let error = oam.fails("world/subscribe", json!({"world": "w"}));
    assert_eq!((error.code, error.name.as_str()), (-32055, "limit_reached"));
    assert_eq!(
        (error.message.as_str(), &error.data["limit"]),
        ("The limit of 256 world subscriptions is reached; delete some first.", &json!(256))
    );
    assert_eq!(oam.fails("world/subscribe", json!({"world": "x"})).name, "world_not_found");
    assert_eq!(oam.fails("world/subscribe", json!({"world": "w", "path": "a..b"})).name, "world_error");
    oam.ok("world/unsubscribe", json!({"subscription": "sub1"}));
    subscribe(&mut oam, "p");
    oam.ok("world/delete", json!({"world": "other"}));
    subscribe(&mut oam, "p");
}

#[test]
fn notifications_without_an_answer_take_effect_and_are_told() {
    let mut oam = with_world(json!({"x": 1}));
    subscribe(&mut oam, "x");
    oam.notify("world/set", json!({"world": "w", "path": "x", "value": 2}));
    oam.notify("world/set", json!({"world": "ghost", "path": "x", "value": 2}));
    oam.notify("world/merge", json!({"world": "w", "patch": 5}));
    let found = oam.ok("world/get", json!({"world": "w", "path": "x"}));
    assert_eq!((&found["value"], &found["version"]), (&json!(2), &json!(1)));
    assert_eq!(oam.count("world/changed"), 1);
}

#[test]
fn pipelined_writes_are_told_in_their_order() {
    let mut oam = with_world(json!({"n": 0}));
    subscribe(&mut oam, "n");
    let writes: Vec<_> =
        (1..=100).map(|n| oam.request("world/set", json!({"world": "w", "path": "n", "value": n}))).collect();
    for write in &writes {
        oam.wait_ok(write);
    }
    let changes: Vec<_> =
        oam.messages().iter().filter(|message| message.method() == Some("world/changed")).collect();
    let steps: Vec<_> = changes
        .iter()
        .map(|change| {
            (change.value["params"]["oldValue"].as_i64(), change.value["params"]["newValue"].as_i64())
        })
        .collect();
    assert_eq!(steps, (1..=100).map(|n| (Some(n - 1), Some(n))).collect::<Vec<_>>());
}

#[test]
fn initialize_announces_the_notification() {
    let mut oam = Oam::start();
    let capabilities = oam.ok("initialize", json!({}))["capabilities"].clone();
    assert!(capabilities["notifications"].as_array().unwrap().contains(&json!("world/changed")));
    let methods = capabilities["methods"].as_array().unwrap();
    for name in
        ["create", "delete", "get", "list", "merge", "remove", "set", "snapshot", "subscribe", "unsubscribe"]
    {
        assert!(methods.contains(&json!(format!("world/{name}"))), "{name}");
    }
}
