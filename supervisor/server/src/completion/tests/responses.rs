//! Answers as responses, whole and streamed.

use oam_agent::{
    Availability, BoxFuture, ErrorCode, Model, ModelError, Script, ScriptedModel, StepOutcome, StepRequest,
    StepSink,
};
use serde_json::{Value, json};

use super::kit::*;
use crate::{ApiError, Completions, http::tests::client::answer_of};

async fn respond(server: &Completions, body: Value) -> Result<Value, ApiError> {
    let answer = answer_of(server, "/v1/responses", &body).await?;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    Ok(answer.json())
}

/// The events of a streamed response: named, and numbered without a gap.
async fn events(server: &Completions, body: Value) -> Result<Vec<Value>, ApiError> {
    let text = streamed(server, "/v1/responses", body).await?;
    assert!(text.ends_with("\n\n"), "{text}");
    let events = text.split_terminator("\n\n").enumerate().map(|(number, event)| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(Some(name), data["type"].as_str().map(|kind| format!("event: {kind}")).as_deref());
        assert_eq!(data["sequence_number"], json!(number));
        data
    });
    Ok(events.collect())
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The joined text deltas.
fn text(events: &[Value]) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

/// What the events build is what the last one says.
fn assert_consistent(events: &[Value]) {
    let last = &events.last().unwrap()["response"];
    let of = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    assert!(of("response.created").all(|event| event["response"]["id"] == last["id"]));
    let done: Vec<_> = of("response.output_item.done").map(|event| event["item"].clone()).collect();
    assert_eq!(json!(done), last["output"]);
    for (index, item) in done.iter().enumerate() {
        let at = |event: &&Value| event["output_index"] == json!(index);
        let added: Vec<_> = of("response.output_item.added").filter(at).collect();
        assert_eq!(added.len(), 1);
        assert_eq!(
            (&added[0]["item"]["id"], &added[0]["item"]["status"]),
            (&item["id"], &json!("in_progress"))
        );
        assert!(
            events
                .iter()
                .filter(at)
                .all(|event| event.get("item").is_some() || event["item_id"] == item["id"])
        );
        let parts: Vec<_> =
            of("response.content_part.done").filter(at).map(|event| event["part"].clone()).collect();
        assert_eq!(json!(parts), item.get("content").cloned().unwrap_or(json!([])));
    }
}

const BEGIN: [&str; 2] = ["response.created", "response.in_progress"];

#[tokio::test]
async fn a_response_has_the_form_that_clients_know() {
    let server = server(scripted(&json!([{"text": "Hello there."}])));
    let body = json!({
        "model": "gpt-4o-mini", "input": "Hi", "instructions": "Be kind.", "metadata": {"a": "b"}, "temperature": 0.5,
        "store": true, "max_output_tokens": 100, "tools": [{"type": "function", "name": "look"}],
    });
    let mut response = respond(&server, body).await.unwrap();
    for (pointer, prefix) in [("/id", "resp_"), ("/output/0/id", "msg_")] {
        let id = response.pointer_mut(pointer).unwrap().take();
        assert!(id.as_str().unwrap().starts_with(prefix), "{id}");
    }
    for time in ["created_at", "completed_at"] {
        assert!(response[time].take().as_u64().unwrap() > 1_700_000_000);
    }
    let tokens = response["usage"]["output_tokens"].as_u64().unwrap();
    assert_eq!(
        response,
        json!({
            "id": null, "object": "response", "created_at": null, "completed_at": null, "status": "completed",
            "background": false, "error": null, "incomplete_details": null, "instructions": "Be kind.",
            "max_output_tokens": 100, "max_tool_calls": null, "metadata": {"a": "b"}, "model": "system",
            "output": [{
                "type": "message", "id": null, "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello there.", "annotations": [], "logprobs": []}],
            }],
            "parallel_tool_calls": true, "previous_response_id": null, "reasoning": {"effort": null, "summary": null},
            "service_tier": "default", "store": false, "temperature": 0.5, "text": {"format": {"type": "text"}},
            "tool_choice": "auto", "tools": [{"type": "function", "name": "look", "parameters": null, "strict": null}],
            "top_logprobs": 0, "top_p": null, "truncation": "disabled", "user": null,
            "usage": {
                "input_tokens": 0, "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
                "output_tokens": tokens, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens,
            },
        })
    );
}

#[tokio::test]
async fn a_text_is_streamed() {
    let server = server(scripted(&json!([{"text": "Hello there, traveller.", "chunks": 3}])));
    let events = events(&server, json!({"input": "Hi"})).await.unwrap();
    let delta = "response.output_text.delta";
    let expected = [
        &BEGIN[..],
        &["response.output_item.added", "response.content_part.added", delta, delta, delta],
        &[
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ],
    ];
    assert_eq!(names(&events), expected.concat());
    assert_eq!(text(&events), "Hello there, traveller.");
    assert_consistent(&events);
    for begin in &events[..2] {
        let response = &begin["response"];
        assert_eq!((&response["status"], &response["output"]), (&json!("in_progress"), &json!([])));
        assert_eq!((&response["usage"], &response["completed_at"]), (&json!(null), &json!(null)));
    }
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["status"], "completed");
    assert!(response["usage"]["output_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn calls_are_items_of_their_own() {
    let city = json!({"city": "Paris"});
    let steps =
        json!([{"toolCalls": [{"name": "time", "arguments": city}, {"name": "weather", "arguments": city}]}]);
    let body = json!({
        "input": "Hi",
        "tools": [{"type": "function", "name": "time", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
            {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    });
    let whole = respond(&server(scripted(&steps)), body.clone()).await.unwrap();
    let streamed = events(&server(scripted(&steps)), body.clone()).await.unwrap();
    let call = ["response.output_item.added", "response.function_call_arguments.delta"];
    let called = ["response.function_call_arguments.done", "response.output_item.done"];
    let expected = [&BEGIN[..], &call, &called, &call, &called, &["response.completed"]];
    assert_eq!(names(&streamed), expected.concat());
    assert_consistent(&streamed);
    for response in [&whole, &streamed.last().unwrap()["response"]] {
        assert_eq!(response["status"], "completed");
        for (index, name) in ["time", "weather"].into_iter().enumerate() {
            let item = &response["output"][index];
            assert!(item["id"].as_str().unwrap().starts_with("fc_"));
            assert!(item["call_id"].as_str().unwrap().starts_with("call_"));
            let told = ["type", "status", "name", "arguments"].map(|member| item[member].as_str().unwrap());
            assert_eq!(told, ["function_call", "completed", name, r#"{"city":"Paris"}"#]);
        }
    }
    let mut one = body;
    one["parallel_tool_calls"] = json!(false);
    let whole = respond(&server(scripted(&steps)), one).await.unwrap();
    assert_eq!(whole["output"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn calls_come_behind_the_text() {
    let server = server(teller([vec![Act::Say("Let me see."), Act::Call("look")]]));
    let body = json!({"input": "Hi", "tools": [{"type": "function", "name": "look"}]});
    let events = events(&server, body).await.unwrap();
    assert_consistent(&events);
    let output = &events.last().unwrap()["response"]["output"];
    assert_eq!((&output[0]["type"], &output[1]["type"]), (&json!("message"), &json!("function_call")));
    assert_eq!(output[0]["content"][0]["text"], "Let me see.");
}

#[tokio::test]
async fn the_output_of_a_call_leads_to_the_answer() {
    let model = scripted(&json!([{"template": "It is {toolOutput}."}]));
    let input = json!([
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "sunny"},
    ]);
    let response = respond(&server(model), json!({"input": input})).await.unwrap();
    assert_eq!(response["output"][0]["content"][0]["text"], "It is sunny.");
}

/// A model that remembers little.
struct Forgetful(ScriptedModel);

impl Model for Forgetful {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        self.0.step(request, sink)
    }

    fn availability(&self) -> Availability {
        self.0.availability()
    }

    fn context_size(&self) -> Option<u32> {
        Some(1500)
    }
}

#[tokio::test]
async fn what_was_said_first_is_left_out_only_if_wanted() {
    let long = "word ".repeat(200);
    let mut input =
        vec![json!({"role": "user", "content": long}), json!({"role": "assistant", "content": long})];
    input.push(json!({"role": "user", "content": "And?"}));
    for (truncation, shown) in [(json!("auto"), 1), (json!("disabled"), 3), (json!(null), 3)] {
        let script = Script::from_steps_or_object(&json!([{"text": "Yes."}]), "").unwrap();
        let model = Watched::new(Forgetful(ScriptedModel::new(script)));
        let body = json!({"input": input, "truncation": truncation});
        respond(&server(model.clone()), body).await.unwrap();
        assert_eq!(model.request(0).transcript.iter().count(), shown, "{truncation}");
    }
}

#[tokio::test]
async fn a_cut_answer_is_incomplete() {
    let steps = [vec![Act::Say("Once upon"), Act::Answer("Once upon")]];
    let body = json!({"input": "Hi", "max_output_tokens": 7});
    let whole = respond(&server(teller(steps.clone())), body.clone()).await.unwrap();
    let streamed = events(&server(teller(steps)), body).await.unwrap();
    assert_eq!(names(&streamed).last(), Some(&"response.incomplete"));
    assert_consistent(&streamed);
    for response in [&whole, &streamed.last().unwrap()["response"]] {
        assert_eq!(response["status"], "incomplete");
        assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
        assert_eq!(response["output"][0]["status"], "incomplete");
        assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 5);
    }
}

#[tokio::test]
async fn json_comes_in_one_piece() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    for format in
        [json!({"type": "json_object"}), json!({"type": "json_schema", "name": "x", "schema": schema})]
    {
        let server = server(scripted(&json!([{"text": r#"{"a":12345}"#, "chunks": 5}])));
        let events = events(&server, json!({"input": "Hi", "text": {"format": format}})).await.unwrap();
        let deltas = names(&events).into_iter().filter(|name| *name == "response.output_text.delta");
        assert_eq!((text(&events).as_str(), deltas.count()), (r#"{"a":12345}"#, 1));
        assert_eq!(events[0]["response"]["text"]["format"], format);
    }
}

#[tokio::test]
async fn a_refusal_is_a_part_of_a_message() {
    let steps = json!([{"error": "refusal", "message": "No."}]);
    let whole = respond(&server(scripted(&steps)), json!({"input": "Hi"})).await.unwrap();
    assert_eq!(whole["output"][0]["content"], json!([{"type": "refusal", "refusal": "No."}]));
    let streamed = events(&server(scripted(&steps)), json!({"input": "Hi"})).await.unwrap();
    let expected = [
        &BEGIN[..],
        &[
            "response.output_item.added",
            "response.content_part.added",
            "response.refusal.delta",
            "response.refusal.done",
        ],
        &["response.content_part.done", "response.output_item.done", "response.completed"],
    ];
    assert_eq!(names(&streamed), expected.concat());
    assert_consistent(&streamed);

    let refusal = Act::Fail(ModelError::new(ErrorCode::Refusal, "No more."));
    let late =
        events(&server(teller([vec![Act::Say("Well, "), refusal]])), json!({"input": "Hi"})).await.unwrap();
    assert_consistent(&late);
    let content = &late.last().unwrap()["response"]["output"][0]["content"];
    assert_eq!((&content[0]["text"], &content[1]["refusal"]), (&json!("Well, "), &json!("No more.")));
}

#[tokio::test]
async fn an_answer_may_be_empty() {
    let streamed = events(&server(scripted(&json!([{"text": ""}]))), json!({"input": "Hi"})).await.unwrap();
    assert_consistent(&streamed);
    assert_eq!(streamed.last().unwrap()["response"]["output"][0]["content"][0]["text"], "");
}

#[tokio::test]
async fn what_fails_before_the_first_piece_is_an_error() {
    for (code, status, name, param) in [
        (ErrorCode::GuardrailViolation, 400, "content_filter", Some("input")),
        (ErrorCode::ContextSizeExceeded, 400, "context_length_exceeded", Some("input")),
        (ErrorCode::ModelUnavailable, 503, "model_unavailable", None),
    ] {
        let failing = || server(teller([vec![Act::Fail(ModelError::new(code, "Failed."))]]));
        let whole = respond(&failing(), json!({"input": "Hi"})).await.unwrap_err();
        let streamed = events(&failing(), json!({"input": "Hi"})).await.unwrap_err();
        for error in [whole, streamed] {
            assert_eq!((error.status, error.code, error.param.as_deref()), (status, Some(name), param));
        }
    }
}

#[tokio::test]
async fn what_fails_in_the_middle_never_looks_like_an_end() {
    for (rest, code, kind) in [
        (vec![Act::TakeBack("There was"), Act::Hang], json!("generation_restarted"), "server_error"),
        (vec![Act::Answer("There was")], json!("generation_restarted"), "server_error"),
        (
            vec![Act::Fail(ModelError::new(ErrorCode::GuardrailViolation, "Failed."))],
            json!("content_filter"),
            "invalid_prompt",
        ),
        (
            vec![Act::Fail(ModelError::new(ErrorCode::RateLimited, "Failed."))],
            json!("rate_limited"),
            "rate_limit_exceeded",
        ),
    ] {
        let server = server(teller([[vec![Act::Say("Once upon")], rest].concat()]));
        let events = events(&server, json!({"input": "Hi"})).await.unwrap();
        let names = names(&events);
        assert_eq!(names[names.len() - 2..], ["error", "response.failed"]);
        assert!(!names.contains(&"response.output_item.done") && !names.contains(&"response.completed"));
        assert_eq!(events[events.len() - 2]["code"], code);
        let response = &events.last().unwrap()["response"];
        assert_eq!((&response["status"], &response["error"]["code"]), (&json!("failed"), &json!(kind)));
        assert_eq!(response["output"][0]["status"], "incomplete");
        assert_eq!(response["output"][0]["content"][0]["text"], "Once upon");
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
    let events = events(&server(model), json!({"input": "Hi"})).await.unwrap();
    assert_eq!(
        (text(&events).as_str(), names(&events).last()),
        ("Once upon a time", Some(&"response.completed"))
    );
    assert_consistent(&events);
}
