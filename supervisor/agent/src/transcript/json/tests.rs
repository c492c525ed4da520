use expect_test::expect;
use proptest::{collection, option, prelude::*};
use serde_json::{Map, json};

use super::*;
use crate::{
    arbitrary, json_text,
    schema::GenerationSchema,
    tool::ToolName,
    transcript::{
        Entry, EntryContent, Prompt, Response, ResponseFormat, Segment, SegmentContent, ToolCallEntry,
        ToolOutputEntry,
    },
};

fn envelope(entries: &Value) -> Value {
    json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": entries}})
}

fn read(entries: &Value) -> SavedTranscript {
    SavedTranscript::from_json(&envelope(entries)).unwrap()
}

fn error(entries: &Value) -> String {
    SavedTranscript::from_json(&envelope(entries)).unwrap_err()
}

fn text(text: &str) -> Value {
    json!([{"id": "0", "type": "text", "text": text}])
}

fn call(id: &str) -> Value {
    json!({"role": "response", "toolCalls": [{"id": id, "name": "wave", "arguments": "{}"}]})
}

fn output(id: &str) -> Value {
    json!({"role": "tool", "id": id, "toolCallID": id, "toolName": "wave", "contents": text("ok")})
}

fn definition(name: &str) -> ToolDefinition {
    let parameters = json!({
        "additionalProperties": false, "properties": {"gate": {"type": "string"}}, "required": ["gate"],
        "title": "OpenGateArguments", "type": "object", "x-order": ["gate"],
    });
    ToolDefinition {
        name: ToolName::new(name).unwrap(),
        description: "Opens a gate.".into(),
        parameters: Arc::new(GenerationSchema::from_generation_schema(&parameters, "Arguments").unwrap()),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

#[test]
fn the_form_of_every_entry() {
    let segment = |id: &str, content| Segment { id: EntryId::Given(id.into()), content };
    let entry = |id: &str, content| Arc::new(Entry { id: EntryId::Given(id.into()), content });
    let prompt = Prompt {
        segments: vec![
            segment("s1", SegmentContent::Text("Look:".into())),
            segment("s2", SegmentContent::Attachment(object(json!({"type": "image", "id": "s2", "x": [1]})))),
        ],
        options: object(json!({"temperature": 0.5})),
        context_options: Some(object(json!({"includeSchemaInPrompt": false}))),
        response_format: Some(ResponseFormat {
            name: "Recipe".into(),
            description: Some("A dish.".into()),
            schema: json!({"type": "object"}),
        }),
        metadata: Some(json!({"mood": "calm"})),
    };
    let calls = vec![ToolCallEntry {
        id: "call-1".into(),
        name: "open_gate".into(),
        arguments: object(json!({"gate": "north", "times": 2.0})),
    }];
    let response = Response {
        segments: vec![segment(
            "s3",
            SegmentContent::Structure { source: "Recipe".into(), content: json!({"b": null, "a": 1}) },
        )],
        assets: Some(json!(["asset"])),
        metadata: Some(json!({})),
    };
    let mut output = Entry::tool_output("call-1", "open_gate", "");
    let EntryContent::ToolOutput(ToolOutputEntry { segments, .. }) = &mut output.content else { unreachable!() };
    *segments = vec![segment("s4", SegmentContent::Text("opened".into()))];
    let saved = SavedTranscript {
        setup: Some(SavedSetup {
            id: EntryId::Given("setup".into()),
            instructions: Some("Be brief.".into()),
            tools: vec![
                Ok(Arc::new(definition("open_gate"))),
                Err(UnreadableTool { name: "lost".into(), reason: "why".into() }),
            ],
        }),
        transcript: Transcript::new(vec![
            entry("p", EntryContent::Prompt(prompt)),
            entry("r", EntryContent::Opaque(object(json!({"role": "reasoning", "id": "r", "signature": "AA=="})))),
            entry("c", EntryContent::ToolCalls(calls)),
            Arc::new(output),
            entry("a", EntryContent::Response(response)),
        ]),
    };

    let mut form = saved.to_json();
    let parameters = form.pointer_mut("/transcript/entries/0/tools/0/function/parameters").unwrap().take();
    assert_eq!(parameters, *definition("open_gate").parameters.json());
    expect![[r#"
        {
          "type": "FoundationModels.Transcript",
          "version": "1.1",
          "transcript": {
            "entries": [
              {
                "id": "setup",
                "role": "instructions",
                "contents": [
                  {
                    "id": "setup",
                    "type": "text",
                    "text": "Be brief."
                  }
                ],
                "tools": [
                  {
                    "type": "function",
                    "function": {
                      "name": "open_gate",
                      "description": "Opens a gate.",
                      "parameters": null
                    }
                  }
                ]
              },
              {
                "id": "p",
                "role": "user",
                "contents": [
                  {
                    "id": "s1",
                    "type": "text",
                    "text": "Look:"
                  },
                  {
                    "type": "image",
                    "id": "s2",
                    "x": [
                      1
                    ]
                  }
                ],
                "options": {
                  "temperature": 0.5
                },
                "contextOptions": {
                  "includeSchemaInPrompt": false
                },
                "responseFormat": {
                  "type": "jsonSchema",
                  "jsonSchema": {
                    "name": "Recipe",
                    "description": "A dish.",
                    "schema": {
                      "type": "object"
                    }
                  }
                },
                "metadata": {
                  "mood": "calm"
                }
              },
              {
                "role": "reasoning",
                "id": "r",
                "signature": "AA=="
              },
              {
                "id": "c",
                "role": "response",
                "toolCalls": [
                  {
                    "id": "call-1",
                    "name": "open_gate",
                    "arguments": "{\"gate\":\"north\",\"times\":2}"
                  }
                ]
              },
              {
                "id": "call-1",
                "role": "tool",
                "toolCallID": "call-1",
                "toolName": "open_gate",
                "contents": [
                  {
                    "id": "s4",
                    "type": "text",
                    "text": "opened"
                  }
                ]
              },
              {
                "id": "a",
                "role": "response",
                "contents": [
                  {
                    "id": "s3",
                    "type": "structure",
                    "structure": {
                      "source": "Recipe",
                      "content": {
                        "b": null,
                        "a": 1
                      }
                    }
                  }
                ],
                "assets": [
                  "asset"
                ],
                "metadata": {}
              }
            ]
          }
        }"#]].assert_eq(&serde_json::to_string_pretty(&form).unwrap());
}

#[test]
fn a_setup_without_tools_or_text_is_still_an_entry() {
    let setup = SavedSetup { id: EntryId::Given("i".into()), instructions: None, tools: vec![] };
    let saved = SavedTranscript { setup: Some(setup), transcript: Transcript::default() };
    assert_eq!(saved.to_json(), envelope(&json!([{"id": "i", "role": "instructions", "contents": []}])));
}

#[test]
fn the_text_and_the_value_of_a_transcript_agree() {
    let saved = read(&json!([{"role": "instructions", "contents": text("Hi.")}, call("c"), output("c")]));
    assert_eq!(json_text::compact(&saved), json_text::compact(&saved.to_json()));
}

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
        (json!({"type": kind, "version": 1, "transcript": {"entries": "x"}}), "transcript.entries: must be an array"),
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
        (prompt_with("responseFormat", json!({"type": "x"})), ".responseFormat: unknown response format \"x\""),
        (
            prompt_with("responseFormat", json!({"type": "jsonSchema", "jsonSchema": {"name": "x"}})),
            ".responseFormat.jsonSchema: has no 'schema'",
        ),
        (json!({"role": "response"}), "has no 'contents'"),
        (contents(json!("x")), ".contents[0]: must be an object"),
        (contents(json!({"type": "sound"})), ".contents[0]: unknown segment type \"sound\""),
        (contents(json!({"type": "text"})), ".contents[0]: has no 'text'"),
        (contents(json!({"type": "structure", "structure": {"source": "x"}})), ".contents[0].structure: has no 'content'"),
        (contents(json!({"type": "structure", "structure": {"content": 1}})), ".contents[0].structure: has no 'source'"),
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
    let instructions = |contents| read(&json!([{"role": "instructions", "contents": contents}])).setup.unwrap().instructions;
    assert_eq!(instructions(contents).as_deref(), Some("One. Two."));
    assert_eq!(instructions(json!([])), None);
    assert_eq!(instructions(text("")), None);
}

#[test]
fn tools_are_rebuilt_once_each_or_reported() {
    let function = |function: Value| json!({"type": "function", "function": function});
    let tools = json!([
        function(json!({"name": "open_gate", "description": "First.", "parameters": {"type": "object", "properties": {}}})),
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
        let call = json!({"role": "response", "toolCalls": [{"id": "c", "name": "wave", "arguments": arguments}]});
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
        (json!([call("c"), output("c"), output("c")]), "entries[2]: no call \"c\" waits for this output".into()),
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
    let direct_output = json!({"role": "tool", "id": "d", "toolName": "respond_directly", "contents": text("Reply now.")});
    let alone = json!({"role": "response", "toolCalls": [direct]});
    assert_eq!(read(&json!([alone, direct_output])).transcript.len(), 0);

    let mut beside = call("c");
    beside["toolCalls"].as_array_mut().unwrap().push(direct);
    let saved = read(&json!([beside, output("c"), direct_output]));
    assert_eq!(saved.transcript.len(), 2);
    assert!(matches!(&saved.transcript[0].content, EntryContent::ToolCalls(calls) if calls.len() == 1));
}

fn id() -> impl Strategy<Value = EntryId> {
    prop_oneof![Just(()).prop_map(|()| EntryId::random()), "[a-zA-Z0-9-]{0,40}".prop_map(|text| EntryId::Given(text.into()))]
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let text = (id(), any::<String>()).prop_map(|(id, text)| Segment { id, content: SegmentContent::Text(text) });
    let structure = (id(), any::<String>(), arbitrary::json())
        .prop_map(|(id, source, content)| Segment { id, content: SegmentContent::Structure { source, content } });
    let attachment = (id(), arbitrary::object()).prop_map(|(id, mut object)| {
        object.insert("type".into(), "attachment".into());
        object.insert("id".into(), id.to_string().into());
        Segment { id, content: SegmentContent::Attachment(object) }
    });
    collection::vec(prop_oneof![text, structure, attachment], 0..3)
}

fn metadata() -> impl Strategy<Value = Option<Value>> {
    option::of(arbitrary::json().prop_filter("null is absent", |value| !value.is_null()))
}

fn prompt() -> impl Strategy<Value = EntryContent> {
    let format = (any::<String>(), option::of(any::<String>()), arbitrary::object())
        .prop_map(|(name, description, schema)| ResponseFormat { name, description, schema: schema.into() });
    (segments(), arbitrary::object(), option::of(arbitrary::object()), option::of(format), metadata()).prop_map(
        |(segments, options, context_options, response_format, metadata)| {
            EntryContent::Prompt(Prompt { segments, options, context_options, response_format, metadata })
        },
    )
}

/// A round of calls with their outputs, and perhaps what the model thought.
fn round() -> impl Strategy<Value = Vec<Entry>> {
    let call = (any::<String>(), "[a-z]{1,8}", arbitrary::object(), segments());
    let thought = option::of((id(), arbitrary::object()));
    (id(), thought, collection::vec(call, 1..4)).prop_map(|(id, thought, calls)| {
        let thought = thought.map(|(id, mut object)| {
            object.insert("role".into(), "reasoning".into());
            object.insert("id".into(), id.to_string().into());
            Entry { id, content: EntryContent::Opaque(object) }
        });
        let outputs: Vec<_> = calls
            .iter()
            .map(|(id, name, _, segments)| Entry {
                id: EntryId::Given(id.as_str().into()),
                content: EntryContent::ToolOutput(ToolOutputEntry {
                    tool_name: name.clone(),
                    segments: segments.clone(),
                }),
            })
            .collect();
        let calls = calls.into_iter().map(|(id, name, arguments, _)| ToolCallEntry { id, name, arguments }).collect();
        let calls = Entry { id, content: EntryContent::ToolCalls(calls) };
        thought.into_iter().chain([calls]).chain(outputs).collect()
    })
}

fn turn() -> impl Strategy<Value = Vec<Entry>> {
    let response = (segments(), metadata(), metadata()).prop_map(|(segments, assets, metadata)| {
        EntryContent::Response(Response { segments, assets, metadata })
    });
    let entry = |content| (id(), content).prop_map(|(id, content)| Entry { id, content });
    (entry(prompt().boxed()), collection::vec(round(), 0..3), option::of(entry(response.boxed()))).prop_map(
        |(prompt, rounds, response)| {
            [prompt].into_iter().chain(rounds.into_iter().flatten()).chain(response).collect()
        },
    )
}

fn setup() -> impl Strategy<Value = SavedSetup> {
    let instructions = option::of("[^\\x00]{1,40}".prop_map(Arc::from));
    let tools = collection::hash_set("[a-z]{1,8}", 0..3)
        .prop_map(|names| names.iter().map(|name| Ok(Arc::new(definition(name)))).collect());
    (id(), instructions, tools).prop_map(|(id, instructions, tools)| SavedSetup { id, instructions, tools })
}

fn saved_transcript() -> impl Strategy<Value = SavedTranscript> {
    (option::of(setup()), collection::vec(turn(), 0..4)).prop_map(|(setup, turns)| SavedTranscript {
        setup,
        transcript: Transcript::new(turns.into_iter().flatten().map(Arc::new).collect()),
    })
}

proptest! {
    #[test]
    fn what_is_saved_is_restored(saved in saved_transcript()) {
        let text = json_text::compact(&saved);
        let form = saved.to_json();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &form);

        let restored = SavedTranscript::from_json(&form).unwrap();
        prop_assert_eq!(&*restored.transcript, &*saved.transcript);
        prop_assert_eq!(restored.to_json(), form);
        let setup = |saved: SavedTranscript| saved.setup.map(|setup| (setup.id, setup.instructions));
        prop_assert_eq!(setup(restored), setup(saved));
    }

    #[test]
    fn no_value_makes_reading_panic(entries in collection::vec(arbitrary::json(), 0..4), key in "role|type|id|toolCalls") {
        let _ = SavedTranscript::from_json(&envelope(&entries.clone().into()));
        let objects: Vec<_> = entries.into_iter().map(|entry| json!({"role": "response", key.as_str(): entry})).collect();
        let _ = SavedTranscript::from_json(&envelope(&objects.into()));
    }
}
