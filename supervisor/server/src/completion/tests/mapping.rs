//! What a model is asked, for what a client asks over HTTP.

use oam_agent::{
    GenerationOptions, Sampling, StepRequest,
    transcript::{Entry, EntryContent, Segment, SegmentContent},
};
use serde_json::{Value, json};

use super::kit::*;
use crate::chat::tests::{PNG, call};

/// What the model is asked for this body.
async fn asked(body: Value) -> StepRequest {
    let model = scripted(&json!({"fallback": {"text": "{}"}}));
    let answer =
        ask(&server(model.clone()), body.clone()).await.unwrap_or_else(|error| panic!("{body}: {error:?}"));
    assert_eq!(answer["model"], "system");
    model.request(0)
}

/// Instructions and conversation, a line for each entry.
fn lines(request: &StepRequest) -> Vec<String> {
    let instructions = request.instructions.iter().map(|text| format!("instructions: {text}"));
    instructions.chain(request.transcript.iter().map(|entry| line(entry))).collect()
}

/// How a conversation ends that goes on with outputs.
const GO_ON: &str = "prompt: ";

fn line(entry: &Entry) -> String {
    match &entry.content {
        EntryContent::Prompt(prompt) => format!("prompt: {}", joined(&prompt.segments)),
        EntryContent::Response(response) => format!("response: {}", joined(&response.segments)),
        EntryContent::ToolOutput(output) => {
            format!("output: {} {} {}", entry.id, output.tool_name, joined(&output.segments))
        }
        EntryContent::ToolCalls(calls) => {
            let call = |call: &oam_agent::transcript::ToolCallEntry| {
                format!(" {} {}{}", call.id, call.name, Value::from(call.arguments.clone()))
            };
            format!("calls:{}", calls.iter().map(call).collect::<String>())
        }
        EntryContent::Opaque(_) => "something else".to_owned(),
    }
}

fn joined(segments: &[Segment]) -> String {
    let texts: Vec<_> = segments
        .iter()
        .map(|segment| match &segment.content {
            SegmentContent::Text(text) => text,
            SegmentContent::Structure { .. } => "(structure)",
            SegmentContent::Attachment(_) => "(image)",
        })
        .collect();
    texts.join(" ")
}

fn said(role: &str, content: impl Into<Value>) -> Value {
    json!({"role": role, "content": content.into()})
}

fn called(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn output(id: &str, content: impl Into<Value>) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content.into()})
}

/// Text parts.
fn parts(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({"type": "text", "text": text})).collect()
}

#[tokio::test]
async fn a_conversation_becomes_instructions_history_and_prompt() {
    let hi = || said("user", "Hi");
    let image = json!({"type": "image_url", "image_url": {"url": PNG, "detail": "low"}});
    let refused = json!({"role": "assistant", "content": "", "refusal": "No."});
    let cases = [
        (
            "instructions are joined",
            vec![said("system", "Be brief."), said("developer", parts(&["Be", "kind."])), hi()],
            vec!["instructions: Be brief.\n\nBe\nkind.", "prompt: Hi"],
        ),
        (
            "instructions never end a conversation",
            vec![said("system", "a"), hi(), said("developer", "b")],
            vec!["instructions: a\n\nb", "prompt: Hi"],
        ),
        (
            "nor a round of calls",
            vec![hi(), called(&[call("a", "look", "{}")]), output("a", "dark"), said("system", "Be brief.")],
            vec!["instructions: Be brief.", "prompt: Hi", "calls: a look{}", "output: a look dark", GO_ON],
        ),
        (
            "user messages in a row are one",
            vec![
                said("user", "One"),
                said("assistant", "Two"),
                said("user", "Three"),
                said("user", parts(&["Four", "Five"])),
            ],
            vec!["prompt: One", "response: Two", "prompt: Three\n\nFour\nFive"],
        ),
        (
            "outputs are in the order of their calls",
            vec![
                hi(),
                called(&[call("a", "weather", r#"{"city":"Paris"}"#), call("b", "time", "")]),
                output("b", parts(&["noon"])),
                output("a", "sunny"),
            ],
            vec![
                "prompt: Hi",
                r#"calls: a weather{"city":"Paris"} b time{}"#,
                "output: a weather sunny",
                "output: b time noon",
                GO_ON,
            ],
        ),
        (
            "what an assistant refused is what it said",
            vec![hi(), refused, said("user", "Why?")],
            vec!["prompt: Hi", "response: No.", "prompt: Why?"],
        ),
        (
            "images stay with what was said of them",
            vec![
                said("user", json!([image, {"type": "text", "text": "This?"}])),
                said("assistant", "A dot."),
                said(
                    "user",
                    json!([{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": PNG}]),
                ),
            ],
            vec!["prompt: (image) This?", "response: A dot.", "prompt: (image) And this?"],
        ),
    ];
    for (what, messages, expected) in cases {
        assert_eq!(lines(&asked(json!({"messages": messages})).await), expected, "{what}");
    }
}

#[tokio::test]
async fn arguments_may_be_missing_or_blank() {
    for arguments in [json!(""), json!(" \n"), json!(null), json!("null"), json!("{}"), json!({})] {
        let mut call = call("a", "look", "");
        call["function"]["arguments"] = arguments.clone();
        let request =
            asked(json!({"messages": [said("user", "Hi"), called(&[call]), output("a", "")]})).await;
        assert_eq!(lines(&request)[1], "calls: a look{}", "{arguments}");
    }
}

#[tokio::test]
async fn every_name_leads_to_the_model() {
    for name in [json!("system"), json!("gpt-4o-mini"), json!(null)] {
        asked(hi(json!({"model": name}))).await;
    }
}

#[tokio::test]
async fn sampling_reaches_the_model() {
    let nucleus = |p, seed| Some(Sampling::TopP { p, seed });
    let cases = [
        (json!({}), None, None, None),
        (json!({"temperature": 0, "top_p": 0.5, "max_tokens": 50}), None, Some(Sampling::Greedy), Some(50)),
        (
            json!({"temperature": 0.7, "top_p": 0.9, "seed": 42, "max_tokens": 50, "max_completion_tokens": 20}),
            Some(0.7),
            nucleus(0.9, Some(42)),
            Some(20),
        ),
        (json!({"seed": 7}), None, nucleus(1.0, Some(7)), None),
        (json!({"seed": 7.0}), None, nucleus(1.0, Some(7)), None),
        (json!({"seed": -1}), None, nucleus(1.0, Some(u64::MAX)), None),
        (json!({"seed": u64::MAX}), None, nucleus(1.0, Some(u64::MAX)), None),
        (json!({"temperature": 2, "top_p": 1}), Some(2.0), nucleus(1.0, None), None),
        (json!({"max_tokens": 1_000_000_000_000_u64}), None, None, Some(u32::MAX)),
    ];
    for (members, temperature, sampling, max_response_tokens) in cases {
        let expected = GenerationOptions { temperature, max_response_tokens, sampling };
        assert_eq!(asked(hi(members.clone())).await.options, expected, "{members}");
    }
}

#[tokio::test]
async fn a_format_reaches_the_model() {
    let schema = |name: Value| {
        let schema = json!({"type": "object", "properties": {}});
        json!({"type": "json_schema", "json_schema": {"name": name, "strict": true, "schema": schema}})
    };
    for (format, name) in [
        (json!(null), None),
        (json!({"type": "text"}), None),
        (json!({"type": "json_object"}), None),
        (schema(json!("mood_report")), Some("mood_report")),
        (schema(json!("mood-report 2")), Some("moodreport2")),
        (schema(json!(null)), Some("Response")),
        (schema(json!("-")), Some("Response")),
    ] {
        let request = asked(hi(json!({"response_format": format}))).await;
        assert_eq!(request.schema.as_ref().map(|schema| schema.name()), name, "{format}");
        let is_told = request.instructions.is_some_and(|text| text.contains("valid JSON object"));
        assert_eq!(is_told, format["type"] == "json_object", "{format}");
    }
}
