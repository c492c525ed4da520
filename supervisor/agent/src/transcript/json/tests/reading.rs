use serde_json::{Value, json};

use super::{call, envelope, error, output, read, text};
use crate::transcript::{EntryContent, EntryId, json::SavedTranscript};

#[test]
fn known_versions_and_wrappers_are_read() {
    let with_version = |version: Value| {
        let mut envelope = envelope(&json!([{"role": "user", "contents": []}]));
        envelope["version"] = version;
        envelope
    };
    for version in [json!("1.1"), json!("1"), json!(1), json!(1.0)] {
        let envelope = with_version(version);
        let forms = [
            json!({"modelName": "system", "transcript": envelope}),
            json!({"session": "s", "transcript": envelope}),
            envelope,
        ];
        for form in forms {
            assert_eq!(SavedTranscript::from_json(&form).unwrap().transcript.len(), 1, "{form}");
        }
    }
    for version in [json!("2.0"), json!(2), json!(null), json!(true)] {
        let error = SavedTranscript::from_json(&with_version(version.clone())).unwrap_err();
        assert_eq!(error, format!("version: must be \"1.1\" or 1; found {version}"));
    }
}

#[test]
fn what_is_not_a_transcript_is_refused() {
    let not_a_transcript = [
        json!(5),
        json!("text"),
        json!([]),
        json!({}),
        json!({"entries": []}),
        json!({"transcript": 7}),
        json!({"transcript": {"entries": []}}),
        json!({"transcript": {"transcript": envelope(&json!([]))}}),
    ];
    for value in not_a_transcript {
        let error = SavedTranscript::from_json(&value).unwrap_err();
        assert_eq!(
            error, r#"not a transcript: expected an object with "type": "FoundationModels.Transcript""#,
            "{value}"
        );
    }
    let kind = "FoundationModels.Transcript";
    let broken = [
        (json!({"type": kind, "transcript": {"entries": []}}), "version: must be \"1.1\" or 1; found none"),
        (json!({"type": kind, "version": 1}), "has no 'transcript'"),
        (json!({"type": kind, "version": 1, "transcript": {}}), "transcript: has no 'entries'"),
        (
            json!({"type": kind, "version": 1, "transcript": {"entries": "x"}}),
            "transcript.entries: must be an array",
        ),
    ];
    for (value, text) in broken {
        assert_eq!(SavedTranscript::from_json(&value).unwrap_err(), text);
    }
}

#[test]
fn errors_name_the_place() {
    let prompt_with = |member: &str, value: Value| {
        let mut prompt = json!({"role": "user", "contents": []});
        prompt[member] = value;
        prompt
    };
    let contents = |segment: Value| json!({"role": "response", "contents": [segment]});
    let cases = [
        (json!(1), "must be an object"),
        (json!({}), "has no 'role'"),
        (json!({"role": 1}), ".role: must be a string"),
        (json!({"role": "system", "contents": []}), "unknown role \"system\""),
        (json!({"role": "user"}), "has no 'contents'"),
        (prompt_with("contents", json!("x")), ".contents: must be an array"),
        (prompt_with("id", json!(1)), ".id: must be a string"),
        (prompt_with("options", json!([])), ".options: must be an object"),
        (
            prompt_with("responseFormat", json!({"type": "x"})),
            ".responseFormat: unknown response format \"x\"",
        ),
        (
            prompt_with("responseFormat", json!({"type": "jsonSchema", "jsonSchema": {"name": "x"}})),
            ".responseFormat.jsonSchema: has no 'schema'",
        ),
        (json!({"role": "response"}), "has no 'contents'"),
        (contents(json!("x")), ".contents[0]: must be an object"),
        (contents(json!({"type": "sound"})), ".contents[0]: unknown segment type \"sound\""),
        (contents(json!({"type": "text"})), ".contents[0]: has no 'text'"),
        (
            contents(json!({"type": "structure", "structure": {"source": "x"}})),
            ".contents[0].structure: has no 'content'",
        ),
        (
            contents(json!({"type": "structure", "structure": {"content": 1}})),
            ".contents[0].structure: has no 'source'",
        ),
        (json!({"role": "response", "toolCalls": {}}), ".toolCalls: must be an array"),
        (json!({"role": "response", "toolCalls": [{"name": "x"}]}), ".toolCalls[0]: has no 'id'"),
        (json!({"role": "response", "toolCalls": [{"id": "x"}]}), ".toolCalls[0]: has no 'name'"),
        (
            json!({"role": "response", "toolCalls": [{"id": "c", "name": "x", "arguments": "[]"}]}),
            ".toolCalls[0].arguments: must be the JSON text of an object",
        ),
        (
            json!({"role": "response", "toolCalls": [], "contents": text("x")}),
            "has both 'contents' and 'toolCalls'",
        ),
        (json!({"role": "tool", "id": "c", "contents": []}), "has no 'toolName'"),
        (json!({"role": "tool", "toolName": "x", "contents": []}), "has no 'id'"),
        (json!({"role": "instructions"}), "has no 'contents'"),
    ];
    for (entry, text) in cases {
        let colon = if text.starts_with('.') { "" } else { ": " };
        assert_eq!(error(&json!([entry])), format!("entries[0]{colon}{text}"));
    }
    let later = json!([{"role": "user", "contents": []}, contents(json!({"type": "text", "text": 1}))]);
    assert_eq!(error(&later), "entries[1].contents[0].text: must be a string");
}

#[test]
fn only_a_first_instructions_entry_counts() {
    let instructions = |text: Value| json!({"role": "instructions", "id": "i", "contents": text});
    let prompt = json!({"role": "user", "contents": text("Hi")});
    let saved = read(&json!([instructions(text("One.")), prompt, instructions(json!("not looked at"))]));
    assert_eq!(saved.setup.unwrap().instructions.as_deref(), Some("One."));
    assert_eq!(saved.transcript.len(), 1);

    let saved = read(&json!([prompt, instructions(text("One."))]));
    assert!(saved.setup.is_none());
    assert_eq!(saved.transcript.len(), 1);
}

#[test]
fn instruction_texts_are_joined_and_an_empty_one_is_none() {
    let contents = json!([{"type": "text", "text": "One. "}, {"type": "text", "text": "Two."}]);
    let instructions =
        |contents| read(&json!([{"role": "instructions", "contents": contents}])).setup.unwrap().instructions;
    assert_eq!(instructions(contents).as_deref(), Some("One. Two."));
    assert_eq!(instructions(json!([])), None);
    assert_eq!(instructions(text("")), None);
}

#[test]
fn tools_are_rebuilt_once_each_or_reported() {
    let function = |function: Value| json!({"type": "function", "function": function});
    let tools = json!([
        function(
            json!({"name": "open_gate", "description": "First.", "parameters": {"type": "object", "properties": {}}})
        ),
        function(json!({"name": "open_gate", "description": "Second."})),
        function(json!({"name": "respond_directly"})),
        function(json!({"name": "no args", "description": "Bad name."})),
        function(json!({"name": "wave"})),
        function(json!({"name": "sing", "description": 5})),
        function(json!({})),
        "x",
    ]);
    let saved = read(&json!([{"role": "instructions", "contents": [], "tools": tools}]));
    let tools: Vec<_> = saved
        .setup
        .unwrap()
        .tools
        .into_iter()
        .map(|tool| match tool {
            Ok(tool) => format!("{}: {}", tool.name, tool.description),
            Err(tool) => format!("{:?} failed: {}", tool.name, tool.reason),
        })
        .collect();
    let bad_name = "a tool's name is 1-64 of A-Z a-z 0-9 _ - .";
    assert_eq!(
        tools,
        [
            "open_gate: First.",
            &format!("\"no args\" failed: {bad_name}"),
            "wave: ",
            "\"sing\" failed: its description is not a string",
            &format!("\"\" failed: {bad_name}"),
            &format!("\"\" failed: {bad_name}"),
        ]
    );
}

#[test]
fn missing_ids_are_made() {
    let saved = read(&json!([{"role": "user", "contents": [{"type": "text", "text": "Hi"}]}]));
    assert!(matches!(saved.transcript[0].id, EntryId::Random(_)));
}

#[test]
fn arguments_may_be_an_object_or_missing() {
    for (arguments, expected) in [
        (json!("{\"gate\": \"north\"}"), json!({"gate": "north"})),
        (json!({"gate": "north"}), json!({"gate": "north"})),
        (json!(null), json!({})),
    ] {
        let call =
            json!({"role": "response", "toolCalls": [{"id": "c", "name": "wave", "arguments": arguments}]});
        let saved = read(&json!([call, output("c")]));
        let EntryContent::ToolCalls(calls) = &saved.transcript[0].content else { panic!("no calls") };
        assert_eq!(Value::from(calls[0].arguments.clone()), expected);
    }
}

#[test]
fn an_output_belongs_to_the_call_it_names() {
    let mut by_call_id = output("c");
    by_call_id["id"] = json!("something else");
    let mut by_entry_id = output("c");
    by_entry_id["toolCallID"] = json!(null);
    for output in [by_call_id, by_entry_id] {
        assert_eq!(read(&json!([call("c"), output])).transcript[1].id, EntryId::Given("c".into()));
    }
}

#[test]
fn what_no_model_could_go_on_from_is_refused() {
    let prompt = json!({"role": "user", "contents": text("Hi")});
    let answer = json!({"role": "response", "contents": text("Hello")});
    let unanswered = "the toolCalls entry at entries[1] has no output for call \"c\"";
    let cases = [
        (json!([prompt, call("c")]), unanswered.to_owned()),
        (json!([prompt, call("c"), answer, output("c")]), format!("entries[2]: {unanswered}")),
        (json!([prompt, call("c"), prompt, output("c")]), format!("entries[2]: {unanswered}")),
        (json!([prompt, output("c")]), "entries[1]: no call \"c\" waits for this output".into()),
        (
            json!([call("c"), output("c"), output("c")]),
            "entries[2]: no call \"c\" waits for this output".into(),
        ),
    ];
    for (entries, text) in cases {
        assert_eq!(error(&entries), text);
    }
}

#[test]
fn unusual_but_complete_rounds_are_read() {
    let reasoning = json!({"role": "reasoning", "id": "r"});
    let both = json!({"role": "response", "toolCalls": [
        {"id": "c", "name": "wave", "arguments": "{}"}, {"id": "c", "name": "wave", "arguments": "{}"}
    ]});
    for (entries, kept) in [
        (json!([call("a"), call("b"), output("b"), reasoning, output("a")]), 5),
        (json!([both, output("c"), output("c")]), 3),
        (json!([call("c"), output("c"), call("c"), output("c")]), 4),
        (json!([{"role": "response", "toolCalls": []}]), 0),
    ] {
        assert_eq!(read(&entries).transcript.len(), kept, "{entries}");
    }
}

#[test]
fn the_built_in_tool_leaves_no_trace() {
    let direct = json!({"id": "d", "name": "respond_directly", "arguments": "{}"});
    let direct_output =
        json!({"role": "tool", "id": "d", "toolName": "respond_directly", "contents": text("Reply now.")});
    let alone = json!({"role": "response", "toolCalls": [direct]});
    assert_eq!(read(&json!([alone, direct_output])).transcript.len(), 0);

    let mut beside = call("c");
    beside["toolCalls"].as_array_mut().unwrap().push(direct);
    let saved = read(&json!([beside, output("c"), direct_output]));
    assert_eq!(saved.transcript.len(), 2);
    assert!(matches!(&saved.transcript[0].content, EntryContent::ToolCalls(calls) if calls.len() == 1));
}
