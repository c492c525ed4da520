//! The evening in the tavern, recorded and replayed.

use crate::command_line::{oam, run};

/// What is said and done, without who plays it and how long that takes.
fn evening(told: &str) -> Vec<String> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let parts = told.lines().skip(2).filter(|line| !line.contains(" worker started"));
    parts.map(|line| line.replace(is_number, "")).collect()
}

#[test]
fn the_scripted_evening_is_played_again_from_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tavern.json").display().to_string();
    let mut recorded = oam(&["record", &path, "--", "demo", "tavern", "--auto"]);
    recorded.env_remove("OAM_WORKER");
    let (played, errors) = run(recorded, 0);
    assert!(played.contains("Mira's answers come from a script") && errors.is_empty(), "{played}{errors}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("The rabbit stew, please.") && !text.contains("oam-script"), "{text}");

    let mut replayed = oam(&["demo", "tavern", "--auto"]);
    replayed.env("OAM_SCRIPT", &path);
    let (again, errors) = run(replayed, 0);
    assert_eq!((evening(&again), errors.as_str()), (evening(&played), ""));
    assert!(evening(&again).len() > 20, "{again}");
}
