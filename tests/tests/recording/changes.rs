//! A client that asks something else than was recorded.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use tempfile::TempDir;

use crate::{finish, recording, replaying};

/// A recording of two turns with Gorm.
fn two_turns() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.json");
    let mut oam = recording(&file).start();
    oam.ok("session/create", json!({"session": "gorm", "instructions": "You are Gorm."}));
    for prompt in ["Got any swords?", "How much?"] {
        oam.turn("gorm", prompt);
    }
    finish(&mut oam);
    (folder, file)
}

#[test]
fn a_changed_prompt_fails_its_turn_and_says_what_was_recorded() {
    let (_folder, file) = two_turns();
    let mut oam = replaying(&file).start();
    oam.ok("session/create", json!({"session": "gorm", "instructions": "You are Gorm."}));
    let changed = oam.start_turn("gorm", "Any swords?");
    let error = oam.wait_fails(&changed);
    assert_eq!(error.name, "invalid_request");
    for part in ["Step 1 of session 'gorm'", "the prompt differs", "\"Got any swords?\"", "\"Any swords?\""] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert_eq!(oam.turn("gorm", "How much?")["text"], "You say: How much?");
    let more = oam.start_turn("gorm", "Too much!");
    assert!(oam.wait_fails(&more).message.contains("session 'gorm' ends after 2 steps"));
    finish(&mut oam);
    assert!(oam.stderr().contains("Step 1 of session 'gorm'"), "the log tells, too: {}", oam.stderr());
}

#[test]
fn a_lenient_replay_warns_and_goes_on() {
    let (_folder, file) = two_turns();
    let by_variable = replaying(&file).env("OAM_REPLAY_MATCH", "lenient");
    let by_argument =
        oam_tests::Oam::builder().arg("--replay").arg(&file).arg("--replay-match").arg("lenient");
    for builder in [by_variable, by_argument] {
        let mut oam = builder.start();
        oam.ok("session/create", json!({"session": "gorm", "instructions": "You are Gorm, a smith."}));
        assert_eq!(oam.turn("gorm", "Any swords?")["text"], "You say: Got any swords?");
        assert_eq!(oam.turn("gorm", "How much?")["text"], "You say: How much?");
        finish(&mut oam);
        assert_eq!(oam.stderr().matches("warning: Step").count(), 2, "{}", oam.stderr());
    }
}

#[test]
fn a_session_that_was_not_recorded_plays_the_script_of_the_file() {
    let (_folder, file) = two_turns();
    let asked = |file: &Path| {
        let mut oam = replaying(file).start();
        oam.ok("session/create", json!({"session": "mira"}));
        let turn = oam.start_turn("mira", "Hello");
        oam.wait(&turn)
    };
    let error = asked(&file).unwrap_err();
    for part in ["session 'mira'", "\"Hello\"", "session 'gorm'"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let recording: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let both = json!({"recording": recording["recording"], "steps": [{"text": "I am Mira."}]});
    fs::write(&file, both.to_string()).unwrap();
    assert_eq!(asked(&file).unwrap()["text"], "I am Mira.");
}

#[test]
fn the_same_work_gives_the_same_bytes() {
    let (_one, one) = two_turns();
    let (_other, other) = two_turns();
    assert_eq!(fs::read_to_string(one).unwrap(), fs::read_to_string(other).unwrap());
}
