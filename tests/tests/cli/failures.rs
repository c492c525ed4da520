//! Command lines that cannot be read, and results that cannot be written.

use std::{fs::File, process::Command};

use oam_tests::oam_binary;
use serde_json::json;

use crate::run::oam;

#[test]
fn a_mistake_is_told_in_the_form_that_was_asked_for() {
    let people = oam(["available", "--bogus-flag"]).ends_with(2);
    assert!(people.stderr.contains("--bogus-flag") && people.stderr.contains("Usage:"), "{people:?}");
    for flag in ["--json", "--events"] {
        let machines = oam(["nothing", flag]).ends_with(2);
        assert_eq!(machines.error().0, "usage");
        assert_eq!(machines.stdout, "");
    }
}

#[test]
fn a_file_has_a_name() {
    for arguments in [&["respond", "--tools", "", "Hi."][..], &["schema", "convert", ""]] {
        let told = oam(arguments.iter().copied()).ends_with(2);
        assert!(told.stderr.contains("the name of the file is empty"), "{told:?}");
    }
}

#[test]
fn a_script_may_be_in_the_home_folder() {
    let told = oam(["available", "--compact"]).script(&json!([])).ends_with(0);
    let home = told.path("");
    let told = told.then(["available", "--compact"]).env("HOME", home).env("OAM_SCRIPT", "~/script.json");
    assert_eq!(told.ends_with(0).json()["model"], "scripted");
}

#[test]
fn the_version_is_a_number_and_nothing_else() {
    assert_eq!(oam(["--version"]).ends_with(0).stdout, format!("{}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_a_failure() {
    let commands =
        [&["available"][..], &["agent-readme"], &["--help"], &["schema", "convert", "person.json"]];
    for arguments in commands {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("person.json"), r#"{"type": "object"}"#).unwrap();
        std::fs::write(folder.path().join("script.json"), "[]").unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Command::new(oam_binary())
            .args(arguments)
            .current_dir(folder.path())
            .env("OAM_SCRIPT", "script.json")
            .stdout(full)
            .output()
            .unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("standard output: cannot be written: No space left"), "{arguments:?}: {told}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_recording_that_cannot_be_written_is_a_failure_with_the_answer() {
    for arguments in [["respond", "--json", "Hi."], ["respond", "--events", "Hi."]] {
        let told = oam(arguments.iter().copied())
            .script(&json!([{"text": "Hello!"}]))
            .env("OAM_RECORD", "/dev/full");
        let told = told.ends_with(1);
        assert_eq!(told.error().0, "io_error");
        assert!(told.stdout.starts_with('{'), "{told:?}");
    }
}
