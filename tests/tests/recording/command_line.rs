//! Arguments, environment, files that cannot be used.

use std::{fs, path::Path};

use assert_cmd::Command;
use oam_tests::{DEADLINE, oam_binary, oam_command};
use serde_json::{Value, json};

use crate::WORKER;

const INPUT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/create","params":{"session":"gorm","instructions":"You are Gorm."}}
{"jsonrpc":"2.0","id":2,"method":"session/respond","params":{"session":"gorm","prompt":"Hello"}}
"#;

pub(crate) fn oam(args: &[&str]) -> Command {
    let mut command = Command::from_std(oam_command());
    command.args(args).timeout(DEADLINE);
    command.env("OAM_WORKER", format!("{} {WORKER}", oam_binary().display())).write_stdin(INPUT);
    command
}

/// Runs it, and returns what it wrote to its output and error output.
pub(crate) fn run(mut command: Command, code: i32) -> (String, String) {
    let output = command.assert().code(code).get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn recorded(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn all_ways_to_record_write_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).display().to_string();
    let (answered, _) = run(oam(&["record", &text("command.json"), "--", "stdio"]), 0);
    assert!(answered.contains("You say: Hello"));
    run(oam(&["stdio", "--record", &text("argument.json")]), 0);
    let mut by_variable = oam(&["stdio"]);
    by_variable.env("OAM_RECORD", path("new/folder/variable.json"));
    run(by_variable, 0);
    let file = fs::read_to_string(path("command.json")).unwrap();
    assert!(file.contains("You are Gorm."));
    for other in ["argument.json", "new/folder/variable.json"] {
        assert_eq!(fs::read_to_string(path(other)).unwrap(), file, "{other}");
    }
    let replay = oam(&["stdio", "--replay", &text("command.json")]);
    assert_eq!(run(replay, 0), (answered, String::new()));
}

#[test]
fn commands_that_ask_by_themselves_are_recorded_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.json").display().to_string();
    for (command, input) in [(&["respond", "Hello"][..], ""), (&["chat"], "Hello\nAnd you?\n")] {
        let mut recorded = oam(&[&["record", &path, "--"], command].concat());
        recorded.write_stdin(input);
        let (said, _) = run(recorded, 0);
        assert!(said.contains("You say: Hello"), "{said}");
        let mut replayed = oam(command);
        replayed.env("OAM_SCRIPT", &path).write_stdin(input);
        assert_eq!(run(replayed, 0).0, said);
        let mut changed = oam(&["respond", "Good bye"]);
        changed.env("OAM_SCRIPT", &path).write_stdin("");
        let (_, errors) = run(changed, 2);
        assert!(errors.contains("\"Hello\"") && errors.contains("\"Good bye\""), "{errors}");
    }
}

#[test]
fn the_command_may_begin_with_oam_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let path = file.display().to_string();
    for program in ["oam", "/usr/local/bin/oam"] {
        let (said, _) = run(oam(&["record", &path, "--", program, "respond", "Hello"]), 0);
        assert!(said.contains("You say: Hello"), "{said}");
        assert_eq!(recorded(&file)["recording"]["sessions"][0]["session"], "main");
    }
}

#[test]
fn a_command_that_asks_nothing_keeps_the_recording_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let path = file.display().to_string();
    let nothing = || {
        let mut command = oam(&["record", &path, "--", "stdio"]);
        command.write_stdin("");
        command
    };
    run(nothing(), 0);
    assert_eq!(recorded(&file)["recording"]["sessions"], json!([]));
    run(oam(&["record", &path, "--", "stdio"]), 0);
    let before = recorded(&file);
    run(nothing(), 0);
    for looks in ["available", "status"] {
        run(oam(&["record", &path, "--", looks]), 0);
    }
    assert_eq!(recorded(&file), before);
}

#[test]
fn redaction_leaves_questions_out_and_replays_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let path = file.display().to_string();
    let mut by_variable = oam(&["stdio", "--record", &path]);
    by_variable.env("OAM_RECORD_REDACT", "1");
    for command in [
        oam(&["record", &path, "--redact", "--", "stdio"]),
        oam(&["stdio", "--redact", "--record", &path]),
        by_variable,
    ] {
        let (answered, _) = run(command, 0);
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("You are Gorm.") && text.contains("You say: Hello"), "{text}");
        let replay = oam(&["stdio", "--replay", &path]);
        assert_eq!(run(replay, 0), (answered, String::new()));
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn the_pace_is_recorded_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gorm.json");
    let path = file.display().to_string();
    let step = || recorded(&file)["recording"]["sessions"][0]["steps"][0].clone();
    run(oam(&["record", &path, "--", "stdio"]), 0);
    assert!(step()["delayMs"].is_null());
    let slow = format!("{} {WORKER} --step-delay 50", oam_binary().display());
    run(oam(&["record", &path, "--pace", "--", "stdio", "--worker", &slow]), 0);
    assert!(step()["delayMs"].as_u64() >= Some(50), "{}", step());
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for bad in [file.join("below.json"), folder.path().to_owned()] {
        let bad = bad.display().to_string();
        let mut by_variable = oam(&["stdio"]);
        by_variable.env("OAM_RECORD", &bad);
        for command in [oam(&["record", &bad, "--", "stdio"]), oam(&["stdio", "--record", &bad]), by_variable]
        {
            let (output, errors) = run(command, 1);
            assert_eq!(output, "");
            assert!(errors.contains(&bad) && errors.contains("cannot be written"), "{errors}");
        }
    }
}

#[test]
fn a_recording_that_cannot_be_written_in_the_end_fails_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let (script, recordings) = (folder.path().join("script.json"), folder.path().join("recordings"));
    fs::write(&script, json!([{"toolCalls": [{"name": "spoil"}]}, {"text": "Done."}]).to_string()).unwrap();
    let spoil = format!("rm -r '{0}'; touch '{0}'", recordings.display());
    let tool = json!({"name": "spoil", "description": "Spoils.", "x-oam": {"command": spoil}}).to_string();
    let mut command = oam(&["respond", "--tool-json", &tool, "--no-stdin", "Go!"]);
    command.env("OAM_SCRIPT", script).env("OAM_RECORD", recordings.join("go.json"));
    let (said, errors) = run(command, 1);
    assert_eq!(said, "Done.\n");
    assert!(errors.starts_with("Error: ") && errors.contains("go.json: cannot be written"), "{errors}");
}

#[test]
fn a_bad_recording_is_told_with_file_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.json");
    let path = file.display().to_string();
    let step = json!({"key": {"turn": "0123456789abcdef"}, "text": 7});
    for (content, place) in [
        ("{".to_owned(), "at byte 0"),
        (json!({"recording": {"version": 9}}).to_string(), "'recording.version'"),
        (
            json!({"recording": {"version": 1, "npcs": [{"npc": "a", "steps": [step]}]}}).to_string(),
            "'recording.npcs[0].steps[0]",
        ),
    ] {
        fs::write(&file, content).unwrap();
        let mut by_variable = oam(&["stdio"]);
        by_variable.env("OAM_SCRIPT", &file);
        for (command, source) in
            [(oam(&["stdio", "--replay", &path]), "--replay"), (by_variable, "OAM_SCRIPT")]
        {
            let (output, errors) = run(command, 2);
            assert_eq!(output, "");
            for part in [source, &path, place] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
        }
    }
}

#[test]
fn arguments_that_say_nothing_are_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    fs::write(&script, "[]").unwrap();
    let script = script.display().to_string();
    for (args, parts) in [
        (&["stdio", "--redact"][..], &["--redact", "--record", "OAM_RECORD"][..]),
        (&["stdio", "--pace"], &["--pace", "--record"]),
        (&["stdio", "--append"], &["--append", "--record", "OAM_RECORD"]),
        (&["stdio", "--replay-match", "lenient"], &["--replay-match", "--replay", "OAM_SCRIPT"]),
        (&["stdio", "--replay", &script, "--replay-match", "lenient"], &["--replay-match"]),
        (&["stdio", "--replay", &script, "--worker", "x"], &["--replay", "--worker"]),
        (&["record"], &["FILE"]),
        (&["record", &script], &["COMMAND"]),
        (&["record", &script, "--", "oam"], &["COMMAND"]),
        (&["record", "f.json", "respond", "--json", "Hi"], &["oam record f.json -- respond --json Hi"]),
        (&["record", "--append", "f.json", "oam", "chat"], &["oam record f.json -- chat"]),
        (&["record", "f.json", "--apend", "--", "chat"], &["no option '--apend'"]),
        (&["record", "f.json", "--", "ls", "-l"], &["'ls' is no command of oam", "OAM_RECORD"]),
    ] {
        let (_, errors) = run(oam(args), 2);
        for part in parts {
            assert!(errors.contains(part), "{args:?}: {errors}");
        }
    }
    let mut bad_variable = oam(&["stdio"]);
    bad_variable.env("OAM_SCRIPT", &script).env("OAM_REPLAY_MATCH", "mostly");
    let (_, errors) = run(bad_variable, 2);
    assert!(errors.contains("OAM_REPLAY_MATCH"), "{errors}");
}
