//! `oam chat` with piped lines.

use oam_tests::oam_binary;
use serde_json::{Value, json};

use crate::run::{Run, oam, oam_without_terminal};

fn chat<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Run {
    oam(std::iter::once("chat").chain(arguments))
}

/// Answers that repeat what was said.
fn echoes() -> Value {
    json!({"steps": [], "fallback": {"template": "You said: {prompt}"}})
}

/// A tool that prints the order it was asked for.
fn lookup_order() -> Value {
    json!([{"type": "function", "function": {
        "name": "lookup_order", "description": "Finds an order.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
        "x-oam": {"command": "printf '{\"order\": %s}' \"$OAM_TOOL_ARGUMENTS\""}}])
}

/// A tool whose calls somebody else answers.
fn external(name: &str) -> String {
    json!({"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}).to_string()
}

fn calls(name: &str) -> Value {
    json!({"toolCalls": [{"name": name, "arguments": {}}]})
}

#[test]
fn lines_are_questions_and_commands() {
    let steps = json!([
        {"toolCalls": [{"name": "lookup_order", "arguments": {"id": "A-17"}}]},
        {"template": "Found: {toolOutput}"},
    ]);
    let told = chat(["--tools", "tools.json"])
        .script(&steps)
        .file("tools.json", lookup_order().to_string())
        .stdin("Where is A-17?\n\n/tools\n  \n/save saved/chat.json\n/usage\n/exit\nnever read\n")
        .ends_with(0);
    let saved = told.path("saved/chat.json");
    let saved_path = std::fs::canonicalize(&saved).unwrap();
    let lines: Vec<_> = told.stdout.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "› Where is A-17?",
            r#"Found: {"order":{"id":"A-17"}}"#,
            "› /tools",
            "lookup_order (runs a command) - Finds an order.",
        ]
    );
    assert_eq!(lines[4], "› /save saved/chat.json");
    assert_eq!(lines[5], format!("Saved in {}.", saved_path.display()));
    assert!(lines[7].contains("tokens in") && lines[7].ends_with(", 1 turn"), "{told:?}");
    assert_eq!(lines[8..], ["› /exit"]);
    let stderr: Vec<_> = told.stderr.lines().collect();
    assert_eq!(stderr[0], "oam chat: model scripted; tools lookup_order");
    assert!(stderr[1].starts_with("/help lists the commands."), "{told:?}");
    assert_eq!(stderr[2], r#"→ lookup_order {"id":"A-17"}  (tool)"#);
    assert!(stderr[3].starts_with(r#"← lookup_order {"order":{"id":"A-17"}}  ("#), "{told:?}");
    assert_eq!(stderr.len(), 4);
    let saved = told.saved("saved/chat.json");
    assert_eq!((&saved["modelName"], &saved["oam"]["version"]), (&json!("scripted"), &json!(1)));
    assert_eq!(saved["oam"]["tools"][0]["function"]["name"], "lookup_order");
}

#[test]
fn commands_are_understood_in_any_case_and_others_are_not_sent_to_the_model() {
    let told = chat([])
        .script(&echoes())
        .stdin("/HELP\n/?\n/nothing now\n/save\n/Usage\n /etc is a folder\n/reset\r\n/tools\n/QUIT\n")
        .ends_with(0);
    assert_eq!(told.stdout.matches("/save FILE ").count(), 2, "{told:?}");
    for part in [
        "There is no command /nothing. /help lists them.\n",
        "Usage: /save FILE\n",
        "0 tokens in (0 of them cached), 0 tokens out, 0 turns\n",
        "You said: /etc is a folder\n",
        "› /reset\nThe conversation begins anew.\n",
        "There are no tools.",
    ] {
        assert!(told.stdout.contains(part), "{part}: {told:?}");
    }
    assert!(told.stdout.ends_with("› /QUIT\n"));
}

#[test]
fn the_end_of_input_ends_the_chat_also_in_the_middle_of_a_line() {
    for input in ["", "Hello!", "Hello!\n", "/q\n"] {
        let told = chat([]).script(&echoes()).stdin(input).ends_with(0);
        assert_eq!(told.stdout.contains("You said: Hello!\n"), input.starts_with("Hello"), "{told:?}");
    }
    let told = chat([]).script(&echoes()).stdin(b"caf\xe9\n".to_vec()).ends_with(0);
    assert!(told.stdout.contains("You said: caf\u{fffd}\n"), "{told:?}");
}

#[test]
fn a_turn_that_fails_is_told_and_the_chat_goes_on() {
    let steps = json!([
        {"error": "guardrail_violation", "message": "Not that."},
        {"error": "refusal", "message": "Not me."},
        {"error": "context_size_exceeded", "message": "Too long."},
        {"error": "rate_limited"}, {"error": "rate_limited"},
        {"text": ""},
        {"template": "You said: {prompt}"},
    ]);
    let told = chat([]).script(&steps).stdin("a\nb\nc\nd\ne\nf\n/usage\n").ends_with(0);
    let stderr: Vec<_> = told.stderr.lines().skip(2).collect();
    assert_eq!(stderr[0], "Error: Not that.");
    assert_eq!(stderr[1], "Other words may help. /reset makes the model forget what was said before.");
    assert_eq!(stderr[2..4], ["Error: Not me.", stderr[1]]);
    assert_eq!(stderr[4], "Error: Too long.");
    assert!(stderr[5].contains("/reset begins anew"), "{told:?}");
    assert!(stderr[6].starts_with("Error: ") && stderr.len() == 7, "{told:?}");
    assert!(told.stdout.contains("› e\n(an empty answer)\n› f\nYou said: f\n"), "{told:?}");
    assert!(told.stdout.ends_with(", 2 turns\n"), "{told:?}");
}

#[test]
fn an_answer_that_starts_over_is_told_from_the_beginning() {
    // The worker dies in the middle of its second answer; the next one begins its script anew.
    let worker = format!(
        "'{}' worker scripted --script script.json --script-position process --fault kill:at=middle+step=2+once=died",
        oam_binary().display()
    );
    let steps = json!([{"text": "Something else."}, {"text": "One two three.", "chunks": 3}]);
    let told = chat([])
        .env("OAM_WORKER", worker)
        .file("script.json", steps.to_string())
        .stdin("Hello!\nCount!\n")
        .ends_with(0);
    assert_eq!(told.stdout, "› Hello!\nSomething else.\n› Count!\nOne t\nSomething else.\n");
}

#[test]
fn each_turn_is_saved_and_can_be_gone_on_with() {
    let first = chat(["--save-transcript", "chat.json", "-i", "Be brief.", "--tools", "tools.json"])
        .script(&json!([{"text": "One."}, {"error": "refusal"}]))
        .file("tools.json", lookup_order().to_string())
        .stdin("First?\nSecond?\n")
        .ends_with(0);
    let saved = std::fs::read(first.path("chat.json")).unwrap();
    let text = String::from_utf8(saved.clone()).unwrap();
    assert!(text.contains("First?") && !text.contains("Second?"), "{text}");
    let again = chat(["--resume", "chat.json", "--save-transcript", "again.json"])
        .script(&json!([{"text": "Three."}]))
        .file("chat.json", saved)
        .stdin("/tools\nThird?\n")
        .ends_with(0);
    assert!(
        again.stderr.starts_with("oam chat: model scripted; tools lookup_order; 1 turn resumed\n"),
        "{again:?}"
    );
    assert!(again.stdout.contains("lookup_order (runs a command)"), "{again:?}");
    let text = std::fs::read_to_string(again.path("again.json")).unwrap();
    for part in ["Be brief.", "First?", "One.", "Third?", "Three.", "lookup_order"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_reset_forgets_the_conversation() {
    let told = chat(["--save-transcript", "chat.json"])
        .script(&echoes())
        .stdin("First?\n/reset\nSecond?\n")
        .ends_with(0);
    let text = std::fs::read_to_string(told.path("chat.json")).unwrap();
    assert!(text.contains("Second?") && !text.contains("First?"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_ends_nothing() {
    let told = chat(["--save-transcript", "/dev/null/chat.json"])
        .script(&echoes())
        .stdin("Hello!\n/save /dev/null/chat.json\nStill there?\n")
        .ends_with(0);
    assert_eq!(told.stderr.matches("Error: /dev/null/chat.json: cannot be written").count(), 3, "{told:?}");
    assert!(told.stdout.contains("You said: Still there?\n"), "{told:?}");
}

#[test]
fn without_a_terminal_external_tools_have_no_output() {
    let told = oam_without_terminal(["chat", "--tool-json", &external("look")])
        .script(&json!([calls("look"), {"template": "{toolOutput}"}]))
        .stdin("Look!\n/tools\n")
        .ends_with(0);
    assert!(
        told.stdout.contains("Error: No output was given: there is no terminal to ask for it.\n"),
        "{told:?}"
    );
    assert!(told.stdout.contains("look (you type the output)\n"), "{told:?}");
    assert!(
        told.stderr.contains("tools look (external)\n") && told.stderr.contains("(external tool)"),
        "{told:?}"
    );
    assert!(told.stderr.contains("Warning: "), "the tool has no description: {told:?}");
}

#[test]
fn flags_reach_the_turns() {
    let choice = |arguments: &[&str], steps: Value, input: &str| {
        let tools = lookup_order().to_string();
        let arguments = [&["--tools", "tools.json"], arguments].concat();
        chat(arguments).script(&steps).file("tools.json", tools).stdin(input).ends_with(0)
    };
    let call = json!({"toolCalls": [{"name": "lookup_order", "arguments": {"id": "x"}}]});
    let told = choice(&["--max-tool-rounds", "0"], json!([call, {"text": "No more."}]), "Go!\n");
    assert!(told.stdout.ends_with("No more.\n") && !told.stderr.contains("\"order\""), "{told:?}");
    let told = choice(&["--max-tool-calls", "1"], json!([call, call, {"text": "Enough."}]), "Go!\n");
    assert_eq!(told.stderr.matches("{\"order\"").count(), 1, "{told:?}");
    let told = choice(&["--tool-choice", "none"], json!([call, {"text": "Yes."}]), "Go!\n");
    assert!(!told.stderr.contains("\"order\""), "{told:?}");
    let generation = ["-g", "--temperature", "0.5", "--max-tokens", "20", "--save-transcript", "c.json"];
    let told = choice(&generation, json!([{"text": "Yes."}]), "Go!\n");
    let entries = told.saved("c.json")["transcript"]["transcript"]["entries"].clone();
    let prompt = entries.as_array().unwrap().iter().find(|entry| entry["role"] == "user").unwrap();
    assert_eq!(prompt["options"], json!({"temperature": 0.5, "maximumResponseTokens": 20}));
}

#[test]
fn what_cannot_be_used_is_told_before_the_chat_begins() {
    let waiting = json!({"transcript": {"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [
        {"id": "1", "role": "user", "contents": [{"type": "text", "id": "2", "text": "Look!"}]},
        {"id": "3", "role": "response", "toolCalls": [{"id": "call-1", "name": "look", "arguments": "{}"}]},
    ]}}});
    for (arguments, code, part) in [
        (["--resume", "waiting.json"], 2, "waits for outputs of tool calls: call-1 (look)"),
        (["--resume", "nowhere.json"], 2, "nowhere.json"),
        (["--tools", "nowhere.json"], 2, "nowhere.json"),
        (["--tool-json", "{"], 2, "--tool-json"),
        (["--tool-choice", "look"], 2, "--tool-choice"),
        (["--temperature", "3"], 2, "--temperature"),
    ] {
        let told = chat(arguments)
            .script(&echoes())
            .file("waiting.json", waiting.to_string())
            .stdin("Hello!\n")
            .ends_with(code);
        assert!(told.stderr.contains(part) && told.stdout.is_empty(), "{arguments:?}: {told:?}");
    }
    let told = chat([]).stdin("Hello!\n").ends_with(3);
    assert!(told.stderr.starts_with("Error: The model is unavailable") && told.stdout.is_empty(), "{told:?}");
    let told = chat(["--resume", "nowhere.json", "--json"]).ends_with(2);
    assert!(told.stderr.contains("--json"), "{told:?}");
}
