//! `session/compact`: older turns become a note.

use oam_tests::{
    Oam,
    script::{error, template, text},
};
use serde_json::{Value, json};

/// A session "a" with `turns` turns "p1", "p2", … answered "a1", "a2", …; then it plays `steps`.
fn talked(oam: &mut Oam, turns: usize, steps: impl IntoIterator<Item = Value>) {
    let answers = (1..=turns).map(|number| text(&format!("a{number}")));
    oam.session_with("a", answers.chain(steps), json!({"instructions": "Be kind."}));
    for number in 1..=turns {
        oam.turn("a", &format!("p{number}"));
    }
}

fn compact(oam: &mut Oam, params: Value) -> Value {
    let mut all = json!({"session": "a"});
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    oam.ok("session/compact", all)
}

fn prompts(oam: &mut Oam) -> Vec<String> {
    oam.entries("a")
        .iter()
        .filter(|entry| entry["role"] == "user")
        .map(|entry| entry["contents"][0]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn all_but_the_recent_turns_become_a_note() {
    for (params, left) in [
        (json!({}), &["p3", "p4"][..]),
        (json!({"keepRecentTurns": null}), &["p3", "p4"]),
        (json!({"keepRecentTurns": 1}), &["p4"]),
        (json!({"keepRecentTurns": 0}), &[]),
        (json!({"keepRecentTurns": 3}), &["p2", "p3", "p4"]),
    ] {
        let mut oam = Oam::start();
        talked(&mut oam, 4, [text("They talked."), text("next")]);
        let result = compact(&mut oam, params.clone());
        assert_eq!(result, json!({"session": "a", "summary": "They talked."}), "{params}");
        assert_eq!(prompts(&mut oam), left, "{params}");
        assert_eq!(oam.turn("a", "x")["text"], "next");
        let instructions = oam.entries("a")[0]["contents"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(instructions, "Be kind.\n\nThey talked.");
    }
}

#[test]
fn with_nothing_to_compact_the_model_is_not_asked() {
    let mut oam = Oam::start();
    talked(&mut oam, 2, [text("next")]);
    for params in [json!({}), json!({"keepRecentTurns": 2}), json!({"keepRecentTurns": 100})] {
        assert_eq!(compact(&mut oam, params), json!({"session": "a", "summary": null}));
    }
    assert_eq!(oam.turn("a", "x")["text"], "next");
    oam.session("b", []);
    assert_eq!(
        oam.ok("session/compact", json!({"session": "b", "keepRecentTurns": 0}))["summary"],
        Value::Null
    );
}

#[test]
fn the_model_is_shown_the_older_turns_and_the_note_so_far() {
    let mut oam = Oam::start();
    talked(&mut oam, 3, [template("{prompt}"), text("a4"), template("{prompt}")]);
    let first = compact(&mut oam, json!({"keepRecentTurns": 1}));
    let first = first["summary"].as_str().unwrap();
    for part in ["User: p1", "Assistant: a1", "User: p2", "Assistant: a2"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(!first.contains("p3") && !first.contains("Summary so far"), "{first}");
    oam.ok("session/setContextNote", json!({"session": "a", "note": "A hand-made note."}));
    oam.turn("a", "p4");
    let second = compact(&mut oam, json!({"keepRecentTurns": 0}));
    let second = second["summary"].as_str().unwrap();
    assert!(second.starts_with("Summary so far:\nA hand-made note.\n\n"), "{second}");
    assert!(second.contains("User: p3") && second.contains("User: p4"), "{second}");
}

#[test]
fn a_failed_summary_changes_nothing() {
    let mut oam = Oam::start();
    talked(&mut oam, 3, [error("guardrail_violation"), text("next")]);
    let before = oam.entries("a");
    assert_eq!(oam.fails("session/compact", json!({"session": "a"})).name, "guardrail_violation");
    assert_eq!(oam.entries("a"), before);
    assert_eq!(oam.turn("a", "x")["text"], "next");
}

#[test]
fn its_parameters_are_checked() {
    let mut oam = Oam::start();
    talked(&mut oam, 3, [text("Short.")]);
    for value in [json!(-1), json!(0.5), json!("2"), json!(true), json!([])] {
        let error = oam.fails("session/compact", json!({"session": "a", "keepRecentTurns": value}));
        assert!(
            error.name == "invalid_params" && error.message.contains("'keepRecentTurns'"),
            "{}",
            error.message
        );
    }
    for value in [json!(1), json!([]), json!({})] {
        let error = oam.fails("session/compact", json!({"session": "a", "summaryInstructions": value}));
        assert!(
            error.name == "invalid_params" && error.message.contains("'summaryInstructions'"),
            "{}",
            error.message
        );
    }
    assert_eq!(compact(&mut oam, json!({"summaryInstructions": "In one word."}))["summary"], "Short.");
}

#[test]
fn it_waits_its_turn() {
    let mut oam = Oam::start();
    oam.session("a", [text("1"), text("2"), text("summary"), text("3")]);
    let first = oam.start_turn("a", "x");
    let second = oam.start_turn("a", "y");
    let compact = oam.request("session/compact", json!({"session": "a", "keepRecentTurns": 1}));
    let third = oam.start_turn("a", "z");
    oam.wait_ok(&first);
    oam.wait_ok(&second);
    assert_eq!(oam.wait_ok(&compact)["summary"], "summary");
    assert_eq!(oam.wait_ok(&third)["text"], "3");
    assert_eq!(prompts(&mut oam), ["y", "z"]);
}

#[test]
fn a_saved_note_is_part_of_the_resumed_instructions() {
    let mut oam = Oam::start();
    talked(&mut oam, 3, [text("They talked."), text("next")]);
    compact(&mut oam, json!({"keepRecentTurns": 1}));
    oam.turn("a", "x");
    let saved = oam.ok("session/transcript", json!({"session": "a"}));
    oam.session_with("b", [], json!({"history": saved}));
    assert_eq!(oam.listed("b")["instructions"], "Be kind.\n\nThey talked.");
}
