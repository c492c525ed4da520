use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};

use super::{call, definition, envelope, object, output, read, text};
use crate::{
    json_text,
    transcript::{
        Entry, EntryContent, EntryId, Prompt, Response, ResponseFormat, Segment, SegmentContent,
        ToolCallEntry, ToolOutputEntry, Transcript,
        json::{SavedSetup, SavedTranscript, UnreadableTool},
    },
};

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
    let EntryContent::ToolOutput(ToolOutputEntry { segments, .. }) = &mut output.content else {
        unreachable!()
    };
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
            entry(
                "r",
                EntryContent::Opaque(object(json!({"role": "reasoning", "id": "r", "signature": "AA=="}))),
            ),
            entry("c", EntryContent::ToolCalls(calls)),
            Arc::new(output),
            entry("a", EntryContent::Response(response)),
        ]),
    };

    let mut form = saved.to_json();
    let parameters = form.pointer_mut("/transcript/entries/0/tools/0/function/parameters").unwrap().take();
    assert_eq!(parameters, *definition("open_gate").parameters.json());
    let entries = form.pointer_mut("/transcript/entries").unwrap().take();
    assert_eq!(form, envelope(&Value::Null));
    let lines: Vec<_> = entries.as_array().unwrap().iter().map(json_text::compact).collect();
    expect![[r#"
        {"id":"setup","role":"instructions","contents":[{"id":"setup","type":"text","text":"Be brief."}],"tools":[{"type":"function","function":{"name":"open_gate","description":"Opens a gate.","parameters":null}}]}
        {"id":"p","role":"user","contents":[{"id":"s1","type":"text","text":"Look:"},{"type":"image","id":"s2","x":[1]}],"options":{"temperature":0.5},"contextOptions":{"includeSchemaInPrompt":false},"responseFormat":{"type":"jsonSchema","jsonSchema":{"name":"Recipe","description":"A dish.","schema":{"type":"object"}}},"metadata":{"mood":"calm"}}
        {"role":"reasoning","id":"r","signature":"AA=="}
        {"id":"c","role":"response","toolCalls":[{"id":"call-1","name":"open_gate","arguments":"{\"gate\":\"north\",\"times\":2}"}]}
        {"id":"call-1","role":"tool","toolCallID":"call-1","toolName":"open_gate","contents":[{"id":"s4","type":"text","text":"opened"}]}
        {"id":"a","role":"response","contents":[{"id":"s3","type":"structure","structure":{"source":"Recipe","content":{"b":null,"a":1}}}],"assets":["asset"],"metadata":{}}"#]].assert_eq(&lines.join("\n"));
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
