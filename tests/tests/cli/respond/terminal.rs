//! `oam respond` at a terminal: what people see, and questions for outputs of external tools.

use nix::sys::signal::Signal;
use oam_tests::{
    Terminal,
    terminal::{TerminalBuilder, keys},
};
use serde_json::{Value, json};

use super::respond;

const LOOKUP: &str = r#"{"name": "lookup", "description": "Looks up.", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}"#;

fn at_terminal<'a>(arguments: impl IntoIterator<Item = &'a str>) -> TerminalBuilder {
    Terminal::oam(["respond", "--tool-json", LOOKUP].into_iter().chain(arguments))
}

fn lookups(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"name": "lookup", "arguments": {"id": id}, "id": id});
    json!({"toolCalls": ids.iter().map(call).collect::<Vec<_>>()})
}

#[test]
fn external_calls_are_asked_for_one_at_a_time() {
    let terminal = at_terminal(["--ask-tools", "Look up A and B."])
        .script(&json!([lookups(&["A", "B"]), {"template": "{toolOutputs}"}]))
        .start();
    terminal
        .shows("→ lookup {\"id\":\"A\"}  (external tool)\n  output (text, @file, or !message for an error):");
    assert_eq!(terminal.screen().matches("output (text").count(), 1, "{}", terminal.screen());
    terminal
        .press("It is gone")
        .press(keys::HOME)
        .press(keys::END)
        .press(&keys::BACKSPACE.repeat(4))
        .enter("here.");
    terminal.shows("→ lookup {\"id\":\"B\"}").enter("!It is lost.");
    let ended = terminal.ends_with(0);
    assert_eq!(ended.screen.matches("→ lookup {\"id\":\"B\"}").count(), 1, "{}", ended.screen);
    assert!(ended.screen.contains("It is here.\nError: It is lost."), "{}", ended.screen);
}

#[test]
fn questions_go_to_the_terminal_although_output_does_not() {
    let terminal = at_terminal(["--ask-tools", "--json", "--no-stdin", "Look up A."])
        .script(&json!([lookups(&["A"]), {"template": "{toolOutputs}"}]))
        .stdin("")
        .stdout_to_file()
        .start();
    terminal.shows("output (text").enter("@nowhere").shows("nowhere: cannot be read").enter("[1]");
    let ended = terminal.ends_with(0);
    let result: Value = serde_json::from_str(&ended.file("stdout")).unwrap();
    assert_eq!(result["toolCalls"][0]["output"], json!([1]));
    assert_eq!(result["toolCalls"][0]["call"]["id"], "A");
}

#[test]
fn what_was_not_given_is_asked_for() {
    let told = respond(["--tool-json", LOOKUP, "Look up A and B.", "--save-transcript", "t.json"])
        .script(&json!([lookups(&["A", "B"])]))
        .ends_with(10);
    let saved = std::fs::read(told.path("t.json")).unwrap();
    let terminal = Terminal::oam(["respond", "--resume", "t.json", "--tool-output", "A=here", "--ask-tools"])
        .file("t.json", saved)
        .script(&json!([{"template": "{toolOutputs}"}]))
        .start();
    terminal.shows("→ lookup {\"id\":\"B\"}").press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    assert!(
        ended.screen.contains("here\nError: No output was given: the question was left unanswered."),
        "{}",
        ended.screen
    );
}

#[test]
fn people_are_told_what_tools_do_and_how_to_go_on() {
    let tool = r#"{"name": "date", "description": "The date.", "x-oam": {"command": ["echo", "today"]}}"#;
    let calls = json!({"toolCalls": [{"name": "date", "id": "d"}, {"name": "lookup", "arguments": {"id": "A"}, "id": "A"}]});
    let terminal = at_terminal(["--tool-json", tool, "--save-transcript", "t.json", "Look up A."])
        .size(24, 300)
        .script(&json!([calls]))
        .start();
    let ended = terminal.ends_with(10);
    assert!(ended.screen.contains("→ date {}  (tool)\n"), "{}", ended.screen);
    assert!(
        ended.screen.contains("→ lookup {\"id\":\"A\"}  (external tool)\n← date today  ("),
        "{}",
        ended.screen
    );
    assert!(ended.screen.contains("{\"status\":\"tool_calls\""), "{}", ended.screen);
    assert!(ended.screen.contains("t.json --tool-output A=…"), "{}", ended.screen);
}

#[test]
fn a_signal_at_a_question_ends_it_all() {
    let asked = || {
        let terminal = at_terminal(["--ask-tools", "Look up A."]).script(&json!([lookups(&["A"])])).start();
        terminal.shows("output (text");
        terminal
    };
    asked().press(keys::CTRL_C).ends_with(130);
    asked().signal(Signal::SIGTERM).ends_with(143);
}

#[test]
fn an_answer_does_not_steer_the_terminal() {
    let terminal = at_terminal(["Hi"]).script(&json!([{"text": "\u{1b}[2J\u{7}gone"}])).start();
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("\\u{1b}[2J\\u{7}gone"), "{}", ended.screen);

    // JSON escapes some control characters anyway, and stays JSON.
    let terminal = at_terminal(["--json", "Hi"]).script(&json!([{"text": "\u{1b}\u{9b}2J"}])).start();
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("\\u001b\\u009b2J"), "{}", ended.screen);
}
