//! Failures: exit codes, and which of several mistakes is told.

use serde_json::json;

use super::respond;
use crate::run::{Run, oam};

#[test]
fn every_failure_of_a_model_has_its_exit_code() {
    for (code, exit) in [
        ("model_unavailable", 3),
        ("guardrail_violation", 4),
        ("refusal", 4),
        ("context_size_exceeded", 5),
        ("rate_limited", 6),
        ("unsupported_language", 2),
        ("invalid_schema", 2),
        ("tool_failed", 1),
        ("cancelled", 130),
        ("busy", 1),
        ("invalid_request", 2),
        ("generation_failed", 1),
    ] {
        // Transient ones are tried twice.
        let script = json!({"steps": [], "fallback": {"error": code, "message": "As scripted."}});
        let told = respond(["Hi", "--json"]).script(&script).ends_with(exit);
        assert_eq!(told.error(), (code.to_owned(), "As scripted.".to_owned()));
        assert_eq!(told.stdout, "");
    }
    let told = respond(["Hi"]).script(&json!([{"error": "generation_failed"}, {"text": "Hi."}])).ends_with(0);
    assert_eq!(told.stdout, "Hi.\n");
}

#[test]
fn errors_are_told_in_the_form_of_the_output() {
    let script = json!([{"error": "refusal", "message": "No."}]);
    let text = respond(["Hi"]).script(&script).ends_with(4);
    assert_eq!((text.stdout.as_str(), text.stderr.as_str()), ("", "Error: No.\n"));
    let events = respond(["Hi", "--events"]).script(&script).ends_with(4);
    assert_eq!(
        events.events().last().unwrap(),
        &json!({"type": "error", "error": {"code": "refusal", "message": "No."}})
    );
    assert_eq!(events.error(), ("refusal".to_owned(), "No.".to_owned()));
}

#[test]
fn mistakes_in_the_command_line_are_usage() {
    for arguments in [
        &["--tool-choice", "nope", "Hi"][..],
        &["--tool-choice", "required", "Hi"],
        &["--tools", "tools.json", "--tool-choice", "ghost", "Hi"],
        &["--bogus-flag"],
        &["--no-stdin"],
        &["--events", "Hi"],
        &["--temperature", "2.5", "Hi"],
        &["--temperature", "-1", "Hi"],
        &["--max-tokens", "0", "Hi"],
        &["--max-tool-rounds", "-1", "Hi"],
        &["--tools", "-", "--schema", "-", "Hi"],
    ] {
        let told =
            respond(arguments.iter().copied().chain(["--json"])).script(&json!([])).stdin("").ends_with(2);
        assert_eq!(told.error().0, "usage", "{arguments:?}");
        assert_eq!(told.stdout, "");
    }
    let told = respond(["--tools", "tools.json", "--tool-choice", "nope", "Hi"]).ends_with(2);
    assert!(told.stderr.contains("get_weather, lookup_order"), "{told:?}");
}

#[test]
fn inputs_that_cannot_be_used_are_named() {
    let missing = r#"[{"name": "a", "x-oam": {"command": ["./nothing"]}}]"#;
    for (arguments, code, part) in [
        (&["--tools", "bad.json", "Hi"][..], "invalid_input", "bad.json: tools[0]"),
        (&["--tools", "nowhere.json", "Hi"], "invalid_input", "nowhere.json"),
        (&["--tool-json", "{", "Hi"], "invalid_input", "--tool-json"),
        (&["--tool-json", r#"{"name": "respond_directly"}"#, "Hi"], "invalid_request", "respond_directly"),
        (&["--schema", "bad.json", "Hi"], "invalid_input", "bad.json: must be an object (a JSON Schema)"),
        (&["--schema", "odd.json", "Hi"], "invalid_schema", "odd.json"),
        (&["--image", "nowhere.png", "Hi"], "invalid_input", "nowhere.png"),
        (&["--image", ".", "Hi"], "invalid_input", "is not a file"),
    ] {
        let run = respond(arguments.iter().copied().chain(["--json"])).file("bad.json", missing);
        let (told_code, message) = run.file("odd.json", r#"{"type": "nothing"}"#).ends_with(2).error();
        assert_eq!(told_code, code, "{arguments:?}");
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn an_event_tells_of_an_unusable_file() {
    let told = respond(["--tools", "bad.json", "Hi", "--events"]).file("bad.json", "5").ends_with(2);
    let events = told.events();
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["type"], &events[0]["error"]["code"]), (&json!("error"), &json!("invalid_input")));
}

#[test]
fn of_several_mistakes_the_first_is_told() {
    let everything = [
        ("--resume", "no-resume.json"),
        ("--tools", "no-tools.json"),
        ("--schema", "no-schema.json"),
        ("--tool-choice", "no-choice"),
    ];
    let told_first = |from: usize| {
        let flags = everything[from..].iter().flat_map(|(flag, value)| [*flag, *value]);
        let run: Run = oam(["respond", "--json", "--no-stdin"].into_iter().chain(flags));
        run.env("OAM_SCRIPT", "no-script.json").ends_with(2).error().1
    };
    for (from, part) in
        ["no-resume", "no-tools", "no-schema", "no-choice", "no prompt"].into_iter().enumerate()
    {
        assert!(told_first(from).contains(part), "{part}: {}", told_first(from));
    }
    let told = oam(["respond", "--json", "Hi"]).env("OAM_SCRIPT", "no-script.json").ends_with(2);
    assert!(told.error().1.contains("no-script.json"));
}

#[test]
fn a_model_that_is_not_there_comes_last() {
    let told = oam(["respond", "Hi", "--json"]).ends_with(3);
    assert_eq!(told.error().0, "model_unavailable");
    assert_eq!(oam(["respond", "Hi", "--json", "--tool-choice", "nope"]).ends_with(2).error().0, "usage");
}

#[test]
fn where_the_conversation_cannot_be_kept_the_model_is_not_asked() {
    for flags in [&[][..], &["--json"]] {
        let told = respond(["Hi", "--save-transcript", "tools.json/c.json"].iter().chain(flags).copied())
            .script(&json!([{"text": "Hi."}]))
            .ends_with(1);
        assert_eq!(told.stdout, "");
        assert!(told.stderr.contains("tools.json/c.json: cannot be written"), "{told:?}");
    }
}
