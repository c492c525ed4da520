//! Worlds: state that is created, read, changed and deleted by path.

use oam_tests::{Oam, RpcError};
use serde_json::{Value, json};

/// Creates world `w` with this state.
fn with_world(state: Value) -> Oam {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w", "state": state}));
    oam
}

fn state(oam: &mut Oam) -> Value {
    oam.ok("world/snapshot", json!({"world": "w"}))["state"].clone()
}

fn version(oam: &mut Oam) -> Value {
    oam.ok("world/snapshot", json!({"world": "w"}))["version"].clone()
}

fn get(oam: &mut Oam, path: &str) -> Value {
    oam.ok("world/get", json!({"world": "w", "path": path}))
}

#[test]
fn a_number_that_is_not_finite_is_refused_and_nothing_is_written() {
    let mut oam = with_world(json!({"hp": 1}));
    for (method, params, place) in [
        ("world/set", r#""path":"hp","value":1e400"#, "value"),
        ("world/set", r#""value":{"hp":[1,-1e400]}"#, "value.hp[1]"),
        ("world/merge", r#""patch":{"player":{"gold":1e400}}"#, "patch.player.gold"),
        ("world/create", r#""state":{"hp":1e400}"#, "state.hp"),
    ] {
        let world = if method == "world/create" { "other" } else { "w" };
        oam.send_opaque(
            "big",
            &format!(
                r#"{{"jsonrpc":"2.0","id":"big","method":"{method}","params":{{"world":"{world}",{params}}}}}"#
            ),
        );
        let error = oam.wait_fails(&"big".into());
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{params}");
        assert_eq!(error.message, format!("Parameter '{place}' must be a finite number."));
    }
    assert_eq!(state(&mut oam), json!({"hp": 1}));
    assert_eq!(oam.ok("world/list", json!({}))["worlds"].as_array().unwrap().len(), 1);
}

/// `{world, path, version}` as text, so that the order of members counts.
fn write(oam: &mut Oam, method: &str, params: Value) -> String {
    let mut all = json!({"world": "w"});
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    oam.ok(method, all).to_string()
}

#[track_caller]
fn is_world_error(error: &RpcError, path: &str) {
    assert_eq!((error.code, error.name.as_str()), (-32054, "world_error"), "{error:?}");
    assert_eq!(*error.data, json!({"code": "world_error", "world": "w", "path": path}));
}

#[test]
fn a_world_lives_from_create_to_delete() {
    let mut oam = Oam::start();
    let mut told = |method: &str, params: Value| oam.ok(method, params).to_string();
    assert_eq!(
        told("world/create", json!({"world": "village", "state": {"player": {"gold": 60}, "time": "dawn"}})),
        r#"{"world":"village","version":0}"#
    );
    assert_eq!(
        told("world/get", json!({"world": "village", "path": "player.gold"})),
        r#"{"world":"village","path":"player.gold","value":60,"exists":true,"version":0}"#
    );
    assert_eq!(
        told("world/set", json!({"world": "village", "path": "player.gold", "value": 45})),
        r#"{"world":"village","path":"player.gold","version":1}"#
    );
    assert_eq!(
        told("world/merge", json!({"world": "village", "patch": {"player": {"hp": 3}, "time": null}})),
        r#"{"world":"village","path":"","version":2}"#
    );
    assert_eq!(
        told("world/remove", json!({"world": "village", "path": "player.gold"})),
        r#"{"world":"village","path":"player.gold","removed":true,"oldValue":45,"version":3}"#
    );
    assert_eq!(
        told("world/remove", json!({"world": "village", "path": "player.gold"})),
        r#"{"world":"village","path":"player.gold","removed":false,"oldValue":null,"version":3}"#
    );
    assert_eq!(
        told("world/get", json!({"world": "village", "path": "player.gold"})),
        r#"{"world":"village","path":"player.gold","value":null,"exists":false,"version":3}"#
    );
    assert_eq!(
        told("world/snapshot", json!({"world": "village"})),
        r#"{"world":"village","state":{"player":{"hp":3}},"version":3}"#
    );
    assert_eq!(
        told("world/delete", json!({"world": "village"})),
        r#"{"world":"village","deleted":true,"endedSubscriptions":0}"#
    );
    assert_eq!(told("world/list", json!({})), r#"{"worlds":[]}"#);
}

#[test]
fn ids_are_chosen_or_made_up() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w2"}));
    let made: Vec<_> = [json!({}), json!({"world": null})]
        .map(|params| oam.ok("world/create", params)["world"].clone())
        .into();
    assert_eq!(made, [json!("w1"), json!("w3")], "taken names are skipped");

    let error = oam.fails("world/create", json!({"world": "w2", "state": {"a": 1}}));
    assert_eq!(
        (error.code, error.name.as_str(), &error.data["world"]),
        (-32053, "world_exists", &json!("w2"))
    );
    for id in [json!(""), json!("n".repeat(129)), json!("a\nb"), json!(7)] {
        let error = oam.fails("world/create", json!({"world": id}));
        assert_eq!((error.code, error.message.contains("world")), (-32602, true), "{id}");
    }
    assert_eq!(oam.ok("world/create", json!({"world": "n".repeat(128)}))["version"], 0);
}

#[test]
fn a_refused_create_uses_up_the_made_up_id_and_nothing_else() {
    let mut oam = Oam::start();
    for state in [json!([]), json!("x"), json!(5), json!(false)] {
        let error = oam.fails("world/create", json!({"state": state}));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{state}");
        assert!(error.message.contains("'state'"), "{}", error.message);
    }
    assert_eq!(oam.ok("world/create", json!({"state": null})), json!({"world": "w5", "version": 0}));
    assert_eq!(oam.ok("world/snapshot", json!({"world": "w5"}))["state"], json!({}));
}

#[test]
fn a_deleted_id_is_free_for_a_fresh_world() {
    let mut oam = with_world(json!({"a": 1}));
    write(&mut oam, "world/set", json!({"path": "a", "value": 2}));
    oam.ok("world/delete", json!({"world": "w"}));
    assert_eq!(oam.fails("world/delete", json!({"world": "w"})).name, "world_not_found");
    oam.ok("world/create", json!({"world": "w", "state": {"b": 1}}));
    assert_eq!((state(&mut oam), version(&mut oam)), (json!({"b": 1}), json!(0)));
}

#[test]
fn methods_on_an_unknown_world_say_so() {
    let mut oam = Oam::start();
    for method in ["get", "set", "merge", "remove", "snapshot", "delete", "subscribe"]
        .map(|name| format!("world/{name}"))
    {
        let error = oam.fails(&method, json!({"world": "ghost", "path": "a..b", "value": 1, "patch": {}}));
        assert_eq!((error.code, error.name.as_str()), (-32052, "world_not_found"), "{method}");
        assert_eq!(error.data["world"], "ghost");
        for world in [json!(null), json!(5)] {
            let error = oam.fails(&method, json!({"world": world, "path": "a", "value": 1, "patch": {}}));
            assert_eq!(error.name, "invalid_params", "{method}");
            assert!(error.message.contains("'world'"), "{}", error.message);
        }
    }
}

#[test]
fn parameters_are_checked_before_the_world_is_touched() {
    let mut oam = with_world(json!({"a": 1}));
    for (method, params, named) in [
        ("world/get", json!({"path": 5}), "path"),
        ("world/set", json!({"path": ["a"], "value": 1}), "path"),
        ("world/set", json!({"path": "a"}), "value"),
        ("world/set", json!({"path": "a..b"}), "value"),
        ("world/merge", json!({"path": 5, "patch": {}}), "path"),
        ("world/merge", json!({"path": "a"}), "patch"),
        ("world/remove", json!({"path": 5}), "path"),
        ("world/remove", json!({"path": null}), "path"),
        ("world/remove", json!({}), "path"),
        ("world/subscribe", json!({"path": {}}), "path"),
    ] {
        let mut all = json!({"world": "w"});
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let error = oam.fails(method, all);
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{method} {params}");
        assert!(error.message.contains(&format!("'{named}'")), "{}", error.message);
    }
    assert_eq!(version(&mut oam), 0);
}

#[test]
fn unknown_members_are_ignored() {
    let mut oam = Oam::start();
    let created = oam.ok("world/create", json!({"world": "w", "more": 1}));
    assert_eq!(created, json!({"world": "w", "version": 0}));
    let written = write(&mut oam, "world/set", json!({"path": "a", "value": 1, "more": 1}));
    assert_eq!(written, r#"{"world":"w","path":"a","version":1}"#);
}

#[test]
fn a_path_is_read_however_it_is_written_and_echoed_as_it_was() {
    let mut oam =
        with_world(json!({"party": [{"name": "Brom"}, {"name": "Lysa"}], "a b": {" c ": 1}, "$": {"x": 2}}));
    for (path, value) in [
        ("party.1.name", json!("Lysa")),
        ("party[1].name", json!("Lysa")),
        ("party/1/name", json!("Lysa")),
        ("/party/1/name", json!("Lysa")),
        ("$.party[1].name", json!("Lysa")),
        ("[party][1][name]", json!("Lysa")),
        ("  party.1.name\n", json!("Lysa")),
        ("a b. c ", json!(null)),
        ("a b[ c ]", json!(1)),
        ("$[x]", json!(2)),
    ] {
        let found = get(&mut oam, path);
        assert_eq!((&found["path"], &found["value"]), (&json!(path), &value));
        assert_eq!(found["exists"], json!(!value.is_null()), "{path}");
    }
    for root in ["", " ", "$", "/", "."] {
        let found = get(&mut oam, root);
        assert_eq!((&found["path"], &found["value"]["$"]), (&json!(root), &json!({"x": 2})));
    }
    assert_eq!(oam.ok("world/get", json!({"world": "w"}))["path"], "");
    assert_eq!(oam.ok("world/get", json!({"world": "w", "path": null}))["exists"], true);
}

#[test]
fn a_path_with_an_empty_segment_is_refused_by_every_method() {
    let mut oam = with_world(json!({"a": {"b": 1}}));
    for path in ["a..b", ".a", "a.", "a[]", "//a", " a..b "] {
        for method in ["get", "set", "merge", "remove", "subscribe"] {
            let params = json!({"world": "w", "path": path, "value": 1, "patch": {}});
            let error = oam.fails(&format!("world/{method}"), params);
            is_world_error(&error, path);
            assert!(
                error.message.starts_with(&format!("'{path}' is not a valid path.")),
                "{}",
                error.message
            );
        }
    }
    assert_eq!(version(&mut oam), 0);
}

#[test]
fn keys_match_exactly_and_list_positions_are_in_range() {
    let mut oam = with_world(json!({"a": [1, 2], "0": "zero", "x.y": 1}));
    for path in ["A", "a.2", "a.-1", "a.x", "a.0.x", "a.01", "0.0", "x.y", "nobody.x"] {
        let found = get(&mut oam, path);
        assert_eq!((&found["value"], &found["exists"]), (&json!(null), &json!(false)), "{path}");
    }
    assert_eq!(get(&mut oam, "0")["value"], "zero");
    assert_eq!(get(&mut oam, "a.1")["value"], 2);
}

#[test]
fn a_stored_null_exists() {
    let mut oam = with_world(json!({"horse": null}));
    assert_eq!(get(&mut oam, "horse")["exists"], true);
    assert_eq!(get(&mut oam, "cow")["exists"], false);
    assert_eq!(
        write(&mut oam, "world/remove", json!({"path": "horse"})),
        r#"{"world":"w","path":"horse","removed":true,"oldValue":null,"version":1}"#
    );
    assert_eq!(get(&mut oam, "horse")["exists"], false);
}

#[test]
fn set_makes_what_is_missing_on_the_way() {
    let mut oam = with_world(json!({"party": [{"name": "Brom"}], "horse": null}));
    let writes = [
        ("npcs.mira.mood", json!("cheerful")),
        ("horse.name", json!("Ash")),
        ("party[1]", json!({"name": "Lysa"})),
        ("party.2.name", json!("Kael")),
        ("deep.0", json!([])),
        ("nothing", json!(null)),
    ];
    for (number, (path, value)) in writes.iter().enumerate() {
        let written = write(&mut oam, "world/set", json!({"path": path, "value": value}));
        assert_eq!(written, format!(r#"{{"world":"w","path":"{path}","version":{}}}"#, number + 1));
        assert_eq!(get(&mut oam, path)["value"], *value);
    }
    assert_eq!(
        state(&mut oam).to_string(),
        json!({
            "party": [{"name": "Brom"}, {"name": "Lysa"}, {"name": "Kael"}], "horse": {"name": "Ash"},
            "npcs": {"mira": {"mood": "cheerful"}}, "deep": {"0": []}, "nothing": null,
        })
        .to_string()
    );
}

#[test]
fn any_json_is_stored_and_comes_back_as_it_was() {
    let mut oam = with_world(json!({}));
    for value in [
        "null",
        "true",
        "0",
        "-1.5",
        "1000000000000000",
        "18446744073709551615",
        "0.1",
        r#""""#,
        r#""Grüße ⚔️ \"x\"\n""#,
        "[]",
        "{}",
        r#"[1,[2,{"a":null}]]"#,
        r#"{"z":1,"a":{"y":2,"b":3}}"#,
    ] {
        oam.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":"set","method":"world/set","params":{{"world":"w","path":"v","value":{value}}}}}"#
        ));
        oam.wait_ok(&"set".into());
        let id = oam.request("world/get", json!({"world": "w", "path": "v"}));
        let answer = oam.take("the value", |message| message.answers().as_ref() == Some(&id)).line;
        assert!(answer.contains(&format!(r#""value":{value},"exists":true"#)), "{answer}");
    }
}

#[test]
fn an_impossible_write_fails_with_its_canonical_path_and_changes_nothing() {
    let before = json!({"gold": 1, "party": [{"name": "Brom"}]});
    let mut oam = with_world(before.clone());
    for (path, canonical, message) in [
        ("/gold/x", "gold.x", "Cannot write 'gold.x': 'gold' is a number, not an object or list."),
        ("party[0].name.x", "party.0.name.x", "'party.0.name' is a string"),
        ("party[2]", "party.2", "'party' has 1 item; use an index from 0 to 1"),
        ("party[2].new.name", "party.2.new.name", "'party' has 1 item"),
        ("party.name", "party.name", "'party' has 1 item"),
        (" ", "", "must stay an object"),
    ] {
        for method in ["world/set", "world/merge"] {
            let error = oam.fails(method, json!({"world": "w", "path": path, "value": 5, "patch": 5}));
            is_world_error(&error, canonical);
            assert!(error.message.contains(message), "{}", error.message);
        }
    }
    for patch in [json!(5), json!([1]), json!(null)] {
        is_world_error(&oam.fails("world/merge", json!({"world": "w", "patch": patch})), "");
    }
    assert_eq!((state(&mut oam), version(&mut oam)), (before, json!(0)));
}

#[test]
fn merge_patches_members_and_counts_once() {
    let mut oam = with_world(
        json!({"player": {"name": "Aria", "gold": 12, "hp": 30}, "party": ["a"], "npcs": {"gorm": 1}}),
    );
    write(&mut oam, "world/merge", json!({"patch": {"player": {"gold": 20, "hp": null, "title": "Knight"}}}));
    write(&mut oam, "world/merge", json!({"path": "npcs", "patch": {"gorm": {"mood": "good", "foe": null}}}));
    write(&mut oam, "world/merge", json!({"path": "a.b", "patch": {"c": null, "d": {"e": null}}}));
    write(&mut oam, "world/merge", json!({"path": "party", "patch": null}));
    assert_eq!(
        state(&mut oam).to_string(),
        json!({
            "player": {"name": "Aria", "gold": 20, "title": "Knight"}, "party": null,
            "npcs": {"gorm": {"mood": "good"}}, "a": {"b": {"d": {}}},
        })
        .to_string()
    );
    assert_eq!(version(&mut oam), 4);
}

#[test]
fn a_patch_is_merged_64_levels_deep() {
    let nested = |levels: usize, inner: Value| (0..levels).fold(inner, |value, _| json!({"x": value}));
    for (levels, stored) in
        [(63, json!({"old": 1})), (64, json!({"gone": null})), (94, json!({"gone": null}))]
    {
        let mut oam = with_world(nested(levels, json!({"old": 1, "gone": 1})));
        write(&mut oam, "world/merge", json!({"patch": nested(levels, json!({"gone": null}))}));
        assert_eq!(state(&mut oam), nested(levels, stored), "{levels}");
    }
}

#[test]
fn remove_takes_away_what_is_there() {
    let mut oam = with_world(json!({"party": ["a", "b", "c"], "n": 5, "o": {"x": {"y": 1}}}));
    for (path, removed, old, version) in [
        ("party.0", true, json!("a"), 1),
        ("party[0]", true, json!("b"), 2),
        ("/o/x", true, json!({"y": 1}), 3),
        ("party.5", false, json!(null), 3),
        ("party.x", false, json!(null), 3),
        ("n.x", false, json!(null), 3),
        ("nothing.here", false, json!(null), 3),
    ] {
        let result = oam.ok("world/remove", json!({"world": "w", "path": path}));
        let expected =
            json!({"world": "w", "path": path, "removed": removed, "oldValue": old, "version": version});
        assert_eq!(result, expected);
    }
    assert_eq!(state(&mut oam), json!({"party": ["c"], "n": 5, "o": {}}));
    let all = oam.ok("world/remove", json!({"world": "w", "path": ""}));
    assert_eq!((&all["oldValue"], &all["version"]), (&json!({"party": ["c"], "n": 5, "o": {}}), &json!(4)));
    assert_eq!(state(&mut oam), json!({}));
}

#[test]
fn a_write_of_what_is_there_changes_nothing() {
    let mut oam = with_world(json!({"player": {"gold": 12, "tags": ["a"]}, "none": null}));
    for (method, params) in [
        ("world/set", json!({"path": "player.gold", "value": 12.0})),
        ("world/set", json!({"path": "player", "value": {"tags": ["a"], "gold": 12}})),
        ("world/set", json!({"value": {"none": null, "player": {"tags": ["a"], "gold": 12}}})),
        ("world/set", json!({"path": "none", "value": null})),
        ("world/merge", json!({"patch": {"player": {"gold": 12}}})),
        ("world/merge", json!({"patch": {}})),
        ("world/merge", json!({"patch": {"nobody": null}})),
        ("world/merge", json!({"path": "player.gold", "patch": 12})),
    ] {
        assert!(write(&mut oam, method, params).ends_with(r#""version":0}"#));
    }
    assert_eq!(state(&mut oam).to_string(), r#"{"player":{"gold":12,"tags":["a"]},"none":null}"#);
}

#[test]
fn a_changed_member_keeps_its_place_and_a_new_one_comes_last() {
    let mut oam = with_world(json!({"c": 1, "a": 2, "b": 3}));
    write(&mut oam, "world/set", json!({"path": "a", "value": 9}));
    write(&mut oam, "world/set", json!({"path": "d", "value": 4}));
    write(&mut oam, "world/merge", json!({"patch": {"e": 5, "c": 8}}));
    write(&mut oam, "world/remove", json!({"path": "b"}));
    assert_eq!(state(&mut oam).to_string(), r#"{"c":8,"a":9,"d":4,"e":5}"#);
}

#[test]
fn a_world_that_came_in_a_message_goes_out_in_one_and_nests_no_deeper() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!({"x": value}));
    let mut oam = with_world(nested(98));
    assert_eq!(state(&mut oam), nested(98));
    let error = oam.fails("world/set", json!({"world": "w", "path": "x.x", "value": nested(97)}));
    is_world_error(&error, "x.x");
    let far = vec!["x"; 100_000].join(".");
    assert_eq!(get(&mut oam, &far)["exists"], false);
    is_world_error(&oam.fails("world/set", json!({"world": "w", "path": far, "value": 1})), &far);
    assert_eq!(version(&mut oam), 0);
}

#[test]
fn the_list_tells_each_world_in_order_of_creation() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "b", "state": {"x": 1}}));
    oam.ok("world/create", json!({"world": "a"}));
    oam.ok("world/set", json!({"world": "b", "path": "x", "value": 2}));
    oam.ok("world/subscribe", json!({"world": "a", "path": "one"}));
    oam.ok("world/subscribe", json!({"world": "b", "path": "two[0]"}));
    oam.ok("world/subscribe", json!({"world": "a"}));
    let mut list = oam.ok("world/list", json!({}));
    for world in list["worlds"].as_array_mut().unwrap() {
        let created = world["createdAt"].take();
        let form: String =
            created.as_str().unwrap().chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(form, "0000-00-00T00:00:00Z");
    }
    assert_eq!(
        list.to_string(),
        json!({"worlds": [
            {
                "world": "b", "version": 1, "npcs": 0,
                "subscriptions": [{"subscription": "sub2", "world": "b", "path": "two[0]"}], "createdAt": null,
            },
            {
                "world": "a", "version": 0, "npcs": 0,
                "subscriptions": [
                    {"subscription": "sub1", "world": "a", "path": "one"},
                    {"subscription": "sub3", "world": "a", "path": ""},
                ],
                "createdAt": null,
            },
        ]})
        .to_string()
    );
}

#[test]
fn there_may_be_64_worlds() {
    let mut oam = Oam::start();
    let ids: Vec<_> = (0..64).map(|_| oam.request("world/create", json!({}))).collect();
    for id in ids {
        oam.wait_ok(&id);
    }
    let error = oam.fails("world/create", json!({}));
    assert_eq!((error.code, error.name.as_str()), (-32055, "limit_reached"));
    assert_eq!(
        (error.message.as_str(), &error.data["limit"]),
        ("The limit of 64 worlds is reached; delete some first.", &json!(64))
    );
    assert_eq!(
        oam.fails("world/create", json!({"world": "w1"})).name,
        "world_exists",
        "the limit comes last"
    );
    assert_eq!(oam.fails("world/create", json!({"state": 1})).name, "invalid_params");
    oam.ok("world/delete", json!({"world": "w7"}));
    oam.ok("world/create", json!({"world": "w7"}));
}

#[test]
fn worlds_and_sessions_have_their_own_ids() {
    let mut oam = Oam::start();
    oam.session("x", []);
    oam.ok("world/create", json!({"world": "x"}));
    oam.ok("session/delete", json!({"session": "x"}));
    assert_eq!(oam.ok("world/get", json!({"world": "x"}))["exists"], true);
}
