//! The recording is there however the program ends.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use oam_tests::{DEADLINE, Oam};
use serde_json::{Value, json};

use crate::{recording, replaying};

/// A program that has recorded a turn, and is in the middle of another one.
fn busy(file: &Path) -> Oam {
    let mut oam = recording(file).start();
    let script = r#"oam-script: [{"text": "Aye."}, {"text": "never said", "delayMs": 3600000}]"#;
    oam.ok("session/create", json!({"session": "gorm", "instructions": script}));
    oam.turn("gorm", "Hello");
    let turn = oam.start_turn_with("gorm", "Well?", json!({"stream": true}));
    oam.take("the start of the step", |message| {
        message.request_id().as_ref() == Some(&turn) && message.event().is_some()
    });
    oam
}

fn steps(file: &Path) -> Vec<Value> {
    let recording: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    recording["recording"]["sessions"][0]["steps"].as_array().cloned().unwrap_or_default()
}

#[test]
fn every_end_leaves_a_whole_recording() {
    type BringAbout = fn(&mut Oam);
    let ends: [(&str, BringAbout, Option<i32>); 4] = [
        ("shutdown", |oam| drop(oam.ok("shutdown", json!({}))), Some(0)),
        ("SIGTERM", |oam| oam.signal(Signal::SIGTERM), Some(0)),
        ("SIGINT", |oam| oam.signal(Signal::SIGINT), Some(130)),
        (
            "the client is gone",
            |oam| {
                oam.ok("session/cancel", json!({"session": "gorm"}));
                oam.close_input();
            },
            Some(0),
        ),
    ];
    for (end, bring_about, code) in ends {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gorm.json");
        let mut oam = busy(&file);
        bring_about(&mut oam);
        assert_eq!(oam.wait_exit().code(), code, "{end}");
        let steps = steps(&file);
        assert_eq!(steps.len(), 2, "{end}");
        assert_eq!((&steps[0]["text"], &steps[1]["unfinished"]), (&json!("Aye."), &json!(true)), "{end}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{end}: nothing else is left behind");
    }
}

#[test]
fn a_cancelled_step_is_cancelled_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let mut oam = busy(&file);
    oam.ok("shutdown", json!({}));
    oam.wait_exit();
    let mut oam = replaying(&file).start();
    oam.ok("session/create", json!({"session": "gorm"}));
    oam.turn("gorm", "Hello");
    let turn = oam.start_turn("gorm", "Well?");
    oam.settle();
    assert_eq!(oam.ok("session/cancel", json!({"session": "gorm"}))["cancelled"], 1);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
}

#[test]
fn what_was_recorded_a_while_ago_survives_even_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let mut oam = busy(&file);
    let end = Instant::now() + DEADLINE;
    while steps(&file).is_empty() {
        assert!(Instant::now() < end, "nothing is saved");
        thread::sleep(Duration::from_millis(20));
    }
    oam.signal(Signal::SIGKILL);
    oam.wait_exit();
    assert_eq!(steps(&file)[0]["text"], "Aye.");
}
