//! External tools: exit code 10, and going on.

use serde_json::json;

use super::{ids, order_and_weather, respond};
use crate::run::{Ended, oam_without_terminal};

/// A turn that waits for `o`, saved in `t.json`.
fn pending() -> Ended {
    respond(["--tools", "tools.json", "--tool-choice", "required", "--save-transcript", "t.json", "Order?"])
        .script(&json!([order_and_weather()]))
        .ends_with(10)
}

#[test]
fn a_call_of_an_external_tool_ends_the_process_with_10() {
    let told = pending();
    let result = told.json();
    assert_eq!(told.stdout.lines().count(), 1);
    assert_eq!(result["status"], "tool_calls");
    assert_eq!(
        result["calls"],
        json!([{"id": "o", "name": "lookup_order", "arguments": {"order_id": "A7"}}])
    );
    assert_eq!(result["transcript"].as_str(), told.path("t.json").canonicalize().unwrap().to_str());
    assert!(told.stderr.contains("t.json"));

    let pending = &told.saved("t.json")["oam"]["pending"];
    assert_eq!(ids(&pending["calls"]), ["o"]);
    assert_eq!(ids(&pending["completed"]), ["w"], "the round has been finished");
    assert_eq!(pending["order"], json!(["o", "w"]));
    assert_eq!((&pending["roundsUsed"], &pending["callsUsed"]), (&json!(1), &json!(2)));
}

#[test]
fn ids_agree_everywhere() {
    // The model gives none, so they are made up.
    let call = json!({"toolCalls": [{"name": "lookup_order", "arguments": {"order_id": "A7"}}]});
    let told = respond(["--tools", "tools.json", "--events", "--save-transcript", "t.json", "Order?"])
        .script(&json!([call]))
        .ends_with(10);
    let events = told.events();
    let started = events.iter().find(|event| event["type"] == "toolCallStarted").unwrap();
    assert_eq!(started["execution"], "client");
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("tool_calls"), &json!("tool_calls")));
    let id = last["calls"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(started["call"]["id"], *id);
    let entries = told.saved("t.json")["transcript"]["transcript"]["entries"].clone();
    assert_eq!(entries[2]["toolCalls"][0]["id"], *id);

    let output = format!("{id}=shipped");
    let resumed = told
        .then(["respond", "--resume", "t.json", "--tool-output", &output, "--json"])
        .script(&json!([{"text": "Shipped."}]))
        .ends_with(0);
    assert_eq!(ids(&resumed.json()["toolCalls"]), [id]);
}

#[test]
fn without_a_name_the_conversation_goes_into_a_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let told = respond(["--tools", "tools.json", "--json", "Order?"])
        .env("TMPDIR", folder.path())
        .script(&json!([order_and_weather()]))
        .ends_with(10);
    let path = told.json()["transcript"].as_str().unwrap().to_owned();
    let name = path.strip_prefix(folder.path().to_str().unwrap()).unwrap();
    let digits = name.strip_prefix("/oam-").and_then(|name| name.strip_suffix(".json")).unwrap();
    assert!(digits.len() == 8 && digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    told.then(["respond", "--resume", &path, "--tool-output", "o=shipped"])
        .script(&json!([{"template": "{toolOutput}"}]))
        .ends_with(0);
    assert!(std::fs::exists(&path).unwrap());
}

#[test]
fn an_empty_name_of_the_folder_for_temporary_files_is_none() {
    let told = respond(["--tools", "tools.json", "--json", "Order?"])
        .env("TMPDIR", "")
        .script(&json!([order_and_weather()]))
        .ends_with(10);
    let path = told.json()["transcript"].as_str().unwrap().to_owned();
    assert!(path.starts_with("/tmp/oam-"), "{path}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn outputs_continue_the_turn() {
    let told = pending()
        .then([
            "respond",
            "--resume",
            "t.json",
            "--tool-output",
            "o=@out.json",
            "--save-transcript",
            "t.json",
            "--json",
        ])
        .file("out.json", "{\"state\": \"shipped\"}\n")
        .script(&json!([{"template": "{toolOutputs} / {toolOutput}"}]))
        .ends_with(0);
    let result = told.json();
    let weather = r#"{"city":"Paris","temperature_c":14,"tool":"get_weather"}"#;
    assert_eq!(
        result["text"],
        format!("{{\"state\":\"shipped\"}}\n{weather} / {weather}"),
        "outputs of the whole turn"
    );
    assert_eq!(ids(&result["toolCalls"]), ["w", "o"]);
    let answered = &result["toolCalls"][1];
    assert_eq!(
        (&answered["output"], &answered["durationSeconds"]),
        (&json!({"state": "shipped"}), &json!(0))
    );
    assert_eq!(result["steps"].as_array().unwrap().len(), 1, "those of this invocation");

    // In the saved conversation each call has its output, in the same order.
    let entries = told.saved("t.json")["transcript"]["transcript"]["entries"].as_array().unwrap().clone();
    let calls: Vec<_> = entries.iter().filter_map(|entry| entry.get("toolCalls")).flat_map(ids).collect();
    let outputs: Vec<_> = entries
        .iter()
        .filter(|entry| entry["role"] == "tool")
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!((calls, outputs), (vec!["o", "w"], vec!["o", "w"]));

    // And the tools are still there.
    let next = told
        .then(["respond", "--resume", "t.json", "And in Paris?", "--json"])
        .script(&json!([super::weather(), {"text": "Mild."}]))
        .ends_with(0);
    assert_eq!(next.json()["toolCalls"].as_array().unwrap().len(), 1);
}

#[test]
fn outputs_are_text_json_files_or_errors() {
    for (flag, value, output, is_error) in [
        ("--tool-output", "o=It is shipped.", json!("It is shipped."), false),
        ("--tool-output", "o= [1, 2] ", json!([1, 2]), false),
        ("--tool-output", "o=a=b", json!("a=b"), false),
        ("--tool-output", "o=@", json!("@"), false),
        ("--tool-output", "o=", json!(""), false),
        ("--tool-output", "o=@-", json!("from a pipe"), false),
        ("--tool-error", "o=No such order.", json!("No such order."), true),
        ("--tool-error", "o=@-", json!("from a pipe"), true),
    ] {
        let told = pending()
            .then(["respond", "--resume", "t.json", flag, value, "--json"])
            .stdin("from a pipe\n")
            .script(&json!([{"template": "{toolOutputs}"}]))
            .ends_with(0)
            .json();
        let record = &told["toolCalls"][1];
        assert_eq!((&record["output"], &record["isError"]), (&output, &json!(is_error)), "{value}");
        assert_eq!(told["text"].as_str().unwrap().starts_with("Error: "), is_error);
    }
}

#[test]
fn every_call_needs_an_output() {
    let told = pending().then(["respond", "--resume", "t.json", "--json"]).stdin("no prompt").ends_with(2);
    let (code, message) = told.error();
    assert_eq!(code, "missing_tool_output");
    assert!(message.contains("o lookup_order {\"order_id\":\"A7\"}"), "{message}");
    assert_eq!(told.stdout, "");
}

#[test]
fn outputs_must_be_for_calls_that_wait() {
    for (arguments, part) in [
        (&["--tool-output", "x=1"][..], "these do: o."),
        (&["--tool-output", "w=1", "--tool-output", "o=1"], "No call 'w' waits"),
        (&["--tool-output", "o=1", "--tool-error", "o=2"], "two outputs for call 'o'"),
        (&["--tool-output", "o=1", "A prompt."], "waits for outputs"),
        (&["--tool-output", "o"], "<id>=<value>"),
        (&["--tool-output", "=1"], "empty"),
    ] {
        let told = pending()
            .then(["respond", "--resume", "t.json", "--json"].into_iter().chain(arguments.iter().copied()))
            .ends_with(2);
        let (code, message) = told.error();
        assert_eq!(code, "usage");
        assert!(message.contains(part), "{message}");
    }
    let unreadable = pending()
        .then(["respond", "--resume", "t.json", "--json", "--tool-output", "o=@nowhere"])
        .ends_with(2);
    assert_eq!(unreadable.error().0, "invalid_input");
}

#[test]
fn outputs_for_a_conversation_that_waits_for_none_are_a_mistake() {
    let told = respond(["Hi", "--save-transcript", "t.json"]).script(&json!([{"text": "Hi."}])).ends_with(0);
    let told =
        told.then(["respond", "--resume", "t.json", "--tool-output", "o=1", "And?", "--json"]).ends_with(2);
    assert_eq!(told.error().0, "usage");
    let told = respond(["--tool-output", "o=1", "Hi", "--json"]).ends_with(2);
    assert!(told.error().1.contains("--resume"));
}

#[test]
fn a_turn_can_wait_again_and_counts_on() {
    let order = |id: &str| json!({"toolCalls": [{"name": "lookup_order", "arguments": {"order_id": "B1"}, "id": id}]});
    let again = pending()
        .then(["respond", "--resume", "t.json", "--tool-output", "o=shipped", "--save-transcript", "t.json"])
        // An id that was used before.
        .script(&json!([order("o")]))
        .ends_with(10);
    let call = again.json()["calls"][0]["id"].as_str().unwrap().to_owned();
    assert_ne!(call, "o");
    let pending = again.saved("t.json")["oam"]["pending"].clone();
    assert_eq!((&pending["roundsUsed"], &pending["callsUsed"]), (&json!(2), &json!(3)));

    let output = format!("{call}=lost");
    let told = again
        .then(["respond", "--resume", "t.json", "--tool-output", &output, "--json"])
        .script(&json!([{"template": "{toolOutput}"}]))
        .ends_with(0)
        .json();
    assert_eq!(told["text"], "lost");
    assert_eq!(told["toolCalls"].as_array().unwrap().len(), 3);
}

#[test]
fn budgets_are_those_of_the_whole_turn() {
    for (flag, limit) in [("--max-tool-rounds", "1"), ("--max-tool-calls", "2"), ("--max-tool-calls", "0")] {
        let told = pending()
            .then(["respond", "--resume", "t.json", "--tool-output", "o=1", "--json", flag, limit])
            .script(&json!([{"text": "Done."}]))
            .ends_with(0)
            .json();
        assert_eq!(told["steps"][0]["toolCallingMode"], "disallowed", "{flag} {limit}");
    }
}

#[test]
fn a_schema_is_kept_until_the_answer() {
    let schema = json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}, "required": ["b", "a"]});
    let told =
        respond(["--tools", "tools.json", "--schema", "s.json", "--save-transcript", "t.json", "Order?"])
            .file("s.json", schema.to_string())
            .script(&json!([order_and_weather()]))
            .ends_with(10);
    assert_eq!(told.saved("t.json")["oam"]["schema"], schema);
    let told = told
        .then([
            "respond",
            "--resume",
            "t.json",
            "--tool-output",
            "o=1",
            "--save-transcript",
            "t.json",
            "--json",
        ])
        .script(&json!([{"json": {"a": "1", "b": "2"}}]))
        .ends_with(0);
    assert_eq!(told.json()["structured"].to_string(), r#"{"b":"2","a":"1"}"#);
    assert!(told.saved("t.json")["oam"].get("schema").is_none());
}

#[test]
fn asking_needs_a_terminal() {
    let told = oam_without_terminal(["respond", "--ask-tools", "Order?", "--json"])
        .script(&json!([order_and_weather()]))
        .ends_with(2);
    let (code, message) = told.error();
    assert_eq!(code, "usage");
    assert!(message.contains("--ask-tools") && message.contains("terminal"), "{message}");
}

#[test]
fn an_id_of_a_call_is_a_value_whatever_it_begins_with() {
    let steps =
        json!([{"toolCalls": [{"name": "lookup_order", "arguments": {"order_id": "A7"}, "id": "-$(x)"}]}]);
    let told = respond(["--tools", "tools.json", "-v", "--save-transcript", "t.json", "Order?"]);
    let told = told.script(&steps).ends_with(10);
    // The hint can be pasted into a shell, and nothing in it is run.
    assert!(told.stderr.contains("--tool-output '-$(x)'=…"), "{}", told.stderr);
    let told = told.then(["respond", "--resume", "t.json", "--tool-output", "-$(x)=shipped"]);
    assert_eq!(told.script(&json!([{"template": "{toolOutput}"}])).ends_with(0).stdout, "shipped\n");
}
