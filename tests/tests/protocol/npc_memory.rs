//! What an NPC remembers: tools that stage, turns that apply.

use oam_tests::{
    Oam,
    script::{call, calls, error, feel, remember, reply, template, text, tool},
};
use serde_json::{Value, json};

/// An NPC "gorm" with this memory and all memory tools.
fn gorm(oam: &mut Oam, steps: impl IntoIterator<Item = Value>, memory: Value, options: Value) {
    let mut all = json!({"memoryTools": "all"});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    oam.npc_with("gorm", steps, json!({"memory": memory, "options": all, "tools": [tool("look")]}));
}

fn memory(oam: &mut Oam) -> Value {
    oam.saved_npc("gorm")["memory"].clone()
}

/// What the memory tools returned in a turn.
fn outputs(turn: &Value) -> Vec<(String, bool)> {
    let records = turn["toolCalls"].as_array().unwrap().iter();
    records.map(|record| (record["output"].as_str().unwrap().to_owned(), record["isError"] == true)).collect()
}

#[test]
fn a_turn_that_succeeds_applies_what_its_tools_staged() {
    let mut oam = Oam::start();
    gorm(
        &mut oam,
        [
            calls(&[
                ("remember_fact", json!({"fact": " Aria likes axes. "})),
                ("change_relationship", json!({"reason": "Kind.", "delta": 7})),
            ]),
            feel(4),
            reply("happy", "Hm."),
        ],
        json!({"facts": ["Old."], "relationship": 10, "summary": "They met."}),
        json!({}),
    );
    let turn = oam.talk("gorm", "Hello");
    assert_eq!(turn["relationship"], 21);
    let mut told = outputs(&turn);
    assert_eq!(told.pop().unwrap(), ("You now feel friendly toward the player (21).".to_owned(), false));
    told.sort();
    assert_eq!(
        told,
        [
            ("Remembered.".to_owned(), false),
            ("You now feel neutral toward the player (17).".to_owned(), false)
        ]
    );
    assert_eq!(
        memory(&mut oam),
        json!({"facts": ["Old.", "Aria likes axes."], "relationship": 21, "summary": "They met."})
    );
    assert_eq!(oam.count("tool/call"), 0, "nobody else is asked");
}

#[test]
fn a_change_is_limited_per_call_and_in_all() {
    let mut oam = Oam::start();
    for (start, options, deltas, expected) in [
        (0, json!({}), vec![50], 10),
        (0, json!({}), vec![-50], -10),
        (0, json!({"maxRelationshipChange": 3}), vec![50, -1, 2], 4),
        (0, json!({"maxRelationshipChange": 0}), vec![50], 1),
        (0, json!({"maxRelationshipChange": -5}), vec![-50], -1),
        (95, json!({}), vec![10, -3], 97),
        (-95, json!({"maxRelationshipChange": 1000}), vec![-1000, 5], -95),
        (100, json!({"maxRelationshipChange": 1000}), vec![-150], -50),
        (0, json!({}), vec![0], 0),
        (0, json!({"maxRelationshipChange": 1000}), vec![9_007_199_254_740_991, -1], 99),
    ] {
        let steps = deltas.iter().map(|delta| feel(*delta)).chain([reply("sad", "Hm.")]);
        let rounds = json!({"maxToolRounds": 10});
        let mut all = options.as_object().unwrap().clone();
        all.extend(rounds.as_object().unwrap().clone());
        gorm(&mut oam, steps, json!({"relationship": start}), all.into());
        let turn = oam.talk("gorm", "x");
        assert_eq!(turn["relationship"], expected, "{start} {options} {deltas:?}");
        assert_eq!(oam.listed_npc("gorm")["relationship"], expected);
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn the_model_is_told_how_the_character_feels_now() {
    let mut oam = Oam::start();
    for (relationship, attitude) in [
        (-61, "hostile"),
        (-60, "unfriendly"),
        (-21, "unfriendly"),
        (-20, "neutral"),
        (20, "neutral"),
        (21, "friendly"),
        (60, "friendly"),
        (61, "trusting"),
    ] {
        gorm(&mut oam, [feel(0), reply("sad", "Hm.")], json!({"relationship": relationship}), json!({}));
        let turn = oam.talk("gorm", "x");
        let told = format!("You now feel {attitude} toward the player ({relationship}).");
        assert_eq!(outputs(&turn), [(told, false)]);
        let note =
            format!("- You feel {attitude} toward the player ({relationship} on a scale from -100 to 100).");
        assert!(oam.npc_instructions("gorm").contains(&note));
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn wrong_arguments_are_named_and_stage_nothing() {
    let mut oam = Oam::start();
    let cases = [
        (
            "remember_fact",
            json!({}),
            "Argument 'fact' of tool 'remember_fact' must be a string; got nothing.",
        ),
        (
            "remember_fact",
            json!({"fact": 5}),
            "Argument 'fact' of tool 'remember_fact' must be a string; got 5.",
        ),
        (
            "remember_fact",
            json!({"fact": null}),
            "Argument 'fact' of tool 'remember_fact' must be a string; got null.",
        ),
        ("remember_fact", json!({"fact": " \n"}), "The fact is empty."),
        (
            "change_relationship",
            json!({"delta": 3}),
            "Argument 'reason' of tool 'change_relationship' must be a string; got nothing.",
        ),
        (
            "change_relationship",
            json!({"reason": "x"}),
            "Argument 'delta' of tool 'change_relationship' must be an integer; got nothing.",
        ),
        (
            "change_relationship",
            json!({"reason": "x", "delta": "3"}),
            "Argument 'delta' of tool 'change_relationship' must be an integer; got \"3\".",
        ),
        (
            "change_relationship",
            json!({"reason": "x", "delta": 1.5}),
            "Argument 'delta' of tool 'change_relationship' must be an integer; got 1.5.",
        ),
    ];
    for (tool, arguments, message) in cases {
        gorm(&mut oam, [call(tool, arguments), reply("sad", "Hm.")], json!({"relationship": 4}), json!({}));
        let turn = oam.talk("gorm", "x");
        assert_eq!(outputs(&turn), [(message.to_owned(), true)]);
        assert_eq!(memory(&mut oam), json!({"facts": [], "relationship": 4}));
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn what_is_known_is_not_remembered_again() {
    let mut oam = Oam::start();
    gorm(
        &mut oam,
        [
            remember("the players name is ARIA"),
            remember("Aria likes axes."),
            remember("aria likes AXES!"),
            reply("sad", "Hm."),
        ],
        json!({"facts": ["The player's name is Aria."]}),
        json!({"maxToolRounds": 5}),
    );
    let told: Vec<_> = outputs(&oam.talk("gorm", "x")).into_iter().map(|(output, _)| output).collect();
    assert_eq!(told, ["You already know that.", "Remembered.", "You already know that."]);
    assert_eq!(memory(&mut oam)["facts"], json!(["The player's name is Aria.", "Aria likes axes."]));
}

#[test]
fn the_oldest_facts_make_room() {
    let mut oam = Oam::start();
    for (max, given, kept) in [
        (json!(3), json!(["a", "b", "c"]), json!(["b", "c", "new"])),
        (json!(2), json!(["a", "b", "c", "d"]), json!(["d", "new"])),
        (json!(1), json!([]), json!(["new"])),
        (json!(0), json!(["a"]), json!([])),
        (json!(-4), json!(["a"]), json!([])),
        (json!(100), json!(["a"]), json!(["a", "new"])),
    ] {
        gorm(
            &mut oam,
            [reply("sad", "Hm."), remember("new"), reply("sad", "Hm.")],
            json!({"facts": given}),
            json!({"maxFacts": max}),
        );
        oam.talk("gorm", "x");
        assert_eq!(
            memory(&mut oam)["facts"],
            given,
            "what the game gave stays until something new is learnt"
        );
        oam.talk("gorm", "x");
        assert_eq!(memory(&mut oam)["facts"], kept, "{max}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn changes_show_when_the_turn_is_over() {
    let mut oam = Oam::start();
    gorm(
        &mut oam,
        [
            calls(&[
                ("remember_fact", json!({"fact": "New."})),
                ("change_relationship", json!({"reason": "Kind.", "delta": 7})),
            ]),
            call("look", json!({})),
            reply("happy", "Hm."),
        ],
        json!({}),
        json!({}),
    );
    let turn = oam.start_talk("gorm", "Hello");
    let call = oam.tool_call();
    let unsettled = oam.ok("npc/state", json!({"npc": "gorm", "settle": false}));
    assert_eq!(unsettled["state"]["memory"], json!({"facts": [], "relationship": 0}));
    assert_eq!(oam.listed_npc("gorm")["relationship"], 0);
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&turn)["relationship"], 7);
    assert_eq!(memory(&mut oam), json!({"facts": ["New."], "relationship": 7}));
}

#[test]
fn a_turn_that_comes_to_nothing_leaves_the_memory_alone() {
    let mut oam = Oam::start();
    let old = json!({"facts": ["Old."], "relationship": 4});
    for ending in [
        vec![error("context_size_exceeded")],
        vec![error("generation_failed")],
        vec![error("refusal"), error("guardrail_violation")],
        vec![error("refusal"), error("busy")],
    ] {
        let steps =
            [remember("New."), feel(5)].into_iter().chain(ending.clone()).chain([reply("sad", "Hm.")]);
        gorm(&mut oam, steps, old.clone(), json!({}));
        oam.call("npc/talk", json!({"npc": "gorm", "line": "x"})).ok();
        assert_eq!(memory(&mut oam), old, "{ending:?}");
        assert_eq!(oam.talk("gorm", "x")["relationship"], 4, "{ending:?}: nothing is left for the next turn");
        assert_eq!(memory(&mut oam), old);
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_cancelled_turn_leaves_the_memory_alone() {
    let mut oam = Oam::start();
    gorm(&mut oam, [feel(5), call("look", json!({})), reply("sad", "Hm.")], json!({}), json!({}));
    let turn = oam.start_talk("gorm", "x");
    oam.tool_call();
    oam.ok("npc/cancel", json!({"npc": "gorm"}));
    oam.wait_fails(&turn);
    assert_eq!(oam.talk("gorm", "x")["relationship"], 0);
}

#[test]
fn the_second_try_as_text_applies_what_the_first_one_staged() {
    let mut oam = Oam::start();
    gorm(&mut oam, [remember("New."), feel(5), error("refusal"), text("[sad] Hm.")], json!({}), json!({}));
    assert_eq!(oam.talk("gorm", "x")["relationship"], 5);
    assert_eq!(memory(&mut oam), json!({"facts": ["New."], "relationship": 5}));
}

#[test]
fn the_next_turn_is_told_what_was_remembered() {
    let mut oam = Oam::start();
    gorm(
        &mut oam,
        [remember("Aria is brave"), feel(9), reply("sad", "Hm."), reply("sad", "Hm.")],
        json!({}),
        json!({}),
    );
    oam.talk("gorm", "x");
    assert!(!oam.npc_instructions("gorm").contains("Aria"));
    oam.talk("gorm", "x");
    let instructions = oam.npc_instructions("gorm");
    let note = "\n\nMemory:\n- You feel neutral toward the player (9 on a scale from -100 to 100).\n\
        - You remember: Aria is brave.";
    assert!(instructions.ends_with(note), "{instructions}");
}

#[test]
fn a_reset_keeps_the_memory_unless_told() {
    let mut oam = Oam::start();
    let full = json!({"facts": ["Old."], "relationship": 30, "summary": "They met."});
    for (params, kept) in [
        (json!({"npc": "gorm"}), full.clone()),
        (json!({"npc": "gorm", "clearMemory": false}), full.clone()),
        (json!({"npc": "gorm", "clearMemory": true}), json!({"facts": [], "relationship": 0})),
    ] {
        gorm(&mut oam, [reply("sad", "Hm."), reply("sad", "Hm.")], full.clone(), json!({}));
        oam.talk("gorm", "x");
        oam.ok("npc/reset", params.clone());
        assert_eq!(memory(&mut oam), kept);
        assert_eq!(oam.npc_entries("gorm").len(), 0);
        oam.talk("gorm", "y");
        assert_eq!(
            oam.npc_instructions("gorm").contains("They met."),
            kept != json!({"facts": [], "relationship": 0})
        );
        assert_eq!(oam.npc_prompts("gorm"), ["Player: y"]);
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn secrets_come_into_view_with_the_relationship() {
    let mut oam = Oam::start();
    for (threshold, relationship, is_told) in [
        (json!(50), 49, false),
        (json!(50), 50, true),
        (json!(-10), -10, true),
        (json!(-10), -11, false),
        (json!(null), -100, true),
    ] {
        oam.npc_with(
            "gorm",
            [template("[sad] Hm.")],
            json!({"persona": {"name": "Gorm", "secrets": ["He cannot read"]}, "memory": {"relationship": relationship},
                "options": {"replyFormat": "text", "secretsUnlockAtRelationship": threshold}}),
        );
        oam.talk("gorm", "x");
        let instructions = oam.npc_instructions("gorm");
        assert_eq!(
            instructions.contains("Your secret: He cannot read."),
            is_told,
            "{threshold} {relationship}"
        );
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}
