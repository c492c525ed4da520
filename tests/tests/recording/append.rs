//! Several runs in one recording.

use std::{fs, path::Path};

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::{
    command_line::{oam, run},
    finish, recording,
};

/// The texts of all steps that are recorded for sessions.
fn texts(file: &Path) -> Vec<String> {
    let recording: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let sessions = recording["recording"]["sessions"].as_array().unwrap();
    let steps = sessions.iter().flat_map(|session| session["steps"].as_array().unwrap());
    steps.map(|step| step["text"].as_str().unwrap().to_owned()).collect()
}

/// `oam respond` with this prompt, recorded by variable.
fn respond(prompt: &str, file: &Path) -> Command {
    let mut command = oam(&["respond", prompt]);
    command.env("OAM_RECORD", file).write_stdin("");
    command
}

/// The same, recorded by command behind what is in the file.
fn record_more(prompt: &str, file: &Path) -> Command {
    let mut command = oam(&["record", "--append", &file.display().to_string(), "--", "respond", prompt]);
    command.write_stdin("");
    command
}

#[test]
fn all_ways_to_append_keep_what_is_there_and_answer_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/all.json");
    let path = file.display().to_string();
    let (first, _) = run(record_more("One", &file), 0);
    let mut by_variable = respond("Two", &file);
    by_variable.env("OAM_RECORD_APPEND", "1");
    let (second, _) = run(by_variable, 0);
    let (bridge, _) = run(oam(&["stdio", "--record", &path, "--append"]), 0);
    assert_eq!(texts(&file), ["You say: Hello", "You say: One", "You say: Two"]);

    for (prompt, said) in [("Two", second), ("One", first)] {
        let mut replayed = oam(&["respond", prompt]);
        replayed.env("OAM_SCRIPT", &file).write_stdin("");
        assert_eq!(run(replayed, 0).0, said);
    }
    assert_eq!(run(oam(&["stdio", "--replay", &path]), 0), (bridge, String::new()));

    run(respond("Three", &file), 0);
    assert_eq!(texts(&file), ["You say: Three"], "without it, a run replaces the file");
}

#[test]
fn an_empty_file_is_an_empty_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.json");
    fs::write(&file, "").unwrap();
    run(record_more("One", &file), 0);
    assert_eq!(texts(&file), ["You say: One"]);
}

#[test]
fn a_file_that_cannot_be_gone_on_with_is_told_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.json");
    for (content, reason) in [
        ("{".to_owned(), "is not JSON at byte"),
        (json!({"steps": []}).to_string(), "it is no recording"),
        (json!({"recording": {"version": 9}}).to_string(), "'recording.version': is 9"),
    ] {
        fs::write(&file, &content).unwrap();
        let path = file.display().to_string();
        let mut by_variable = respond("One", &file);
        by_variable.env("OAM_RECORD_APPEND", "1");
        for command in [by_variable, oam(&["stdio", "--append", "--record", &path])] {
            let (output, errors) = run(command, 2);
            assert_eq!(output, "");
            for part in [path.as_str(), reason] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
    let mut to_nowhere = respond("One", Path::new("/dev/null"));
    to_nowhere.env("OAM_RECORD_APPEND", "1");
    let (_, errors) = run(to_nowhere, 2);
    assert!(errors.contains("/dev/null") && errors.contains("no plain file"), "{errors}");
}

#[test]
fn a_recording_belongs_to_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.json");
    let mut first = recording(&file).start();
    first.ok("session/create", json!({"session": "gorm"}));
    first.turn("gorm", "One");
    for appends in ["", "1"] {
        let mut second = respond("Two", &file);
        second.env("OAM_RECORD_APPEND", appends);
        let (output, errors) = run(second, 1);
        assert_eq!(output, "");
        for part in ["OAM_RECORD", "one.json", "another oam is recording to it"] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
    for looks in ["available", "status"] {
        let mut looking = oam(&[looks]);
        looking.env("OAM_RECORD", &file);
        run(looking, 0);
    }
    finish(&mut first);
    let mut second = respond("Two", &file);
    second.env("OAM_RECORD_APPEND", "1");
    run(second, 0);
    assert_eq!(texts(&file), ["You say: One", "You say: Two"]);
}
