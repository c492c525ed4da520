//! Answers that are streamed.

use std::sync::Arc;

use oam_agent::{ErrorCode, ModelError};
use serde_json::json;

use super::kit::*;
use crate::{
    Server,
    http::tests::client::{PausingModel, Wire, config, post},
};

fn failure(code: ErrorCode) -> Act {
    Act::Fail(ModelError::new(code, "Failed."))
}

#[tokio::test]
async fn a_stream_has_the_form_that_clients_know() {
    let server = server(scripted(&json!([{"text": "Hello there, traveller.", "chunks": 5}])));
    let read = stream(&server, hi(json!({"stream_options": {"include_usage": true}}))).await.unwrap();
    let [first, .., last, usage] = &*read.chunks else { panic!("{read:?}") };
    let head = |chunk: &serde_json::Value| {
        let names = ["id", "object", "created", "model", "system_fingerprint"];
        names.map(|name| chunk[name].clone())
    };
    assert!(read.chunks.iter().all(|chunk| head(chunk) == head(first)));
    assert_eq!(head(first)[1..2], [json!("chat.completion.chunk")]);
    assert!(first["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice =
        |delta, finish| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
    assert_eq!(first["choices"], choice(json!({"role": "assistant", "content": ""}), json!(null)));
    assert_eq!(last["choices"], choice(json!({}), json!("stop")));
    assert_eq!(read.text(), "Hello there, traveller.");
    assert_eq!(read.deltas().count(), 7, "role, five pieces, end");
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    for chunk in &read.chunks[..read.chunks.len() - 1] {
        assert_eq!(chunk.get("usage"), Some(&json!(null)));
    }
}

#[tokio::test]
async fn calls_come_whole_and_behind_the_text() {
    let city = json!({"city": "Paris"});
    let calls = json!([{"name": "get_time", "arguments": city}, {"name": "get_weather", "arguments": city}]);
    let server = server(scripted(&json!([{"toolCalls": calls}])));
    let tools = json!([tool("get_time"), tool("get_weather")]);
    let read = stream(&server, hi(json!({"tools": tools, "tool_choice": "required"}))).await.unwrap();
    let deltas: Vec<_> = read.deltas().filter(|delta| delta.get("tool_calls").is_some()).collect();
    let [delta] = &*deltas else { panic!("{read:?}") };
    for (index, name) in ["get_time", "get_weather"].into_iter().enumerate() {
        let call = &delta["tool_calls"][index];
        assert!(call["id"].as_str().unwrap().starts_with("call_"));
        assert_eq!((&call["index"], &call["type"]), (&json!(index), &json!("function")));
        assert_eq!(call["function"], json!({"name": name, "arguments": r#"{"city":"Paris"}"#}));
    }
    assert_eq!(read.finish_reasons(), ["tool_calls"]);
    assert!(read.chunks.iter().all(|chunk| chunk.get("usage").is_none()));

    let server = super::kit::server(teller([vec![Act::Say("Let me see. EN"), Act::Call("look")]]));
    let tool = json!({"type": "function", "function": {"name": "look"}});
    let read = stream(&server, hi(json!({"tools": [tool], "stop": "END"}))).await.unwrap();
    let kinds: Vec<_> = read.deltas().flat_map(|delta| delta.as_object().unwrap().keys()).collect();
    assert_eq!(kinds, ["role", "content", "content", "content", "tool_calls"]);
    assert_eq!(read.text(), "Let me see. EN", "what was held back comes before the calls");
}

#[tokio::test]
async fn a_stop_ends_a_stream() {
    let server = server(scripted(&json!([{"text": "One, two END three", "chunks": 10}])));
    let read = stream(&server, hi(json!({"stop": "END"}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.finish_reasons()), ("One, two ", vec!["stop"]));

    let hanging = super::kit::server(teller([vec![Act::Say("One EN"), Act::Say("D"), Act::Hang]]));
    let read = stream(&hanging, hi(json!({"stop": "END"}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.finish_reasons()), ("One ", vec!["stop"]));
}

#[tokio::test]
async fn what_may_be_the_start_of_a_stop_is_held_back() {
    for (stop, text) in [("e t", "on"), ("e x", "one two")] {
        let model = Arc::new(PausingModel::default());
        let server = Server::start(config(), server(model.clone())).await.unwrap();
        let mut wire = Wire::connect(&server).await;
        wire.send(post(&hi(json!({"stream": true, "stop": stop})), "")).await;
        assert_eq!(wire.answer_head().await.status, 200);
        let mut events = String::new();
        while !events.contains(r#""content":"on""#) {
            events += &wire.piece().await;
        }
        model.go_on();
        while !events.ends_with("data: [DONE]\n\n") {
            events += &wire.piece().await;
        }
        let read = Read::of(&events);
        assert_eq!((read.text().as_str(), read.finish_reasons()), (text, vec!["stop"]));
    }
}

#[tokio::test]
async fn json_comes_in_one_piece() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let formats =
        [json!({"type": "json_object"}), json!({"type": "json_schema", "json_schema": {"schema": schema}})];
    for format in formats {
        let server = server(scripted(&json!([{"text": r#"{"a":12345}"#, "chunks": 5}])));
        let read = stream(&server, hi(json!({"response_format": format}))).await.unwrap();
        let pieces: Vec<_> = read.deltas().skip(1).filter_map(|delta| delta["content"].as_str()).collect();
        assert_eq!(pieces, [r#"{"a":12345}"#]);
    }
}

#[tokio::test]
async fn a_refusal_is_streamed() {
    let read = stream(&server(scripted(&json!([{"error": "refusal", "message": "No."}]))), hi(json!({})))
        .await
        .unwrap();
    let deltas: Vec<_> = read.deltas().cloned().collect();
    assert_eq!(deltas, [json!({"role": "assistant", "content": ""}), json!({"refusal": "No."}), json!({})]);
    assert_eq!(read.finish_reasons(), ["stop"]);
}

#[tokio::test]
async fn an_answer_may_be_empty() {
    let read = stream(&server(scripted(&json!([{"text": ""}]))), hi(json!({}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.finish_reasons()), ("", vec!["stop"]));
}

#[tokio::test]
async fn a_failure_before_the_first_piece_is_an_error() {
    for step in [
        vec![failure(ErrorCode::GuardrailViolation)],
        vec![Act::Say("EN"), failure(ErrorCode::GuardrailViolation)],
    ] {
        let error = stream(&server(teller([step])), hi(json!({"stop": "END"}))).await.unwrap_err();
        assert_eq!(
            (error.status, error.code, error.param.as_deref()),
            (400, Some("content_filter"), Some("messages"))
        );
    }
}

#[tokio::test]
async fn a_failure_in_the_middle_never_looks_like_an_end() {
    for (code, name) in [
        (ErrorCode::GuardrailViolation, json!("content_filter")),
        (ErrorCode::ModelUnavailable, json!("model_unavailable")),
        (ErrorCode::GenerationFailed, json!(null)),
    ] {
        let server = server(teller([vec![Act::Say("Once upon"), failure(code)]]));
        let read = stream(&server, hi(json!({"stream_options": {"include_usage": true}}))).await.unwrap();
        assert_eq!(
            (read.text().as_str(), read.error(), read.finish_reasons().len()),
            ("Once upon", Some(&name), 0)
        );
        let error = &read.chunks.last().unwrap()["error"];
        assert!(error["message"].is_string() && error["type"].is_string() && error.get("param").is_some());
    }
}

#[tokio::test]
async fn a_replay_that_says_the_same_is_not_noticed() {
    let model = teller([vec![
        Act::Say("Once upon"),
        Act::TakeBack("Once"),
        Act::Say(" upon a time"),
        Act::Answer("Once upon a time"),
    ]]);
    let read = stream(&server(model), hi(json!({}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.finish_reasons()), ("Once upon a time", vec!["stop"]));
}

#[tokio::test]
async fn a_replay_that_says_something_else_is_an_error() {
    let restarted = json!("generation_restarted");
    for rest in [
        vec![Act::TakeBack("There was"), Act::Hang],
        vec![Act::TakeBack("Once"), Act::Answer("Once")],
        vec![Act::Answer("There was")],
    ] {
        let model = teller([[vec![Act::Say("Once upon")], rest].concat()]);
        let read = stream(&server(model), hi(json!({}))).await.unwrap();
        assert_eq!((read.text().as_str(), read.error()), ("Once upon", Some(&restarted)));
        assert!(read.finish_reasons().is_empty());
    }
}

#[tokio::test]
async fn a_second_try_goes_on_where_the_first_one_failed() {
    let first = vec![Act::Say("Once upon"), failure(ErrorCode::GenerationFailed)];
    let retrying =
        |second: Vec<Act>| server_with(teller([first.clone(), second]), |config| config.limits.retries = 1);
    let same = retrying(vec![Act::Say("Once upon a time"), Act::Answer("Once upon a time")]);
    let read = stream(&same, hi(json!({}))).await.unwrap();
    assert_eq!((read.text().as_str(), read.finish_reasons()), ("Once upon a time", vec!["stop"]));

    let other = retrying(vec![Act::Say("There was"), Act::Answer("There was")]);
    let read = stream(&other, hi(json!({}))).await.unwrap();
    assert_eq!(read.error(), Some(&json!("generation_restarted")));
}

#[tokio::test]
async fn what_piles_up_is_joined() {
    let text = "x".repeat(5000);
    let server = server(scripted(&json!([{"text": text, "chunks": 5000}])));
    let read = stream(&server, hi(json!({}))).await.unwrap();
    assert_eq!(read.text(), text);
    assert!(read.chunks.len() < 100, "{}", read.chunks.len());
}
