//! What is printed, and where.

use serde_json::{Value, json};

use super::{respond, weather};

#[test]
fn the_answer_is_printed_with_one_line_end() {
    for flags in [&["Hello!"][..], &["Hello!", "--no-stream"], &["Hello!", "--stream"]] {
        for (text, printed) in [("Good day.", "Good day.\n"), ("Two\nlines.\n", "Two\nlines.\n"), ("", "\n")]
        {
            let told = respond(flags.iter().copied()).script(&json!([{"text": text}])).ends_with(0);
            assert_eq!((told.stdout.as_str(), told.stderr.as_str()), (printed, ""), "{flags:?}");
        }
    }
}

#[test]
fn json_is_one_object_with_all_there_is_to_know() {
    let told = respond(["--tools", "tools.json", "--json", "--save-transcript", "chat.json", "Paris?"])
        .script(&json!([weather(), {"template": "{toolOutput}"}]))
        .ends_with(0);
    assert_eq!((told.stdout.lines().count(), told.stderr.as_str()), (1, ""));
    let result = told.json();
    let members: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["status", "text", "toolCalls", "usage", "steps", "transcript"]);
    assert_eq!(result["status"], "completed");
    let record = &result["toolCalls"][0];
    assert_eq!(record["call"], json!({"id": "w", "name": "get_weather", "arguments": {"city": "Paris"}}));
    assert_eq!(record["output"], json!({"city": "Paris", "temperature_c": 14, "tool": "get_weather"}));
    assert_eq!((&record["isError"], record["durationSeconds"].is_number()), (&json!(false), true));
    assert_eq!(result["steps"].as_array().unwrap().len(), 2);
    assert_eq!(
        result["steps"][1],
        json!({"index": 1, "completedToolRounds": 1, "toolCallingMode": "allowed",
               "enabledTools": ["get_weather", "lookup_order"], "trimmedEntries": 0})
    );
    assert_eq!(result["usage"].as_object().unwrap().len(), 4);
    assert_eq!(result["transcript"].as_str(), told.path("chat.json").canonicalize().unwrap().to_str());
}

#[test]
fn events_are_one_object_a_line_and_end_with_the_result() {
    let told = respond(["--tools", "tools.json", "--events", "Paris?"])
        .script(&json!([weather(), {"text": "It is mild.", "chunks": 2}]))
        .ends_with(0);
    let events = told.events();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected =
        ["modelStep", "toolCallStarted", "toolCallCompleted", "modelStep", "text", "text", "completed"];
    assert_eq!(types, expected);
    assert_eq!((&events[1]["execution"], &events[1]["call"]["id"]), (&json!("local"), &json!("w")));
    assert_eq!(events[2]["record"]["call"]["id"], "w");
    assert!(
        told.stdout
            .lines()
            .nth(2)
            .unwrap()
            .starts_with(r#"{"type":"toolCallCompleted","record":{"call":{"id":"w""#)
    );
    let Value::Object(text) = &events[5] else { panic!() };
    assert_eq!((&text["text"], &text["isReset"]), (&json!("It is mild."), &json!(false)));
    assert_eq!(events[6]["response"]["text"], "It is mild.");
    assert_eq!(told.stderr, "");
}

#[test]
fn activity_is_told_on_standard_error_only_to_those_who_look() {
    let script = json!([weather(), {"text": "It is mild."}]);
    let arguments = ["--tools", "tools.json", "--tool-choice", "required", "Paris?"];
    let quiet = respond(arguments).script(&script).ends_with(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("It is mild.\n", ""));

    let told = respond(arguments.into_iter().chain(["-v"])).script(&script).ends_with(0);
    assert_eq!(told.stdout, "It is mild.\n");
    let lines: Vec<_> = told.stderr.lines().collect();
    assert_eq!(lines[0], "· step 1: tools required (get_weather, lookup_order)");
    assert_eq!(lines[1], "→ get_weather {\"city\":\"Paris\"}  (tool)");
    assert!(
        lines[2].starts_with("← get_weather {\"city\":\"Paris\",\"temperature_c\":14")
            && lines[2].ends_with("s)")
    );
    assert_eq!(lines[3], "· step 2: tools allowed (get_weather, lookup_order)");
    assert!(lines[4].contains("output tokens") && lines[4].ends_with("steps: 2, tool calls: 1"), "{told:?}");
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_first_step_without_anything_special_is_not_told() {
    let told = respond(["-v", "Hello!"]).script(&json!([{"text": "Hi."}])).ends_with(0);
    assert!(told.stderr.contains("· step 1: tools disallowed"), "there are no tools: {told:?}");
    let told = respond(["--verbose", "--tools", "tools.json", "Hello!"])
        .script(&json!([{"text": "Hi."}]))
        .ends_with(0);
    assert!(!told.stderr.contains("step 1:"), "{told:?}");
}

#[test]
fn warnings_of_tools_are_told_to_people_and_machines() {
    let tool = r#"{"name": "go", "parameters": {"type": "object", "properties": {"to": {"type": "string", "pattern": "x"}}}}"#;
    let script = json!([{"text": "Hi."}]);
    let people = respond(["--tool-json", tool, "Hello!"]).script(&script).ends_with(0);
    assert_eq!(people.stdout, "Hi.\n");
    assert!(people.stderr.lines().all(|line| line.starts_with("Warning: go: ")), "{people:?}");
    let machines = respond(["--tool-json", tool, "Hello!", "--json"]).script(&script).ends_with(0);
    let warnings = machines.json()["warnings"].as_array().unwrap().len();
    assert_eq!((warnings, machines.stderr.as_str()), (people.stderr.lines().count(), ""));
}
