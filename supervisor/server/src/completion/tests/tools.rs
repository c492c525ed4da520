//! Calls: of tools that the client executes, and of tools that the server does.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use oam_agent::{
    Tool, ToolDefinition, ToolMode, ToolName, ToolOutput,
    transcript::{EntryContent, EntryId},
};
use serde_json::{Value, json};

use super::kit::*;

fn call(name: &str, city: &str) -> Value {
    json!({"name": name, "arguments": {"city": city}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"toolCalls": calls})
}

fn tools() -> Value {
    json!([tool("get_weather"), tool("get_time")])
}

/// A tool of the server that tells noon, and counts how often.
fn clock(count: &Arc<AtomicUsize>) -> Tool {
    let name = ToolName::new("clock").unwrap();
    let (definition, _) = ToolDefinition::from_json_schema(name, "Tells the time.", &json!({})).unwrap();
    let count = Arc::clone(count);
    Tool::local(definition, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { ToolOutput::Json(json!({"time": "noon"})) }
    })
}

#[tokio::test]
async fn the_client_executes_its_tools_and_comes_back() {
    let model =
        scripted(&json!([calls(&[call("get_weather", "Paris")]), {"template": "It says {toolOutput}."}]));
    let server = server(model.clone());
    let first = ask(&server, hi(json!({"tools": tools()}))).await.unwrap();
    assert_eq!((finish_reason(&first), &message(&first)["content"]), ("tool_calls", &json!(null)));
    let call = message(&first)["tool_calls"][0].clone();
    let id = call["id"].as_str().unwrap();
    assert!(id.strip_prefix("call_").is_some_and(|rest| rest.len() == 24), "{id}");
    assert_eq!(
        call,
        json!({
            "id": id, "type": "function", "function": {"name": "get_weather", "arguments": r#"{"city":"Paris"}"#},
        })
    );
    // 2 characters of the prompt; 11 of the name and 16 of the arguments.
    assert_eq!(
        (&first["usage"]["prompt_tokens"], &first["usage"]["completion_tokens"]),
        (&json!(1), &json!(7))
    );

    let second = ask(&server, json!({"messages": [
        {"role": "user", "content": "Hi"}, message(&first), {"role": "tool", "tool_call_id": id, "content": "sunny"},
    ]})).await.unwrap();
    assert_eq!((finish_reason(&second), &message(&second)["content"]), ("stop", &json!("It says sunny.")));
    let request = model.request(1);
    assert_eq!(request.transcript.last_prompt_text(), "");
    let EntryContent::ToolOutput(output) = &request.transcript[2].content else { panic!("{request:?}") };
    assert_eq!((&*output.tool_name, &request.transcript[2].id), ("get_weather", &EntryId::from_text(id)));
    assert_eq!(model.times_asked(), 2);
}

#[tokio::test]
async fn calls_of_a_step_come_together_unless_one_at_a_time_is_wanted() {
    let made = ["get_weather", "get_time", "get_weather"];
    for (parallel, expected) in [(true, &made[..]), (false, &made[..1])] {
        let same_id = |name| json!({"id": "x", "name": name, "arguments": {"city": "Paris"}});
        let server = server(scripted(&json!([calls(&made.map(same_id))])));
        let answer =
            ask(&server, hi(json!({"tools": tools(), "parallel_tool_calls": parallel}))).await.unwrap();
        let calls = message(&answer)["tool_calls"].as_array().unwrap();
        let names: Vec<_> = calls.iter().map(|call| call["function"]["name"].as_str().unwrap()).collect();
        assert_eq!((finish_reason(&answer), &*names), ("tool_calls", expected));
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| call["id"].to_string()).collect();
        assert_eq!(ids.len(), calls.len());
    }
}

#[tokio::test]
async fn a_choice_binds_the_first_step() {
    let this_one = json!({"type": "function", "function": {"name": "get_time"}});
    let allowed = |mode: &str, tools: Value| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}});
    let both: &[&str] = &["get_weather", "get_time"];
    let cases = [
        (json!("required"), ToolMode::Required, both),
        (allowed("required", json!([this_one])), ToolMode::Required, &["get_time"]),
        (allowed("required", json!([{"name": "get_time"}])), ToolMode::Required, &["get_time"]),
        (allowed("auto", json!([{"name": "get_time"}])), ToolMode::Allowed, &["get_time"]),
        (this_one, ToolMode::Required, &["get_time"]),
        (json!("none"), ToolMode::Disallowed, &[]),
        (allowed("required", json!([])), ToolMode::Disallowed, &[]),
        (json!({"type": "allowed_tools", "allowed_tools": {"tools": []}}), ToolMode::Disallowed, &[]),
        (json!("auto"), ToolMode::Allowed, both),
        (json!(null), ToolMode::Allowed, both),
    ];
    for (choice, mode, visible) in cases {
        let step = if mode == ToolMode::Required {
            calls(&[call("get_time", "Rome")])
        } else {
            json!({"text": "No."})
        };
        let model = scripted(&json!([step]));
        let answer =
            ask(&server(model.clone()), hi(json!({"tools": tools(), "tool_choice": choice}))).await.unwrap();
        let request = model.request(0);
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((request.tool_mode, &*names), (mode, visible), "{choice}");
        let expected = if mode == ToolMode::Required { "tool_calls" } else { "stop" };
        assert_eq!(finish_reason(&answer), expected, "{choice}");
    }
}

#[tokio::test]
async fn tools_of_the_server_run_unseen() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = scripted(&json!([{"toolCalls": [{"name": "clock"}]}, {"template": "It is {toolOutput}."}]));
    let server = server_with(model, |config| config.tools = vec![clock(&count)]);
    let answer = ask(&server, hi(json!({"tools": [tool("get_weather")]}))).await.unwrap();
    assert_eq!(message(&answer)["content"], r#"It is {"time":"noon"}."#);
    assert_eq!((finish_reason(&answer), message(&answer).get("tool_calls")), ("stop", None));
    assert_eq!(count.load(Ordering::Relaxed), 1);

    let taken = ask(&server, hi(json!({"tools": [tool("clock")]}))).await.unwrap_err();
    assert_eq!((taken.status, taken.param.as_deref()), (400, Some("tools[0].function.name")));
}

#[tokio::test]
async fn of_both_kinds_the_client_gets_its_own() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = scripted(&json!([calls(&[
        call("get_time", "Oslo"),
        json!({"name": "clock"}),
        call("get_weather", "Oslo")
    ])]));
    let server = server_with(model, |config| config.tools = vec![clock(&count)]);
    let answer = ask(&server, hi(json!({"tools": tools()}))).await.unwrap();
    let calls = message(&answer)["tool_calls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call["function"]["name"].as_str().unwrap()).collect();
    assert_eq!((names, count.load(Ordering::Relaxed)), (vec!["get_time", "get_weather"], 1));
}

#[tokio::test]
async fn a_call_that_does_not_fit_goes_back_to_the_model() {
    let model = scripted(
        &json!([{"toolCalls": [{"name": "get_time", "arguments": {}}]}, calls(&[call("get_time", "Rome")])]),
    );
    let answer = ask(&server(model), hi(json!({"tools": tools()}))).await.unwrap();
    assert_eq!(message(&answer)["tool_calls"][0]["function"]["arguments"], r#"{"city":"Rome"}"#);
}

#[tokio::test]
async fn only_the_step_that_answers_can_be_cut() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = teller([vec![Act::Call("clock")], vec![Act::Answer("Noon.")]]);
    let server = server_with(model, |config| config.tools = vec![clock(&count)]);
    // Seven tokens in each step.
    let answer = ask(&server, hi(json!({"max_tokens": 10}))).await.unwrap();
    assert_eq!((finish_reason(&answer), &answer["usage"]["completion_tokens"]), ("stop", &json!(14)));
}

#[tokio::test]
async fn a_stream_goes_on_behind_a_tool_of_the_server() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = teller([
        vec![Act::Say("Let me see."), Act::Call("clock")],
        vec![Act::Say("It is "), Act::Say("noon."), Act::Answer("It is noon.")],
    ]);
    let server = server_with(model, |config| config.tools = vec![clock(&count)]);
    let read = stream(&server, hi(json!({}))).await.unwrap();
    assert_eq!((read.text(), read.finish_reasons()), ("Let me see.\n\nIt is noon.".into(), vec!["stop"]));
}
