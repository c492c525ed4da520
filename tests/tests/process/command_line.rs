//! Arguments, environment and exit codes.

use std::{fs, path::PathBuf};

use assert_cmd::Command;
use oam_tests::{DEADLINE, Oam, oam_binary, oam_command};
use serde_json::{Value, json};

fn oam(args: &[&str]) -> Command {
    let mut command = Command::from_std(oam_command());
    command.args(args).timeout(DEADLINE);
    command
}

/// Runs `oam`, which must end with `code`; returns what it wrote to its output and error output.
fn run(args: &[&str], code: i32) -> (String, String) {
    let output = oam(args).assert().code(code).get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A file in the tests' own folder.
fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn help_goes_to_the_output() {
    for args in [&["--help"][..], &["-h"], &["help"], &[]] {
        let (help, errors) = run(args, 0);
        assert!(help.contains("stdio"), "{args:?}: {help}");
        assert_eq!(errors, "");
    }
    let (help, _) = run(&["stdio", "--help"], 0);
    for flag in ["--log-level", "--max-sessions", "--tool-timeout", "--no-scripted-models"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
}

#[test]
fn the_version_is_told() {
    let (version, _) = run(&["--version"], 0);
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
}

#[test]
fn unusable_arguments_end_with_2_and_an_explanation() {
    for args in [
        &["nothing"][..],
        &["stdio", "more"],
        &["stdio", "--nothing"],
        &["stdio", "--max-sessions"],
        &["stdio", "--max-sessions", "0"],
        &["stdio", "--max-sessions", "-1"],
        &["stdio", "--max-sessions", "1.5"],
        &["stdio", "--max-sessions", "many"],
        &["stdio", "--max-sessions", "99999999999999999999999"],
        &["stdio", "--tool-timeout", "-1"],
        &["stdio", "--tool-timeout", "soon"],
        &["stdio", "--tool-timeout", "nan"],
        &["stdio", "--tool-timeout", "inf"],
        &["stdio", "--tool-timeout", "86401"],
        &["stdio", "--log-level", "loud"],
        &["stdio", "--no-scripted-models", "yes"],
    ] {
        let (output, errors) = run(args, 2);
        assert_eq!(output, "", "{args:?}: the output is for messages only");
        assert!(!errors.trim().is_empty(), "{args:?}");
    }
}

#[test]
fn what_is_said_of_workers_needs_one() {
    let settings = [
        &["--workers", "3"][..],
        &["--spare"],
        &["--no-spare"],
        &["--streaming", "never"],
        &["--step-timeout", "5"],
        &["--max-step-crashes", "1"],
    ];
    let steps = file("for-settings.json", "[]");
    for setting in settings {
        let args = [&["stdio"], setting].concat();
        let (_, errors) = run(&args, 2);
        for part in [setting[0], "without a worker", "--worker or OAM_WORKER"] {
            assert!(errors.contains(part), "{errors}");
        }
        // A script stands in for the workers that would be there otherwise.
        oam(&args).env("OAM_SCRIPT", &steps).assert().code(0);
        oam(&args).env("OAM_WORKER", format!("{} worker scripted", oam_binary().display())).assert().code(0);
    }
}

#[test]
fn a_turn_without_a_model_says_how_to_name_a_worker() {
    let mut oam = Oam::start();
    oam.ok("session/create", json!({"session": "a"}));
    let turn = oam.start_turn("a", "x");
    let error = oam.wait_fails(&turn);
    assert_eq!(error.name, "model_unavailable");
    for part in ["--worker", "OAM_WORKER", "scripted"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn the_number_of_sessions_can_be_limited() {
    let mut oam = Oam::builder().arg("--max-sessions").arg("2").start();
    assert_eq!(oam.ok("initialize", json!({}))["capabilities"]["maxSessions"], 2);
    oam.session("a", []);
    oam.session("b", []);
    let error = oam.fails("session/create", json!({"model": "scripted"}));
    assert_eq!((error.name.as_str(), &error.data["limit"]), ("session_limit", &json!(2)));
}

#[test]
fn time_limits_may_be_fractions_nothing_and_a_day() {
    for seconds in ["0", "0.5", "86400", "1e2"] {
        let mut oam = Oam::builder().arg("--tool-timeout").arg(seconds).start();
        oam.settle();
    }
}

#[test]
fn a_script_replaces_the_system_model() {
    let steps = r#"[{"text": "from the file"}]"#;
    for (name, content) in [
        ("array.json", steps.to_owned()),
        ("object.json", format!(r#"{{"steps": {steps}, "fallback": {{"text": "for ever"}}}}"#)),
        ("mark.json", format!("\u{feff}{steps}\n")),
    ] {
        let mut oam = Oam::builder().env("OAM_SCRIPT", file(name, &content)).start();
        assert_eq!(
            oam.ok("model/availability", json!({})),
            json!({"available": true, "contextSize": 8192, "variant": "scripted (OAM_SCRIPT)", "supportedLanguages": []})
        );
        for session in ["a", "b"] {
            let created = oam.ok("session/create", json!({"session": session}));
            assert_eq!(created["warnings"], json!([]));
            assert_eq!(oam.turn(session, "x")["text"], "from the file", "each session has its own copy");
        }
        oam.session("c", [json!({"text": "its own"})]);
        assert_eq!(oam.turn("c", "x")["text"], "its own");
        assert_eq!(oam.listed("a")["model"], "system");
    }
}

#[test]
fn an_empty_script_variable_counts_as_unset() {
    let mut with = Oam::builder().env("OAM_SCRIPT", "").start();
    let mut without = Oam::start();
    assert_eq!(with.ok("model/availability", json!({})), without.ok("model/availability", json!({})));
}

#[test]
fn an_unusable_script_ends_with_2_and_names_the_file() {
    let files = [
        ("text.json", "hello"),
        ("number.json", "7"),
        ("empty.json", ""),
        ("step.json", r#"[{"say": "x"}]"#),
        ("code.json", r#"[{"error": "nothing"}]"#),
        ("steps.json", r#"{"steps": 1}"#),
        ("fallback.json", r#"{"steps": [], "fallback": {}}"#),
    ];
    let mut paths: Vec<_> = files.iter().map(|(name, content)| file(name, content)).collect();
    paths.push(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("there is none.json"));
    paths.push(PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    for path in paths {
        let output = oam(&["stdio"]).env("OAM_SCRIPT", &path).assert().code(2).get_output().clone();
        assert_eq!(output.stdout, b"");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(path.to_str().unwrap()), "{}: {errors}", path.display());
    }
}

#[test]
fn the_last_line_needs_no_newline() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let output = oam(&["stdio"]).write_stdin(message).assert().code(0).get_output().clone();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

#[test]
fn logs_go_to_the_error_output_at_the_level_asked_for() {
    let ignored = json!({"jsonrpc": "2.0", "id": "t-1", "result": {}}).to_string();
    let logged = |level: &str| {
        let output = oam(&["stdio", "--log-level", level])
            .write_stdin(format!("{ignored}\n{}\n", json!({"jsonrpc": "2.0", "method": "nothing"})))
            .assert()
            .code(0)
            .get_output()
            .clone();
        assert_eq!(output.stdout, b"", "{level}");
        String::from_utf8(output.stderr).unwrap()
    };
    let lines: Vec<_> =
        ["error", "warning", "info", "debug"].map(|level| logged(level).lines().count()).to_vec();
    assert!(lines[0] == 0 && lines[1] > 0 && lines.is_sorted(), "{lines:?}");
    for line in logged("debug").lines() {
        assert!(line.starts_with("[oam stdio] "), "{line}");
    }
    assert!(logged("warning").lines().all(|line| line.starts_with("[oam stdio] warning: ")));
}

#[test]
fn what_a_client_says_is_not_logged_by_default() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"text": "a secret answer"})]);
    oam.turn("a", "a secret prompt");
    oam.ok("shutdown", Value::Null);
    oam.wait_exit();
    assert_eq!(oam.stderr(), "");
}
