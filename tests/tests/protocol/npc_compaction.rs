//! Compaction: after a turn, older turns become the summary in an NPC's memory, in the background.

use oam_tests::{
    Oam,
    script::{endless, error, reply, template, text},
};
use serde_json::{Value, json};

/// An NPC "gorm" that has answered `turns` turns "p1", "p2", …; the last of them is followed by `steps`.
fn talked(oam: &mut Oam, turns: usize, steps: impl IntoIterator<Item = Value>, options: Value) {
    let answers = (1..=turns).map(|number| reply("sad", &format!("a{number}")));
    oam.npc_with("gorm", answers.chain(steps), json!({"options": options}));
    for number in 1..=turns {
        oam.talk("gorm", &format!("p{number}"));
    }
}

fn summary(oam: &mut Oam) -> Value {
    oam.saved_npc("gorm")["memory"]["summary"].clone()
}

#[test]
fn it_starts_when_there_are_enough_turns() {
    let mut oam = Oam::start();
    for (options, turns, left) in [
        (json!({}), 7, None),
        (json!({}), 8, Some(2)),
        (json!({"compactAfterTurns": 3, "keepRecentTurns": 1}), 2, None),
        (json!({"compactAfterTurns": 3, "keepRecentTurns": 1}), 3, Some(1)),
        (json!({"compactAfterTurns": 1, "keepRecentTurns": 0}), 1, Some(0)),
        (json!({"compactAfterTurns": 1, "keepRecentTurns": -5}), 1, Some(0)),
        (json!({"compactAfterTurns": 1, "keepRecentTurns": 3}), 3, None),
        (json!({"compactAfterTurns": 1, "keepRecentTurns": 3}), 4, Some(3)),
        (json!({"compactAfterTurns": 0}), 10, None),
        (json!({"compactAfterTurns": -1, "keepRecentTurns": 0}), 10, None),
    ] {
        talked(&mut oam, turns, [text(" They talked. \n"), reply("sad", "next")], options.clone());
        let expected = if left.is_some() { json!("They talked.") } else { Value::Null };
        assert_eq!(summary(&mut oam), expected, "{options} {turns}");
        let kept: Vec<_> =
            (turns - left.unwrap_or(turns) + 1..=turns).map(|number| format!("Player: p{number}")).collect();
        assert_eq!(oam.npc_prompts("gorm"), kept, "{options} {turns}");
        assert_eq!(oam.listed_npc("gorm")["turnCount"], left.unwrap_or(turns));
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn the_model_is_shown_the_older_turns_and_the_summary_so_far() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 2, "keepRecentTurns": 1});
    talked(&mut oam, 2, [template("{prompt}"), reply("sad", "a3"), template("{prompt}")], options);
    let first = summary(&mut oam);
    let first = first.as_str().unwrap();
    assert!(first.starts_with("Conversation to fold into the summary:\n"), "{first}");
    assert!(
        first.contains("Player: Player: p1") && first.contains("Gorm: {") && first.contains("a1"),
        "{first}"
    );
    assert!(!first.contains("p2") && !first.contains("Summary so far"), "{first}");
    oam.ok(
        "npc/update",
        json!({"npc": "gorm", "memory": {"summary": "They met.", "facts": ["Aria is brave."]}}),
    );
    oam.talk("gorm", "p3");
    let second = summary(&mut oam);
    let second = second.as_str().unwrap();
    assert!(
        second.starts_with("Summary so far:\nThey met.\n\nConversation to fold into the summary:\n"),
        "{second}"
    );
    assert!(second.contains("p2") && !second.contains("brave"), "{second}");
}

#[test]
fn the_next_turn_waits_for_it_and_is_told() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 2, "keepRecentTurns": 1});
    let slow = json!({"text": "They talked.", "delayMs": 100});
    oam.npc_with(
        "gorm",
        [reply("sad", "a1"), reply("sad", "a2"), slow, reply("sad", "a3"), endless()],
        json!({"options": options}),
    );
    let turns = ["p1", "p2", "p3"].map(|line| oam.start_talk("gorm", line));
    for (turn, line) in turns.iter().zip(["a1", "a2", "a3"]) {
        assert_eq!(oam.wait_ok(turn)["line"], line);
    }
    let now = oam.ok("npc/state", json!({"npc": "gorm", "settle": false}));
    let entries = now["state"]["transcript"]["transcript"]["entries"].as_array().unwrap();
    let instructions = entries[0]["contents"][0]["text"].as_str().unwrap();
    assert!(instructions.ends_with("Memory:\n- Earlier conversation: They talked."), "{instructions}");
    assert_eq!(entries.len(), 1 + 4, "the second turn and the third");
}

#[test]
fn one_that_fails_changes_nothing_and_is_tried_again() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 2, "keepRecentTurns": 1});
    for failure in [error("guardrail_violation"), error("context_size_exceeded"), text(" \n")] {
        talked(&mut oam, 2, [failure.clone(), reply("sad", "a3"), text("They talked.")], options.clone());
        assert_eq!(summary(&mut oam), Value::Null, "{failure}");
        assert_eq!(oam.npc_prompts("gorm"), ["Player: p1", "Player: p2"], "{failure}");
        oam.talk("gorm", "p3");
        assert_eq!(summary(&mut oam), "They talked.");
        assert_eq!(oam.npc_prompts("gorm"), ["Player: p3"]);
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn only_turns_that_count_are_followed_by_it() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 1, "keepRecentTurns": 0, "replyFormat": "structured"});
    oam.npc_with(
        "gorm",
        [error("refusal"), error("busy"), reply("sad", "a1"), text("They talked.")],
        json!({"options": options}),
    );
    assert_eq!(oam.talk("gorm", "x")["isFallback"], true);
    let id = oam.start_talk("gorm", "x");
    oam.wait_fails(&id);
    assert_eq!(oam.talk("gorm", "x")["line"], "a1");
    assert_eq!(summary(&mut oam), "They talked.");
}

#[test]
fn what_waits_for_it_is_cancelled_at_once_and_it_goes_on() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 1, "keepRecentTurns": 0});
    let slow = json!({"text": "They talked.", "delayMs": 300});
    talked(&mut oam, 1, [slow, reply("sad", "a2")], options);
    let listed = oam.listed_npc("gorm");
    assert_eq!(
        (&listed["busy"], &listed["pendingOperations"]),
        (&json!(false), &json!(0)),
        "nobody asked for it"
    );
    let waiting = [
        oam.start_talk("gorm", "x"),
        oam.request("npc/state", json!({"npc": "gorm"})),
        oam.request("npc/reset", json!({"npc": "gorm"})),
    ];
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 3);
    for request in &waiting {
        assert_eq!(oam.wait_fails(request).name, "cancelled");
    }
    let now = oam.ok("npc/state", json!({"npc": "gorm", "settle": false}));
    assert_eq!(now["state"]["memory"].get("summary"), None, "it is not over yet");
    assert_eq!(summary(&mut oam), "They talked.");
}

#[test]
fn an_update_during_it_loses_no_summary() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 1, "keepRecentTurns": 0});
    talked(&mut oam, 1, [json!({"text": "They talked.", "delayMs": 50})], options);
    for relationship in 0..50 {
        oam.request("npc/update", json!({"npc": "gorm", "memory": {"relationship": relationship}}));
    }
    let memory = oam.saved_npc("gorm")["memory"].clone();
    assert_eq!(memory, json!({"facts": [], "relationship": 49, "summary": "They talked."}));
}

#[test]
fn a_reset_waits_for_it() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 1, "keepRecentTurns": 0});
    let slow = json!({"text": "They talked.", "delayMs": 50});
    talked(&mut oam, 1, [slow], options);
    oam.ok("npc/reset", json!({"npc": "gorm", "clearMemory": true}));
    assert_eq!(oam.saved_npc("gorm")["memory"], json!({"facts": [], "relationship": 0}));
}

#[test]
fn neither_delete_nor_shutdown_waits_for_it() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 1, "keepRecentTurns": 0});
    talked(&mut oam, 1, [endless()], options.clone());
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    talked(&mut oam, 1, [endless()], options);
    let waiting = oam.start_talk("gorm", "x");
    let shutdown = oam.request("shutdown", json!({}));
    assert_eq!(oam.wait_fails(&waiting).name, "cancelled");
    oam.wait_ok(&shutdown);
    assert!(oam.wait_exit().success());
}

#[test]
fn a_restored_npc_goes_on_with_its_summary() {
    let mut oam = Oam::start();
    let options = json!({"compactAfterTurns": 2, "keepRecentTurns": 1});
    talked(&mut oam, 2, [text("They talked.")], options);
    let state = oam.saved_npc("gorm");
    let model = json!({"type": "scripted", "steps": [reply("sad", "a3"), template("{prompt}")]});
    oam.ok("npc/restore", json!({"state": state, "npc": "copy", "model": model}));
    oam.talk("copy", "p3");
    let summary = oam.saved_npc("copy")["memory"]["summary"].clone();
    let summary = summary.as_str().unwrap();
    assert!(summary.starts_with("Summary so far:\nThey talked.\n\n") && summary.contains("p2"), "{summary}");
    assert_eq!(oam.npc_prompts("copy"), ["Player: p3"]);
}
