//! Sets of tools: from several sources, for agents, and through a file and back.

use std::fs;

use oam_agent::{ToolExecutor, json_text};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn inline(definitions: &[Value]) -> Result<ToolSet, Failure> {
    ToolSet::load(None, &definitions.iter().map(Value::to_string).collect::<Vec<_>>())
}

fn names(set: &ToolSet) -> Vec<&str> {
    set.tools().iter().map(|tool| tool.name().as_str()).collect()
}

#[test]
fn sources_are_combined_in_order_and_share_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.json");
    fs::write(&path, r#"{"tools": [{"name": "a"}, {"name": "b"}], "more": 1}"#).unwrap();
    let file = InputPath::File(path);
    let load = |inline: &[&str]| {
        ToolSet::load(Some(&file), &inline.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    };
    let set = load(&[r#"{"name": "c"}"#, r#"[{"name": "d"}, {"function": {"name": "e"}}]"#]).unwrap();
    assert_eq!(names(&set), ["a", "b", "c", "d", "e"]);
    for (texts, message) in [
        (&[r#"{"name": "b"}"#][..], "--tool-json #1: tools[0].name: there is a tool 'b' already"),
        (&[r#"{"name": "x"}"#, "[{"], "--tool-json #2: is not JSON at byte 1"),
        (&["7"], "--tool-json #1: must be a tool definition or an array of them"),
    ] {
        let failure = load(texts).unwrap_err();
        assert_eq!(failure.code.as_str(), "invalid_input");
        assert!(failure.message.starts_with(message), "{failure}");
    }
    let failure = load(&[r#"{"name": "b"}"#]).unwrap_err();
    assert!(failure.message.contains("tools.json: tools[1]"), "it names both places: {failure}");
}

#[test]
fn commands_keep_their_time_limits_themselves_and_others_are_the_clients() {
    let command = json!({"name": "run", "x-oam": {"command": "true", "timeout": 1.5}});
    let set = inline(&[command, json!({"name": "ask"})]).unwrap();
    let [run, ask] = &set.for_agent()[..] else { panic!("two tools") };
    assert!(matches!(run.executor, ToolExecutor::Local(_)) && matches!(ask.executor, ToolExecutor::Client));
    assert_eq!((run.timeout, ask.timeout), (None, None));
}

#[test]
fn a_saved_set_has_everything_looked_up_and_comes_back_as_it_was() {
    let parameters = json!({"type": "object", "properties": {"b": {"type": "string", "pattern": "^x"}, "a": {}},
        "required": ["a"], "x-order": ["a", "b"]});
    let set = inline(&[
        json!({"name": "line", "description": "One.", "parameters": parameters, "x-oam": {
            "command": "echo $TOKEN", "cwd": "/", "timeout": 0.5, "env": {"TOKEN": "secret", "N": 1.0},
            "maxOutputChars": 100}}),
        json!({"name": "words", "x-oam": {"command": ["sh", "./x"]}}),
        json!({"name": "ask"}),
    ])
    .unwrap();
    let saved = set.to_saved();
    let here = files::absolute(Path::new("."));
    let shell = crate::program::find("sh", Path::new(".")).unwrap();
    assert_eq!(saved[0]["function"]["parameters"], parameters);
    assert_eq!(
        json_text::compact(&saved[0]["x-oam"]),
        r#"{"command":["/bin/sh","-c","echo $TOKEN"],"cwd":"/","timeout":0.5,"env":{"TOKEN":"secret","N":"1"},"maxOutputChars":100}"#
    );
    assert_eq!(saved[1]["x-oam"], json!({"command": [shell, "./x"], "cwd": here, "timeout": 30.0}));
    let no_parameters = json!({"type": "object", "properties": {}});
    assert_eq!(
        saved[2],
        json!({"type": "function", "function": {"name": "ask", "description": "", "parameters": no_parameters}})
    );

    let back = ToolSet::from_saved(&saved, "chat.json").unwrap();
    assert_eq!((back.to_saved(), back.warnings()), (saved, &[][..]));
    for (before, after) in set.tools().iter().zip(back.tools()) {
        assert_eq!(before.definition.parameters, after.definition.parameters);
        assert_eq!(before.runs.as_str(), after.runs.as_str());
    }
}

#[test]
fn a_saved_set_that_cannot_be_used_is_named_by_its_file() {
    for (saved, message) in [
        (
            json!([{"name": "x", "x-oam": {"command": ["/nowhere/x"]}}]),
            "chat.json: oam.tools[0].x-oam.command:",
        ),
        (json!(5), "chat.json: oam.tools: must be an array"),
    ] {
        let failure = ToolSet::from_saved(&saved, "chat.json").unwrap_err();
        assert!(failure.message.starts_with(message), "{failure}");
    }
}

#[test]
fn tools_of_a_conversation_are_external() {
    let set = inline(&[json!({"name": "run", "x-oam": {"command": "true"}})]).unwrap();
    let definition = Arc::clone(&set.tools()[0].definition);
    let external = ToolSet::external([definition]);
    assert_eq!((names(&external), external.tools()[0].runs.as_str()), (vec!["run"], "external"));
    let again = ToolSet::from_saved(&external.to_saved(), "chat.json").unwrap();
    assert_eq!(again.tools()[0].definition.parameters, external.tools()[0].definition.parameters);
}

#[test]
fn secrets_are_not_shown() {
    let tool = json!({"name": "run", "x-oam": {"command": "true", "env": {"TOKEN": "secret"}}});
    let shown = format!("{:?}", inline(&[tool]).unwrap());
    assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
    let bad = json!({"name": "run", "x-oam": {"command": "true", "env": {"TOKEN": ["secret"]}}});
    assert!(!inline(&[bad]).unwrap_err().message.contains("secret"));
}

/// Values that look like definitions, more or less.
fn definitions() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["function", "object", "string", "sh", "/bin/sh", "~", "#", ""])
            .prop_map(Value::from),
    ];
    let key = prop_oneof![
        4 => prop::sample::select(vec![
            "tools", "type", "function", "name", "description", "parameters", "x-oam", "command", "timeout", "cwd",
            "env", "maxOutputChars", "properties", "required", "x-order",
        ])
        .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_definition_is_too_strange(value in definitions()) {
        match inline(&[value]) {
            Ok(set) => {
                let back = ToolSet::from_saved(&set.to_saved(), "saved.json");
                prop_assert_eq!(back.unwrap().to_saved(), set.to_saved());
            }
            Err(failure) => prop_assert!(failure.message.starts_with("--tool-json #1: "), "{}", failure),
        }
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        let _ = ToolSet::load(None, &[text]);
    }
}
