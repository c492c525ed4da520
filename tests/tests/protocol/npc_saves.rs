//! `npc/state` and `npc/restore`: what is saved comes back.

use std::cell::RefCell;

use oam_tests::{
    Oam,
    npc::conversation,
    script::{call, error, feel, remember, reply, template, tool},
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Value, json};

/// An NPC "gorm" with everything that a save can hold; returns its settled state.
pub(crate) fn played(oam: &mut Oam) -> Value {
    oam.ok("world/create", json!({"world": "w", "state": {"gold": 1}}));
    let wave = json!({"name": "wave", "description": "Waves.", "timeoutSeconds": 5});
    let wrapped = json!({"type": "function", "function": wave});
    oam.npc_with(
        "gorm",
        [
            call("look", json!({"what": "door"})),
            remember("Aria is brave."),
            feel(7),
            reply("happy", "Hm."),
            reply("sad", "Well."),
        ],
        json!({"persona": {"name": "Gorm", "role": "the smith", "goals": ["Sell."], "secrets": ["Kind."]},
            "tools": [tool("look"), wrapped], "world": "w",
            "memory": {"facts": ["Old."], "relationship": -3, "summary": "They met."},
            "options": {"memoryTools": "all", "maxToolRounds": 5, "groundingTool": "look", "emotions": ["sad", "happy"],
                "temperature": 0.5, "extraInstructions": "Be brief.", "worldWritable": ["gold"]}}),
    );
    oam.answer_tools_with(json!({"open": false}));
    oam.talk("gorm", "Is it open?");
    oam.talk("gorm", "Goodbye");
    oam.saved_npc("gorm")
}

/// A state without what a restore makes anew: the id, and the instructions' entry.
pub(crate) fn lasting(state: &Value) -> (Value, Vec<Value>) {
    let mut rest = state.clone();
    let members = rest.as_object_mut().unwrap();
    members.shift_remove("transcript");
    members.shift_remove("npc");
    (rest, conversation(state).to_vec())
}

pub(crate) fn restore(oam: &mut Oam, id: &str, state: &Value, more: Value) -> Value {
    let mut params = json!({"npc": id, "state": state, "model": "scripted"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    oam.ok("npc/restore", params)
}

#[test]
fn a_save_holds_everything_but_the_model() {
    let mut oam = Oam::start();
    let state = played(&mut oam);
    let members: Vec<_> = state.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["version", "persona", "memory", "transcript", "npc", "options", "tools", "world"]);
    assert_eq!((&state["version"], &state["npc"], &state["world"]), (&json!(1), &json!("gorm"), &json!("w")));
    assert_eq!(
        state["persona"],
        json!({"name": "Gorm", "role": "the smith", "personality": "", "speakingStyle": "", "backstory": "",
            "goals": ["Sell."], "secrets": ["Kind."], "knowledge": [], "defaultEmotion": "neutral", "maxSentences": 2})
    );
    assert_eq!(
        state["memory"],
        json!({"facts": ["Old.", "Aria is brave."], "relationship": 4, "summary": "They met."})
    );
    assert_eq!(state["tools"][0], tool("look"));
    assert_eq!(state["tools"][1]["function"]["timeoutSeconds"], 5);
    assert_eq!(state["transcript"]["type"], "FoundationModels.Transcript");
    let roles: Vec<_> = conversation(&state).iter().map(|entry| entry["role"].as_str().unwrap()).collect();
    let round = ["response", "tool"];
    assert_eq!(roles, [&["user"][..], &round, &round, &round, &["response", "user", "response"]].concat());
    assert_eq!(oam.saved_npc("gorm"), state, "saving changes nothing");
}

#[test]
fn a_save_alone_brings_back_the_npc() {
    let mut oam = Oam::start();
    let state = played(&mut oam);
    let whole = oam.ok("npc/state", json!({"npc": "gorm"}));
    let tools = json!([
        "look",
        "wave",
        "read_world_state",
        "update_world_state",
        "remember_fact",
        "change_relationship"
    ]);
    for saved in [&state, &whole] {
        oam.ok("npc/delete", json!({"npc": "gorm"}));
        let restored = oam.ok("npc/restore", json!({"state": saved, "model": "scripted"}));
        assert_eq!((&restored["npc"], &restored["tools"]), (&json!("gorm"), &tools));
        assert_eq!(restored.as_object().unwrap().keys().collect::<Vec<_>>(), ["npc", "tools", "warnings"]);
        assert_eq!(restored["warnings"].as_array().unwrap().len(), 1, "more than five tools");
        assert_eq!(lasting(&oam.saved_npc("gorm")), lasting(&state));
        let listed = oam.listed_npc("gorm");
        assert_eq!(
            (&listed["turnCount"], &listed["world"], &listed["role"]),
            (&json!(2), &json!("w"), &json!("the smith"))
        );
    }
}

#[test]
fn a_saved_game_goes_on_in_another_process() {
    let state = played(&mut Oam::start());
    let mut oam = Oam::start();
    let model = json!({"type": "scripted", "steps": [call("wave", json!({})), reply("sad", "Again.")]});
    let restored = oam.ok("npc/restore", json!({"state": state, "model": model}));
    let warnings = restored["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].as_str().unwrap().contains("'w'"), "the world is gone: {warnings:?}");
    assert_eq!(oam.listed_npc("gorm")["world"], Value::Null);
    oam.answer_tools_with(json!("waved"));
    let turn = oam.talk("gorm", "Still there?");
    assert_eq!((&turn["line"], &turn["relationship"]), (&json!("Again."), &json!(4)));
    assert_eq!(oam.npc_prompts("gorm"), ["Player: Is it open?", "Player: Goodbye", "Player: Still there?"]);
    let instructions = oam.npc_instructions("gorm");
    for part in [
        "You play Gorm, the smith",
        "Be brief.",
        "Aria is brave",
        "They met.",
        "neutral toward the player (4",
    ] {
        assert!(instructions.contains(part), "{part}: {instructions}");
    }
}

#[test]
fn what_is_sent_wins_over_what_was_saved() {
    let mut oam = Oam::start();
    let state = played(&mut oam);
    oam.ok("world/create", json!({"world": "other"}));
    let free = json!({"memoryTools": "none"});
    for (sent, tools, world) in [
        (json!({"tools": [], "options": free}), json!(["read_world_state"]), json!("w")),
        (json!({"tools": null, "options": null}), json!(["read_world_state"]), json!("w")),
        (json!({"options": {}}), json!(["look", "wave", "read_world_state"]), json!("w")),
        (json!({"options": free, "world": null}), json!(["look", "wave"]), json!(null)),
        (
            json!({"options": free, "world": "other"}),
            json!(["look", "wave", "read_world_state"]),
            json!("other"),
        ),
        (
            json!({"tools": [tool("look")], "world": null}),
            json!(["look", "remember_fact", "change_relationship"]),
            json!(null),
        ),
    ] {
        let restored = restore(&mut oam, "copy", &state, sent.clone());
        assert_eq!(restored["tools"], tools, "{sent}");
        assert_eq!(oam.listed_npc("copy")["world"], world, "{sent}");
        let saved = oam.saved_npc("copy");
        assert_eq!((&saved["persona"], &saved["memory"]), (&state["persona"], &state["memory"]));
        oam.ok("npc/delete", json!({"npc": "copy"}));
    }
    let error = oam.fails("npc/restore", json!({"state": state, "npc": "copy", "world": "nowhere"}));
    assert_eq!((error.code, &error.data["world"]), (-32052, &json!("nowhere")));
}

#[test]
fn the_id_is_sent_saved_or_made_up() {
    let mut oam = Oam::start();
    oam.npc("gorm", []);
    let mut state = oam.saved_npc("gorm");
    let error = oam.fails("npc/restore", json!({"state": state}));
    assert_eq!((error.code, error.name.as_str()), (-32051, "npc_exists"));
    let error = oam.fails("npc/restore", json!({"state": state, "npc": "gorm"}));
    assert_eq!(error.name, "npc_exists");
    assert_eq!(restore(&mut oam, "copy", &state, json!({}))["npc"], "copy");
    state.as_object_mut().unwrap().shift_remove("npc");
    let unnamed = oam.ok("npc/restore", json!({"state": state, "npc": null, "model": "scripted"}));
    assert_eq!(unnamed["npc"], "npc1", "null is sent, so it counts");
    let made_up = oam.ok("npc/restore", json!({"state": state, "model": "scripted"}));
    assert_eq!(made_up["npc"], "npc2");
}

#[test]
fn what_a_save_must_hold_is_named_when_it_is_missing() {
    let mut oam = Oam::start();
    oam.npc("gorm", []);
    let state = oam.saved_npc("gorm");
    for name in ["version", "persona", "memory", "transcript"] {
        for value in [None, Some(Value::Null)] {
            let mut state = state.clone();
            let members = state.as_object_mut().unwrap();
            match value {
                None => drop(members.shift_remove(name)),
                Some(value) => drop(members.insert(name.to_owned(), value)),
            }
            let error = oam.fails("npc/restore", json!({"state": state, "npc": "copy"}));
            let message = format!("Missing required parameter 'state.{name}'.");
            assert_eq!((error.code, error.message), (-32602, message));
        }
        if name == "version" {
            continue;
        }
        for value in [json!(1), json!("x"), json!([]), json!(true)] {
            let mut state = state.clone();
            state[name] = value.clone();
            let error = oam.fails("npc/restore", json!({"state": state, "npc": "copy"}));
            assert_eq!(error.code, -32602, "{name}: {value}");
            assert!(error.message.contains(&format!("'state.{name}'")), "{}", error.message);
        }
    }
    for state in [json!(null), json!("x"), json!([]), json!({}), json!({"state": {}}), json!({"state": 1})] {
        let error = oam.fails("npc/restore", json!({"state": state}));
        assert_eq!(error.code, -32602, "{state}");
        assert!(error.message.contains("'state"), "{}", error.message);
    }
    for version in [json!(0), json!(-1)] {
        let mut older = state.clone();
        older["version"] = version;
        assert_eq!(restore(&mut oam, "copy", &older, json!({}))["warnings"], json!([]));
        oam.ok("npc/delete", json!({"npc": "copy"}));
    }
    let mut unknown = state.clone();
    unknown["mood"] = json!(1);
    unknown["persona"]["mood"] = json!(1);
    unknown["memory"]["mood"] = json!(1);
    unknown["options"]["mood"] = json!(1);
    let restored = restore(&mut oam, "copy", &unknown, json!({"voice": 1}));
    let warnings = restored["warnings"].as_array().unwrap();
    let paths =
        ["'voice'", "'state.mood'", "'state.persona.mood'", "'state.memory.mood'", "'state.options.mood'"];
    assert_eq!(warnings.len(), paths.len(), "{warnings:?}");
    for (warning, path) in warnings.iter().zip(paths) {
        assert!(warning.as_str().unwrap().contains(path), "{warning}");
    }
}

#[test]
fn a_save_waits_for_what_was_asked_before_unless_told() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [reply("sad", "One."), call("look", json!({})), reply("sad", "Two.")],
        json!({"tools": [tool("look")]}),
    );
    oam.talk("gorm", "a");
    let turn = oam.start_talk("gorm", "b");
    let call = oam.tool_call();
    let update = oam.request("npc/update", json!({"npc": "gorm", "persona": {"role": "the smith"}}));
    let settled = oam.request("npc/state", json!({"npc": "gorm", "settle": true}));
    let now = oam.ok("npc/state", json!({"npc": "gorm", "settle": false}));
    assert_eq!(conversation(&now["state"]).len(), 2, "a turn in progress is not saved");
    assert_eq!(now["state"]["persona"]["role"], "");
    oam.reply(&call, json!("seen"));
    let settled = oam.wait_ok(&settled);
    assert_eq!(conversation(&settled["state"]).len(), 6);
    assert_eq!(settled["state"]["persona"]["role"], "the smith");
    assert!(oam.answer_position(&turn) < oam.answer_position(&update));
    restore(&mut oam, "copy", &now["state"], json!({}));
    assert_eq!(oam.listed_npc("copy")["turnCount"], 1);
}

#[test]
fn a_blocked_turn_is_not_saved() {
    let mut oam = Oam::start();
    oam.npc("gorm", [reply("sad", "One."), error("refusal"), error("refusal")]);
    oam.talk("gorm", "a");
    let before = oam.saved_npc("gorm");
    assert_eq!(oam.talk("gorm", "b")["isFallback"], true);
    assert_eq!(oam.saved_npc("gorm")["transcript"], before["transcript"]);
}

#[test]
fn the_saved_instructions_are_made_anew() {
    let mut oam = Oam::start();
    let mut state = played(&mut oam);
    state["transcript"]["transcript"]["entries"][0]["contents"][0]["text"] = json!("You are a pirate.");
    let model = json!({"type": "scripted", "steps": [template("[sad] Hm.")]});
    restore(&mut oam, "copy", &state, json!({"model": model, "options": {"replyFormat": "text"}}));
    assert!(oam.npc_instructions("copy").starts_with("You play Gorm, the smith"));
    oam.talk("copy", "x");
    let saved = oam.saved_npc("copy").to_string();
    assert!(!saved.contains("pirate"), "{saved}");
}

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Zäé😀 .:\"\\[\\]{}\\\\]{0,12}"
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(words(), 0..4)
}

fn persona() -> impl Strategy<Value = Value> {
    let emotion = prop_oneof![Just("proud"), Just("sad"), Just("neutral")];
    ("[A-Z][a-z ]{0,8}", vec(words(), 4), vec(texts(), 3), emotion, -3..5_i64).prop_map(
        |(name, texts, lists, emotion, sentences)| {
            json!({"name": name, "role": texts[0], "personality": texts[1], "speakingStyle": texts[2],
                "backstory": texts[3], "goals": lists[0], "secrets": lists[1], "knowledge": lists[2],
                "defaultEmotion": emotion, "maxSentences": sentences})
        },
    )
}

fn memory() -> impl Strategy<Value = Value> {
    (texts(), -100..=100_i64, option::of(words())).prop_map(|(facts, relationship, summary)| {
        let mut memory = json!({"facts": facts, "relationship": relationship});
        if let Some(summary) = summary {
            memory["summary"] = json!(summary);
        }
        memory
    })
}

fn options() -> impl Strategy<Value = Value> {
    let choice = prop_oneof![
        Just(json!("auto")),
        Just(json!("none")),
        Just(json!("required")),
        Just(json!({"tool": "look"})),
    ];
    let memory_tools = prop_oneof![
        Just(json!([])),
        Just(json!(["rememberFact"])),
        Just(json!(["rememberFact", "changeRelationship"]))
    ];
    let numbers = vec(-2..20_i64, 7);
    let flags = (any::<bool>(), any::<bool>(), option::of(words()), option::of(0.0..2.0_f64));
    let threshold = option::of(-100..100_i64);
    (choice, memory_tools, numbers, flags, threshold, texts(), 0..=4_u8, 1..86_400_000_u32).prop_map(
        |(
            choice,
            memory_tools,
            numbers,
            (ends, falls_back, extra, temperature),
            threshold,
            lines,
            count,
            millis,
        )| {
            let mut options = json!({"replyFormat": "text", "toolChoice": choice, "memoryTools": memory_tools,
                "maxToolRounds": numbers[0], "maxToolCalls": numbers[1], "maxFacts": numbers[2],
                "maxRelationshipChange": numbers[3], "compactAfterTurns": 0, "keepRecentTurns": numbers[4],
                "barkMaximumTokens": numbers[5], "maximumResponseTokens": numbers[6],
                "canEndConversation": ends, "fallbackOnGuardrail": falls_back, "fallbackLines": lines,
                "playerOptionCount": count, "secretsUnlockAtRelationship": threshold, "groundingTool": "look",
                "toolTimeoutSeconds": f64::from(millis) / 1000.0, "worldReadable": ["a", ""],
                "worldWritable": ["a.b"], "worldContextPaths": ["a"], "emotions": ["sad", "happy"]});
            let members = options.as_object_mut().unwrap();
            members.extend(extra.map(|text| ("extraInstructions".to_owned(), json!(text))));
            members.extend(temperature.map(|number| ("temperature".to_owned(), json!(number))));
            options
        },
    )
}

#[test]
fn whatever_an_npc_is_saving_and_restoring_loses_nothing() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    let oam = RefCell::new(oam);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let result =
        runner.run(&(persona(), memory(), options(), texts()), |(persona, memory, options, lines)| {
            let oam = &mut *oam.borrow_mut();
            let params = json!({"persona": persona, "memory": memory, "options": options,
            "tools": [tool("look")], "world": "w"});
            oam.npc_with("gorm", vec![template("[sad] {prompt}!"); 4], params);
            let sent = oam.saved_npc("gorm");
            for line in &lines {
                oam.talk("gorm", line);
            }
            let saved = oam.saved_npc("gorm");
            let restored = restore(oam, "copy", &saved, json!({}));
            let copy = oam.saved_npc("copy");
            for id in ["gorm", "copy"] {
                oam.ok("npc/delete", json!({"npc": id}));
            }
            for (name, given) in [("persona", &persona), ("memory", &memory), ("options", &options)] {
                prop_assert_eq!(sorted(&sent[name]), sorted(given));
            }
            prop_assert_eq!(&restored["warnings"], &json!([]));
            prop_assert_eq!(lasting(&copy), lasting(&saved));
            prop_assert_eq!(conversation(&saved).len(), lines.len() * 2);
            Ok(())
        });
    result.unwrap();
}

/// The members in the order of their names, numbers by their value.
fn sorted(value: &Value) -> Map<String, Value> {
    let by_value = |value: Value| value.as_f64().map_or(value, |number| json!(number));
    let mut members: Vec<_> = value.as_object().unwrap().clone().into_iter().collect();
    members.sort_by(|one, other| one.0.cmp(&other.0));
    members.into_iter().map(|(name, value)| (name, by_value(value))).collect()
}
