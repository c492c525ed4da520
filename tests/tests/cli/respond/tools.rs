//! Tools with commands, and which of them the model must call.

use serde_json::json;

use super::{respond, weather};

#[test]
fn a_command_tool_runs_and_its_output_reaches_the_model() {
    let told = respond(["--tools", "tools.json", "Paris?"])
        .script(&json!([weather(), {"template": "It says {toolOutput}."}]))
        .ends_with(0);
    assert!(told.stdout.contains(r#""temperature_c":14"#) && told.stdout.contains(r#""tool":"get_weather""#));
}

#[test]
fn a_failing_tool_does_not_fail_the_turn() {
    let call = json!({"toolCalls": [{"name": "get_weather", "arguments": {"city": ""}}]});
    let told = respond(["--tools", "tools.json", "--json", "Where?"])
        .script(&json!([call, {"text": "I do not know."}]))
        .ends_with(0)
        .json();
    assert_eq!(told["toolCalls"][0]["isError"], true);
    assert_eq!(told["text"], "I do not know.");
}

#[test]
fn tools_come_from_files_pipes_and_arguments() {
    let one = r#"{"name": "one", "description": "1"}"#;
    let steps = |run: crate::run::Run| {
        let told = run.script(&json!([{"text": "Hi."}])).ends_with(0).json();
        told["steps"][0]["enabledTools"].clone()
    };
    assert_eq!(steps(respond(["--tool-json", one, "Hi", "--json"])), json!(["one"]));
    assert_eq!(
        steps(respond(["--tools", "tools.json", "--tool-json", one, "Hi", "--json"])),
        json!(["get_weather", "lookup_order", "one"])
    );
    let piped = respond(["--tools", "-", "Hi", "--json"]).stdin(format!("\u{feff}{{\"tools\": [{one}]}}"));
    assert_eq!(steps(piped), json!(["one"]), "and the pipe is no prompt");
}

#[test]
fn the_tool_choice_rules_the_first_step() {
    for (choice, mode, tools) in [
        ("auto", "allowed", json!(["get_weather", "lookup_order"])),
        ("none", "disallowed", json!([])),
        ("required", "required", json!(["get_weather", "lookup_order"])),
        ("any", "required", json!(["get_weather", "lookup_order"])),
        ("explicit", "required", json!(["get_weather", "lookup_order"])),
        ("get_weather", "required", json!(["get_weather"])),
    ] {
        let told = respond(["--tools", "tools.json", "--tool-choice", choice, "Hi", "--json"])
            .script(&json!([{"text": "Hi."}]))
            .ends_with(0)
            .json();
        let step = &told["steps"][0];
        assert_eq!((&step["toolCallingMode"], &step["enabledTools"]), (&json!(mode), &tools), "{choice}");
    }
}

#[test]
fn responding_directly_is_no_tool_call() {
    let told = respond(["--tools", "tools.json", "--tool-choice", "explicit", "Hi", "--events"])
        .script(&json!([{"toolCalls": [{"name": "respond_directly"}]}, {"text": "Hi."}]))
        .ends_with(0);
    assert!(!told.stdout.contains("respond_directly"), "{told:?}");
    assert_eq!(told.events().last().unwrap()["response"]["toolCalls"], json!([]));
}

#[test]
fn budgets_end_the_use_of_tools() {
    let script = json!([weather(), weather(), {"text": "Hi."}]);
    for (flag, limit, rounds) in
        [("--max-tool-rounds", "1", 1), ("--max-tool-calls", "1", 1), ("--max-tool-rounds", "0", 0)]
    {
        let told = respond(["--tools", "tools.json", flag, limit, "Hi", "--json"])
            .script(&script)
            .ends_with(0)
            .json();
        let steps = told["steps"].as_array().unwrap();
        assert_eq!(steps[rounds]["toolCallingMode"], "disallowed", "{flag} {limit}");
    }
}
