//! An NPC and its world: what its tools read and write, and who hears of it.

use oam_tests::{
    Oam,
    script::{call, calls, error, reply, text, tool, write_world},
};
use serde_json::{Value, json};

/// A world "w" with this state and an NPC "gorm" in it.
fn gorm(oam: &mut Oam, state: Value, steps: impl IntoIterator<Item = Value>, options: Value) {
    oam.ok("world/create", json!({"world": "w", "state": state}));
    oam.npc_with("gorm", steps, json!({"world": "w", "options": options, "tools": [tool("look")]}));
}

fn again(oam: &mut Oam) {
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    oam.ok("world/delete", json!({"world": "w"}));
}

fn read(path: &str) -> Value {
    call("read_world_state", json!({"path": path}))
}

/// What the first tool of a turn returned, and whether as an error.
fn output(oam: &mut Oam) -> (String, bool) {
    let turn = oam.talk("gorm", "x");
    let record = &turn["toolCalls"][0];
    let output = match &record["output"] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    (output, record["isError"] == true)
}

#[test]
fn reads_stay_within_what_is_readable() {
    let mut oam = Oam::start();
    let state = json!({"player": {"name": "Aria", "gold": 60}, "secret": 1, "party": [{"name": "Brom"}], "none": null});
    for (readable, path, expected, is_error) in [
        (json!([""]), "player.gold", "60", false),
        (json!([""]), "$.party[0].name", "Brom", false),
        (json!([""]), "PLAYER.Gold", "60", false),
        (json!([""]), "none", "null", false),
        (json!(["player.gold"]), "player", "{\"gold\":60}", false),
        (json!(["player.gold"]), "", "{\"player\":{\"gold\":60}}", false),
        (json!(["player"]), "player.name", "Aria", false),
        (json!(["player"]), "secret", "player", true),
        (json!([""]), "player.mana", "name, gold", true),
        (json!([""]), "a..b", "a..b", true),
    ] {
        gorm(&mut oam, state.clone(), [read(path), reply("sad", "Hm.")], json!({"worldReadable": readable}));
        let (output, failed) = output(&mut oam);
        assert_eq!(failed, is_error, "{readable} {path}: {output}");
        assert!(
            if is_error { output.contains(expected) } else { output == expected },
            "{readable} {path}: {output}"
        );
        again(&mut oam);
    }
}

#[test]
fn writes_keep_the_type_that_is_stored() {
    let mut oam = Oam::start();
    let state = json!({"n": 60, "s": "a", "b": true, "l": [1], "o": {"k": 1}, "z": null});
    for (path, value, stored) in [
        ("n", json!("45"), Some(json!(45))),
        ("n", json!(" 1,200.5 "), Some(json!(1200.5))),
        ("n", json!("lots"), None),
        ("n", json!(7), Some(json!(7))),
        ("s", json!("45"), Some(json!("45"))),
        ("s", json!("\"quoted\""), Some(json!("quoted"))),
        ("b", json!("No"), Some(json!(false))),
        ("b", json!("maybe"), None),
        ("l", json!("[1, 2]"), Some(json!([1, 2]))),
        ("l", json!("not json"), None),
        ("o", json!("{\"k\":2}"), Some(json!({"k": 2}))),
        ("O.K", json!("3"), Some(json!({"k": 3}))),
        ("z", json!("5"), Some(json!(5))),
        ("z", json!("five"), Some(json!("five"))),
        ("new", json!("[true]"), Some(json!([true]))),
    ] {
        let step = call("update_world_state", json!({"path": path, "value": value}));
        gorm(&mut oam, state.clone(), [step, reply("sad", "Hm.")], json!({"worldWritable": [""]}));
        let (output, failed) = output(&mut oam);
        assert_eq!(failed, stored.is_none(), "{path} {value}: {output}");
        let root = path.split('.').next().unwrap().to_lowercase();
        let now = oam.ok("world/get", json!({"world": "w", "path": root}));
        let expected = stored.clone().unwrap_or_else(|| state[&root].clone());
        assert_eq!(now["value"], expected, "{path} {value}: {output}");
        assert_eq!(now["version"], u64::from(stored.is_some()), "{path} {value}");
        again(&mut oam);
    }
}

#[test]
fn writes_stay_within_what_is_writable() {
    let mut oam = Oam::start();
    for (writable, path, is_allowed) in [
        (json!(["quests"]), "quests", true),
        (json!(["quests"]), "quests.ring", true),
        (json!(["quests"]), "Quests.ring", true),
        (json!(["quests"]), "quest", false),
        (json!(["quests"]), "player.gold", false),
        (json!(["quests.ring"]), "quests", false),
        (json!(["quests"]), "", false),
    ] {
        let state = json!({"quests": {"ring": "open"}, "player": {"gold": 1}});
        gorm(
            &mut oam,
            state.clone(),
            [write_world(path, "{\"ring\":1}"), reply("sad", "Hm.")],
            json!({"worldWritable": writable}),
        );
        let (output, failed) = output(&mut oam);
        assert_eq!(!failed, is_allowed, "{writable} {path}: {output}");
        if !is_allowed {
            let told = format!("is read-only. You may change: {}.", writable[0].as_str().unwrap());
            assert!(output.contains(path) && output.ends_with(&told), "{output}");
            assert_eq!(oam.ok("world/snapshot", json!({"world": "w"}))["state"], state);
        }
        again(&mut oam);
    }
}

#[test]
fn subscribers_hear_of_writes_before_the_answer() {
    let mut oam = Oam::start();
    let steps = [
        calls(&[
            ("update_world_state", json!({"path": "player.gold", "value": "45"})),
            ("update_world_state", json!({"path": "player.gold", "value": "45"})),
        ]),
        write_world("player.title", "Knight"),
        reply("sad", "Hm."),
    ];
    gorm(&mut oam, json!({"player": {"gold": 60}}), steps, json!({"worldWritable": ["player"]}));
    oam.ok("world/subscribe", json!({"world": "w", "path": "player.gold"}));
    oam.ok("world/subscribe", json!({"world": "w"}));
    let turn = oam.start_talk_with("gorm", "x", json!({"stream": true}));
    let result = oam.wait_ok(&turn);
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 3);
    assert_eq!(oam.ok("world/get", json!({"world": "w"}))["version"], 2, "the same again is no change");
    let changes: Vec<_> = oam
        .messages()
        .iter()
        .filter(|message| message.method() == Some("world/changed"))
        .map(|message| message.value["params"].clone())
        .collect();
    let gold = |subscription| json!({"world": "w", "subscription": subscription, "path": "player.gold", "oldValue": 60, "newValue": 45});
    let title = json!({"world": "w", "subscription": "sub2", "path": "player.title", "newValue": "Knight"});
    assert_eq!(changes, [gold("sub1"), gold("sub2"), title]);
    let last = oam.messages().iter().rposition(|message| message.method() == Some("world/changed")).unwrap();
    assert!(last < oam.answer_position(&turn));
}

#[test]
fn what_is_written_stays_however_the_turn_ends() {
    let mut oam = Oam::start();
    for ending in [
        vec![error("busy")],
        vec![error("refusal"), error("refusal")],
        vec![error("refusal"), text("[sad] Hm.")],
        vec![reply("sad", "Hm.")],
    ] {
        let steps = [write_world("log", "[1]")].into_iter().chain(ending.clone());
        gorm(&mut oam, json!({}), steps, json!({"worldWritable": [""]}));
        oam.call("npc/talk", json!({"npc": "gorm", "line": "x"})).ok();
        let now = oam.ok("world/get", json!({"world": "w", "path": "log"}));
        assert_eq!((&now["value"], &now["version"]), (&json!([1]), &json!(1)), "{ending:?}");
        again(&mut oam);
    }
}

#[test]
fn npcs_of_a_deleted_world_keep_it_to_themselves() {
    let mut oam = Oam::start();
    gorm(
        &mut oam,
        json!({"gold": 1}),
        [write_world("gold", "2"), read("gold"), reply("sad", "Hm.")],
        json!({"worldWritable": [""], "worldContextPaths": ["gold"]}),
    );
    oam.ok("world/subscribe", json!({"world": "w"}));
    assert_eq!(oam.ok("world/delete", json!({"world": "w"}))["endedSubscriptions"], 1);
    oam.ok("world/create", json!({"world": "w", "state": {"gold": 100}}));
    let turn = oam.talk("gorm", "x");
    assert_eq!(turn["toolCalls"][1]["output"], 2);
    assert_eq!(oam.npc_prompts("gorm"), ["Game state:\ngold: 1\nPlayer: x"]);
    assert_eq!(oam.listed_npc("gorm")["world"], "w");
    assert_eq!(oam.ok("world/get", json!({"world": "w", "path": "gold"}))["value"], 100);
    assert_eq!(oam.count("world/changed"), 0);
}

#[test]
fn what_one_npc_writes_another_reads() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w", "state": {"gold": 1}}));
    for (npc, step) in [("a", write_world("gold", "2")), ("b", read("gold"))] {
        let options = json!({"worldWritable": [""], "worldContextPaths": ["gold"]});
        oam.npc_with(npc, [step, reply("sad", "Hm.")], json!({"world": "w", "options": options}));
    }
    assert_eq!(oam.ok("world/list", json!({}))["worlds"][0]["npcs"], 2);
    oam.talk("a", "x");
    assert_eq!(oam.talk("b", "x")["toolCalls"][0]["output"], 2);
    assert_eq!(oam.npc_prompts("b"), ["Game state:\ngold: 2\nPlayer: x"]);
}
