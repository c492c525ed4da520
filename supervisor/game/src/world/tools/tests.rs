use expect_test::{Expect, expect};
use oam_agent::{CallId, ToolExecutor, ToolOutput};
use serde_json::json;

use super::*;

fn paths(texts: &[&str]) -> Vec<WorldPath> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn call(tool: &Tool, arguments: Value) -> ToolOutput {
    let ToolExecutor::Local(run) = &tool.executor else { panic!("the tools are local") };
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = ToolCall { id: CallId::random(), name: tool.name().to_string(), arguments };
    futures_util::FutureExt::now_or_never(run(Arc::new(call))).expect("the tools never wait")
}

fn village() -> World {
    World::new(json!({
        "player": {"name": "Aria", "gold": 12, "hp": 30, "alive": true, "horse": null},
        "party": [{"name": "Brom", "class": "cleric"}, {"name": "Lysa", "class": "rogue"}],
        "npcs": {"gorm": {"mood": "grumpy"}},
        "quests": {"lost_ring": {"status": "active"}},
    }))
    .unwrap()
}

fn read(world: &World, readable: &[&str], arguments: Value) -> ToolOutput {
    call(&world.tools(&paths(readable), &[])[0], arguments)
}

fn update(world: &World, writable: &[&str], path: &str, value: &Value) -> ToolOutput {
    call(&world.tools(&[], &paths(writable))[0], json!({"path": path, "value": value}))
}

#[track_caller]
fn reads(readable: &[&str], path: &str, expected: Value) {
    let output = read(&village(), readable, json!({"path": path}));
    assert_eq!(output, ToolOutput::Json(expected), "{path}");
}

#[track_caller]
fn does_not_read(readable: &[&str], path: &str, error: &str) {
    let output = read(&village(), readable, json!({"path": path}));
    assert_eq!(output, ToolOutput::Error(error.to_owned()), "{path}");
}

#[test]
fn there_is_a_tool_for_what_is_allowed() {
    let names = |readable: &[&str], writable: &[&str]| -> Vec<String> {
        let tools = village().tools(&paths(readable), &paths(writable));
        tools.iter().map(|tool| tool.name().to_string()).collect()
    };
    assert_eq!(names(&[""], &[]), ["read_world_state"]);
    assert_eq!(names(&[""], &["quests"]), ["read_world_state", "update_world_state"]);
    assert_eq!(names(&[], &["quests"]), ["update_world_state"]);
    assert!(names(&[], &[]).is_empty());
}

#[test]
fn descriptions_name_what_can_be_read_and_changed() {
    let described = |world: &World, readable: &[&str], writable: &[&str], expected: Expect| {
        let tools = world.tools(&paths(readable), &paths(writable));
        expected.assert_eq(&tools[0].definition.description);
    };
    described(
        &village(),
        &[""],
        &[],
        expect!["Read the current state of the game world. Top-level keys: player, party, npcs, quests."],
    );
    described(&World::default(), &["", "x"], &[], expect!["Read the current state of the game world."]);
    let many = (0..15).map(|number| (format!("k{number}"), Value::Null)).collect();
    described(
        &World::new(Value::Object(many)).unwrap(),
        &[""],
        &[],
        expect![
            "Read the current state of the game world. Top-level keys: k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, … (3 more)."
        ],
    );
    described(
        &village(),
        &["player.gold", "quests"],
        &[],
        expect!["Read the current state of the game world. Readable paths: player.gold, quests."],
    );
    described(
        &village(),
        &[],
        &["player[gold]", ""],
        expect!["Change the state of the game world. Writable paths: player.gold, (everything)."],
    );
}

#[test]
fn both_arguments_are_strings_to_the_model() {
    for tool in village().tools(&paths(&[""]), &paths(&[""])) {
        let schema = tool.definition.parameters.json();
        let properties = schema["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["type"] == "string"), "{schema}");
        assert_eq!(schema["required"].as_array().unwrap().len(), properties.len());
    }
}

#[test]
fn a_value_is_read_by_its_path() {
    reads(&[""], "player.gold", json!(12));
    reads(&[""], "$.player.name", json!("Aria"));
    reads(&[""], "player.horse", json!(null));
    reads(&[""], "party[1]", json!({"name": "Lysa", "class": "rogue"}));
    reads(&[""], "", village().snapshot());
    assert_eq!(read(&village(), &[""], json!({})), ToolOutput::Json(village().snapshot()));
    assert_eq!(
        read(&village(), &["npcs"], json!({"path": null})),
        ToolOutput::Json(json!({"npcs": {"gorm": {"mood": "grumpy"}}}))
    );
}

#[test]
fn keys_match_whatever_their_case_unless_one_matches_exactly() {
    reads(&[""], "PLAYER.Gold", json!(12));
    reads(&["player"], "Player.GOLD", json!(12));
    let world = World::new(json!({"Ära": 1, "ÄRA": 2, "ära": 3})).unwrap();
    for (path, value) in [("ära", 3), ("ÄRA", 2), ("äRA", 1)] {
        assert_eq!(read(&world, &[""], json!({"path": path})), ToolOutput::Json(json!(value)));
    }
    // What is allowed is compared with the path that was meant.
    does_not_read(&["PLAYER"], "PLAYER.gold", "Cannot read 'player.gold'. You may read: PLAYER.");
}

#[test]
fn a_missing_value_is_answered_with_what_is_there() {
    does_not_read(
        &[""],
        "player.mana",
        "No value at 'player.mana'. 'player' has keys: name, gold, hp, alive, horse.",
    );
    does_not_read(
        &[""],
        "Player.Mana.x",
        "No value at 'player.Mana.x'. 'player' has keys: name, gold, hp, alive, horse.",
    );
    does_not_read(&[""], "nobody", "No value at 'nobody'. The world has keys: player, party, npcs, quests.");
    does_not_read(
        &[""],
        "party.7",
        "No value at 'party.7'. 'party' is a list of 2 items; use an index from 0 to 1.",
    );
    does_not_read(
        &[""],
        "party.name",
        "No value at 'party.name'. 'party' is a list of 2 items; use an index from 0 to 1.",
    );
    does_not_read(
        &[""],
        "player.gold.copper",
        "No value at 'player.gold.copper'. 'player.gold' is a number: 12.",
    );
    does_not_read(
        &[""],
        "player.name.x",
        "No value at 'player.name.x'. 'player.name' is a string: \"Aria\".",
    );
    does_not_read(&[""], "player.horse.x", "No value at 'player.horse.x'. 'player.horse' is null.");
    does_not_read(
        &[""],
        "a..b",
        "'a..b' is not a valid path. Put dots between keys, as in player.gold or party.0.name.",
    );
    let world = World::new(json!({"l": [], "one": [1], "o": {}})).unwrap();
    for (path, error) in [
        ("l.0", "No value at 'l.0'. 'l' is an empty list."),
        ("one.1", "No value at 'one.1'. 'one' is a list of 1 item; use index 0."),
        ("o.x", "No value at 'o.x'. 'o' has no keys."),
    ] {
        assert_eq!(read(&world, &[""], json!({"path": path})), ToolOutput::Error(error.to_owned()));
    }
    let many = (0..30).map(|number| (format!("k{number}"), Value::Null)).collect();
    let world = World::new(Value::Object(many)).unwrap();
    let output = read(&world, &[""], json!({"path": "x"})).model_text();
    assert!(output.ends_with("k18, k19, … (10 more)."), "{output}");
}

#[test]
fn only_readable_paths_are_read() {
    does_not_read(
        &["player", "quests"],
        "npcs.gorm",
        "Cannot read 'npcs.gorm'. You may read: player, quests.",
    );
    does_not_read(&["player"], "players", "Cannot read 'players'. You may read: player.");
    does_not_read(&["player.gold"], "player.hp", "Cannot read 'player.hp'. You may read: player.gold.");
}

#[test]
fn above_the_readable_paths_only_they_are_shown() {
    reads(
        &["quests", "player.gold"],
        "",
        json!({"player": {"gold": 12}, "quests": {"lost_ring": {"status": "active"}}}),
    );
    reads(&["player.gold", "player.horse", "player.mana"], "player", json!({"gold": 12, "horse": null}));
    reads(
        &["party.1.name", "party[0]"],
        "party",
        json!({"0": {"name": "Brom", "class": "cleric"}, "1": {"name": "Lysa"}}),
    );
    reads(&["npcs.mira.mood", "player.gold.x"], "", json!({}));
    // Nor do errors tell of anything else.
    does_not_read(
        &["player.bag"],
        "player.bag.sword",
        "No value at 'player.bag.sword'. 'player' has no keys.",
    );
    does_not_read(
        &["player.gold.copper"],
        "player.gold.copper",
        "No value at 'player.gold.copper'. 'player.gold' is a number.",
    );
}

#[test]
fn large_values_are_shortened() {
    let world = World::new(json!({"story": "x".repeat(2000), "gold": 1})).unwrap();
    let ToolOutput::Json(shown) = read(&world, &[""], json!({})) else { panic!("a value") };
    assert_eq!((&shown["story"], &shown["gold"]), (&json!("x".repeat(77) + "..."), &json!(1)));
    assert!(shown["_note"].is_string());
    let ToolOutput::Json(shown) = read(&world, &["story"], json!({})) else { panic!("a value") };
    assert!(shown["_note"].is_string(), "{shown}");
}

#[test]
fn a_write_keeps_the_stored_type() {
    let state = json!({"s": "Aria", "n": 12, "b": true, "l": ["a"], "o": {"a": 1}, "z": null});
    let not = |path, kind, stored, sent, is| {
        format!("Cannot set '{path}': it is {kind} ({stored}), and {sent} is not {is}.")
    };
    let not_a_number = |sent| Err(not("n", "a number", "12", sent, "a number"));
    let cases = [
        ("s", json!("Aria the Bold"), Ok(json!("Aria the Bold"))),
        ("s", json!("\"Aria the \\\"Bold\\\"\""), Ok(json!("Aria the \"Bold\""))),
        ("s", json!("42"), Ok(json!("42"))),
        ("s", json!(" [1] "), Ok(json!(" [1] "))),
        ("s", json!("\"open"), Ok(json!("\"open"))),
        ("s", json!(42.0), Ok(json!("42"))),
        ("s", json!(false), Ok(json!("false"))),
        ("s", json!(null), Err(not("s", "a string", "\"Aria\"", "null", "a string"))),
        ("s", json!([1]), Err(not("s", "a string", "\"Aria\"", "[1]", "a string"))),
        ("n", json!("45"), Ok(json!(45))),
        ("n", json!(" -4.5e1 "), Ok(json!(-45.0))),
        ("n", json!("1,250,000.5"), Ok(json!(1_250_000.5))),
        ("n", json!(45), Ok(json!(45))),
        ("n", json!("lots"), not_a_number("'lots'")),
        ("n", json!("45 gold"), not_a_number("'45 gold'")),
        ("n", json!("1,5"), not_a_number("'1,5'")),
        ("n", json!("12,34,567"), not_a_number("'12,34,567'")),
        ("n", json!("inf"), not_a_number("'inf'")),
        ("n", json!("1e999"), not_a_number("'1e999'")),
        ("n", json!(""), not_a_number("''")),
        ("n", json!(true), not_a_number("true")),
        ("n", json!(null), not_a_number("null")),
        ("b", json!("False"), Ok(json!(false))),
        ("b", json!(" NO "), Ok(json!(false))),
        ("b", json!("0"), Ok(json!(false))),
        ("b", json!(0), Ok(json!(false))),
        ("b", json!("yes"), Ok(json!(true))),
        ("b", json!("1"), Ok(json!(true))),
        ("b", json!("maybe"), Err(not("b", "a boolean", "true", "'maybe'", "a boolean"))),
        ("l", json!("[\"Kael\"]"), Ok(json!(["Kael"]))),
        ("l", json!([1]), Ok(json!([1]))),
        ("l", json!("not a list"), Err(not("l", "a list", "[\"a\"]", "'not a list'", "a list"))),
        ("l", json!("{}"), Err(not("l", "a list", "[\"a\"]", "'{}'", "a list"))),
        ("l", json!({}), Err(not("l", "a list", "[\"a\"]", "{}", "a list"))),
        ("o", json!("{\"z\": 1, \"a\": 2}"), Ok(json!({"z": 1, "a": 2}))),
        ("o", json!("[]"), Err(not("o", "an object", "{\"a\":1}", "'[]'", "an object"))),
        ("z", json!("7"), Ok(json!(7))),
        ("z", json!("likes swords"), Ok(json!("likes swords"))),
        ("new.thing", json!("true"), Ok(json!(true))),
        ("new.thing", json!("null"), Ok(json!(null))),
        ("new.thing", json!("\"quoted\""), Ok(json!("quoted"))),
        ("new.thing", json!(null), Ok(json!(null))),
        ("new.thing", json!({"a": [1]}), Ok(json!({"a": [1]}))),
        ("new.thing", json!("1e999"), Ok(json!("1e999"))),
    ];
    for (path, sent, expected) in cases {
        let world = World::new(state.clone()).unwrap();
        let output = update(&world, &[""], path, &sent);
        match expected {
            Ok(stored) => {
                assert!(!output.is_error(), "{path} {sent}: {output:?}");
                let found = world.get(&path.parse().unwrap()).unwrap();
                assert!(value::same(&found, &stored), "{path} {sent}: {found}");
            }
            Err(error) => {
                assert_eq!(output, ToolOutput::Error(error));
                assert_eq!(world.snapshot(), state);
            }
        }
    }
}

#[test]
fn a_write_tells_what_it_did() {
    let world = village();
    let cases = [
        ("player.gold", "45", "Set player.gold to 45 (was 12)."),
        ("player.gold", "45", "Set player.gold to 45 (was 45)."),
        ("Player.NAME", "Mira", "Set player.name to \"Mira\" (was \"Aria\")."),
        ("player.horse", "Ash", "Set player.horse to \"Ash\" (was null)."),
        ("quests.wolf.status", "started", "Set quests.wolf.status to \"started\"."),
        ("party[2]", "{\"name\": \"Kael\"}", "Set party.2 to {\"name\":\"Kael\"}."),
    ];
    for (path, value, told) in cases {
        assert_eq!(update(&world, &[""], path, &json!(value)), ToolOutput::Text(told.to_owned()));
    }
    assert_eq!(world.version(), 5);
    let world = World::new(json!({"l": ["x".repeat(300)]})).unwrap();
    assert_eq!(
        update(&world, &[""], "", &json!("{\"a\": 1}")),
        ToolOutput::Text(format!("Set (everything) to {{\"a\":1}} (was {{\"l\":[\"{}...).", "x".repeat(190))),
    );
}

#[test]
fn only_writable_paths_are_changed() {
    let world = village();
    let cases = [
        ("player.gold", "'player.gold' is read-only. You may change: quests, npcs.gorm.mood."),
        ("questsx", "'questsx' is read-only. You may change: quests, npcs.gorm.mood."),
        ("npcs.gorm", "'npcs.gorm' is read-only. You may change: quests, npcs.gorm.mood."),
        ("", "The world is read-only. You may change: quests, npcs.gorm.mood."),
    ];
    for (path, error) in cases {
        let output = update(&world, &["quests", "npcs.gorm.mood"], path, &json!("1"));
        assert_eq!(output, ToolOutput::Error(error.to_owned()));
    }
    assert_eq!(world.version(), 0);
    assert!(!update(&world, &["quests"], "QUESTS.Lost_Ring.Status", &json!("done")).is_error());
    assert_eq!(world.get(&"quests".parse().unwrap()), Some(json!({"lost_ring": {"status": "done"}})));
}

#[test]
fn a_write_that_the_world_refuses_is_answered_with_why() {
    let world = village();
    let cases = [
        (
            "player.gold.copper",
            json!("3"),
            "Cannot write 'player.gold.copper': 'player.gold' is a number, not an object or list.",
        ),
        (
            "party.9",
            json!("x"),
            "Cannot write 'party.9': 'party' has 2 items; use an index from 0 to 2 (2 appends).",
        ),
        (
            "a..b",
            json!("x"),
            "'a..b' is not a valid path. Put dots between keys, as in player.gold or party.0.name.",
        ),
        (
            "new",
            json!("[".repeat(100) + &"]".repeat(100)),
            "Cannot write 'new': the world would nest too deep.",
        ),
    ];
    for (path, value, error) in cases {
        assert_eq!(update(&world, &[""], path, &value), ToolOutput::Error(error.to_owned()));
    }
    assert_eq!(world.version(), 0);
}

#[test]
fn missing_and_mistyped_arguments_are_named() {
    let tools = village().tools(&paths(&[""]), &paths(&[""]));
    let cases = [
        (0, json!({"path": 5}), "Argument 'path' of tool 'read_world_state' must be a string; got 5."),
        (1, json!({}), "Argument 'path' of tool 'update_world_state' must be a string; got nothing."),
        (
            1,
            json!({"path": null, "value": "1"}),
            "Argument 'path' of tool 'update_world_state' must be a string; got null.",
        ),
        (
            1,
            json!({"path": "a"}),
            "Argument 'value' of tool 'update_world_state' must be a value; got nothing.",
        ),
    ];
    for (tool, arguments, error) in cases {
        assert_eq!(call(&tools[tool], arguments), ToolOutput::Error(error.to_owned()));
    }
}
