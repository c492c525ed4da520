//! How request bodies are read: what they mean, and which mistake is told where.

use oam_agent::{GenerationOptions, Sampling, ToolChoice};
use serde_json::{Value, json};

use super::*;
use crate::{
    chat::tests::{PNG, ServerWith},
    http::tests::client::{answer_of, completions},
    request::{AnswerFormat, Conversation, Message, UserContent},
};

fn read(body: &Value) -> std::result::Result<ResponseRequest, ApiError> {
    ResponseRequest::read(body.to_string().as_bytes(), &ServerWith(&[]))
}

/// A request that says `Hi`, with further members.
fn hi(members: Value) -> Value {
    let mut body = json!({"input": "Hi"});
    let Value::Object(members) = members else { panic!("members are an object") };
    body.as_object_mut().unwrap().extend(members);
    body
}

fn conversation(input: &Value) -> Conversation {
    read(&json!({"input": input})).unwrap().completion.conversation
}

fn user(text: &str) -> UserContent {
    UserContent { text: text.to_owned(), images: Vec::new() }
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": arguments})
}

fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

fn tool(name: &str) -> Value {
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "name": name, "description": "Tells.", "parameters": parameters, "strict": true})
}

/// A history, a line for each message.
fn told(history: &[Message]) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::User(content) => format!("user: {}", content.text),
        Message::Assistant(text) => format!("assistant: {text}"),
        Message::ToolCalls(calls) => {
            let calls: Vec<_> = calls
                .iter()
                .map(|call| format!("{} {}{}", call.id, call.name, Value::from(call.arguments.clone())))
                .collect();
            format!("calls: {}", calls.join(", "))
        }
        Message::ToolOutput { call_id, tool, text } => format!("{tool} {call_id}: {text}"),
    };
    history.iter().map(line).collect()
}

#[test]
fn input_is_a_text_or_items() {
    for input in [
        json!("Hi"),
        json!([said("user", "Hi")]),
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]),
    ] {
        let read = conversation(&input);
        assert_eq!(
            (read.history, read.prompt, read.instructions),
            (vec![], Some(user("Hi")), None),
            "{input}"
        );
    }
}

#[test]
fn instructions_come_before_those_in_the_input() {
    let body = json!({"instructions": "One.", "input": [said("system", "Two."), said("user", "Hi"), said("developer", "Three.")]});
    let read = read(&body).unwrap().completion.conversation;
    assert_eq!(read.instructions.as_deref(), Some("One.\n\nTwo.\n\nThree."));
    assert_eq!(read.prompt, Some(user("Hi")));
}

#[test]
fn calls_in_a_row_are_one_round() {
    let read = conversation(&json!([
        said("user", "Weather and time?"),
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "Let me see.", "annotations": []},
        ]},
        call("a", "weather", r#"{"city":"Paris"}"#),
        call("b", "time", ""),
        output("b", "noon"),
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "sunny"}]},
        call("c", "time", "{}"),
        output("c", "one"),
    ]));
    assert_eq!(
        told(&read.history),
        [
            "user: Weather and time?",
            "assistant: Let me see.",
            r#"calls: a weather{"city":"Paris"}, b time{}"#,
            "weather a: sunny",
            "time b: noon",
            "calls: c time{}",
            "time c: one",
        ]
    );
    assert_eq!(read.prompt, None, "the turn goes on");
}

#[test]
fn what_an_assistant_refused_is_what_it_said() {
    let read = conversation(&json!([
        said("user", "Hi"),
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        said("user", "Why?"),
    ]));
    assert_eq!(told(&read.history), ["user: Hi", "assistant: No."]);
}

#[test]
fn images_are_kept_where_they_were_shown() {
    let read = conversation(&json!([
        said("user", "Look"),
        {"role": "user", "content": [
            {"type": "input_image", "image_url": PNG, "detail": "auto"}, {"type": "input_text", "text": "This?"},
        ]},
    ]));
    let prompt = read.prompt.unwrap();
    assert_eq!((&*prompt.text, prompt.images.len()), ("Look\n\nThis?", 1));
    assert_eq!(read.first_image.as_deref(), Some("input[1].content"));
}

/// Checks code and parameter of the errors that bodies get over HTTP: status 400.
fn expect_errors(cases: impl IntoIterator<Item = (Value, &'static str, &'static str)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = completions(&json!([]));
    for (body, code, param) in cases {
        let answer = runtime.block_on(answer_of(&server, "/v1/responses", &body));
        let error = answer.expect_err(&body.to_string());
        let code = (!code.is_empty()).then_some(code);
        assert_eq!((error.status, error.code, error.param.as_deref()), (400, code, Some(param)), "{body}");
        assert!(error.message.len() > 10 && error.message.ends_with('.'), "{}", error.message);
        assert!(error.message.contains(param), "{}", error.message);
    }
}

#[test]
fn input_that_cannot_be_used_is_named() {
    let hi = said("user", "Hi");
    let part = |part: Value| json!([{"role": "user", "content": [part]}]);
    let image = |url: Value| part(json!({"type": "input_image", "image_url": url}));
    let (missing, invalid, wrong) = ("missing_required_parameter", "invalid_value", "invalid_type");
    let deep = "{\"a\":".repeat(65) + "1" + &"}".repeat(65);
    let cases = [
        (json!(null), missing, "input"),
        (json!(5), wrong, "input"),
        (json!([]), invalid, "input"),
        (json!([5]), "", "input[0]"),
        (json!([{}]), missing, "input[0].role"),
        (json!([said("tool", "x")]), invalid, "input[0].role"),
        (json!([{"type": 5}]), wrong, "input[0].type"),
        (json!([{"type": "item_reference", "id": "msg_1"}]), invalid, "input[0].type"),
        (json!([{"type": "web_search_call"}]), invalid, "input[0].type"),
        (json!([{"role": "user"}]), missing, "input[0].content"),
        (json!([{"role": "user", "content": 5}]), wrong, "input[0].content"),
        (part(json!({"type": "input_file", "file_id": "x"})), invalid, "input[0].content[0].type"),
        (part(json!({"type": "text", "text": "x"})), invalid, "input[0].content[0].type"),
        (part(json!({"type": "input_text"})), missing, "input[0].content[0].text"),
        (part(json!({"type": "input_image", "file_id": "x"})), invalid, "input[0].content[0].file_id"),
        (part(json!({"type": "input_image"})), missing, "input[0].content[0].image_url"),
        (image(json!({"url": PNG})), wrong, "input[0].content[0].image_url"),
        (image(json!("https://x/")), "unsupported_image_url", "input[0].content[0].image_url"),
        (image(json!("data:,text")), "invalid_image", "input[0].content[0].image_url"),
        (
            json!([{"role": "system", "content": [{"type": "input_image", "image_url": PNG}]}]),
            invalid,
            "input[0].content[0].type",
        ),
        (json!([said("system", "Be brief.")]), "missing_user_message", "input"),
        (json!([{"type": "reasoning"}]), "missing_user_message", "input"),
        (json!([hi, said("assistant", "Yes")]), "invalid_last_message", "input"),
        (json!([hi, call("a", "look", "")]), "missing_tool_output", "input"),
        (json!([hi, call("a", "look", ""), hi]), "missing_tool_output", "input[2]"),
        (json!([hi, call("a", "look", ""), said("assistant", "Yes")]), "missing_tool_output", "input[2]"),
        (
            json!([
                hi,
                call("a", "look", ""),
                call("b", "look", ""),
                output("a", "x"),
                call("c", "look", "")
            ]),
            "missing_tool_output",
            "input[4]",
        ),
        (json!([hi, output("a", "x")]), "unknown_tool_call_id", "input[1].call_id"),
        (
            json!([hi, call("a", "look", ""), output("a", "x"), output("a", "x")]),
            "duplicate_tool_output",
            "input[3].call_id",
        ),
        (
            json!([hi, call("a", "look", ""), call("a", "look", "")]),
            "duplicate_tool_call_id",
            "input[2].call_id",
        ),
        (json!([call("", "look", "")]), invalid, "input[0].call_id"),
        (json!([{"type": "function_call", "name": "look"}]), missing, "input[0].call_id"),
        (json!([call("a", "", "")]), invalid, "input[0].name"),
        (json!([call("a", "look", "[1]")]), invalid, "input[0].arguments"),
        (json!([call("a", "look", &deep)]), invalid, "input[0].arguments"),
        (
            json!([call("a", "look", ""), {"type": "function_call_output", "call_id": "a"}]),
            missing,
            "input[1].output",
        ),
        (
            json!([call("a", "look", ""), {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_image"}]}]),
            invalid,
            "input[1].output[0].type",
        ),
    ];
    expect_errors(cases.map(|(input, code, param)| (json!({"input": input}), code, param)));
}

#[test]
fn members_that_cannot_be_used_are_named() {
    let (missing, invalid, wrong) = ("missing_required_parameter", "invalid_value", "invalid_type");
    let many: serde_json::Map<_, _> = (0..17).map(|i| (i.to_string(), json!("x"))).collect();
    let format = |format: Value| json!({"format": format});
    let cases = [
        ("model", json!(5), wrong, "model"),
        ("instructions", json!(["x"]), wrong, "instructions"),
        ("stream", json!("yes"), wrong, "stream"),
        ("previous_response_id", json!("resp_1"), invalid, "previous_response_id"),
        ("conversation", json!({"id": "conv_1"}), invalid, "conversation"),
        ("prompt", json!({"id": "pmpt_1"}), invalid, "prompt"),
        ("background", json!(true), invalid, "background"),
        ("background", json!(1), wrong, "background"),
        ("temperature", json!(3), invalid, "temperature"),
        ("top_p", json!(0), invalid, "top_p"),
        ("max_output_tokens", json!(0), invalid, "max_output_tokens"),
        ("max_output_tokens", json!("5"), invalid, "max_output_tokens"),
        ("parallel_tool_calls", json!("no"), wrong, "parallel_tool_calls"),
        ("truncation", json!("middle"), invalid, "truncation"),
        ("truncation", json!(true), wrong, "truncation"),
        ("metadata", json!("x"), wrong, "metadata"),
        ("metadata", many.into(), invalid, "metadata"),
        ("metadata", json!({"a": 5}), wrong, "metadata.a"),
        ("metadata", json!({"a": "x".repeat(513)}), invalid, "metadata.a"),
        ("metadata", json!({"x".repeat(65): "a"}), invalid, "metadata"),
        ("text", json!("json"), wrong, "text"),
        ("text", format(json!("json")), wrong, "text.format"),
        ("text", format(json!({})), missing, "text.format.type"),
        ("text", format(json!({"type": "grammar"})), invalid, "text.format.type"),
        ("text", format(json!({"type": "json_schema", "name": "x"})), missing, "text.format.schema"),
        ("text", format(json!({"type": "json_schema", "schema": []})), wrong, "text.format.schema"),
        (
            "text",
            format(json!({"type": "json_schema", "schema": {"type": "x"}})),
            "invalid_schema",
            "text.format.schema",
        ),
        ("tools", json!({}), wrong, "tools"),
        ("tools", json!([5]), "", "tools[0]"),
        ("tools", json!([{"type": "web_search"}]), invalid, "tools[0].type"),
        ("tools", json!([{"type": "mcp", "server_label": "x"}]), invalid, "tools[0].type"),
        ("tools", json!([{"type": "function", "function": {"name": "look"}}]), missing, "tools[0].name"),
        ("tools", json!([tool("a"), tool("a")]), invalid, "tools[1].name"),
        (
            "tools",
            json!([{"type": "function", "name": "a", "parameters": {"type": "x"}}]),
            "invalid_schema",
            "tools[0].parameters",
        ),
    ];
    expect_errors(cases.map(|(name, value, code, param)| (hi(json!({name: value})), code, param)));

    let choice = |choice: Value| hi(json!({"tools": [tool("time")], "tool_choice": choice}));
    expect_errors([
        (hi(json!({"tool_choice": "required"})), invalid, "tool_choice"),
        (choice(json!("sometimes")), invalid, "tool_choice"),
        (choice(json!({"type": "web_search_preview"})), invalid, "tool_choice.type"),
        (choice(json!({"type": "function"})), missing, "tool_choice.name"),
        (choice(json!({"type": "function", "name": "nope"})), "unknown_tool", "tool_choice"),
        (choice(json!({"type": "allowed_tools"})), missing, "tool_choice.tools"),
        (choice(json!({"type": "allowed_tools", "mode": "x", "tools": []})), invalid, "tool_choice.mode"),
        (
            choice(json!({"type": "allowed_tools", "tools": [{"type": "mcp"}]})),
            missing,
            "tool_choice.tools[0].name",
        ),
        (
            choice(json!({"type": "allowed_tools", "tools": [{"name": "nope"}]})),
            "unknown_tool",
            "tool_choice",
        ),
    ]);
    let unknown = read(&hi(json!({"model": "nope"}))).unwrap_err();
    assert_eq!((unknown.status, unknown.code), (404, Some("model_not_found")));
    assert_eq!(read(&json!([1])).unwrap_err().status, 400);
    let error = ResponseRequest::read(b"{", &ServerWith(&[])).unwrap_err();
    assert_eq!((error.status, error.code, error.param), (400, Some("invalid_json"), None));
}

#[test]
fn how_tools_are_used_is_understood() {
    let allowed =
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "time"}]});
    for (choice, expected, is_limited) in [
        (json!(null), ToolChoice::Auto, false),
        (json!("auto"), ToolChoice::Auto, false),
        (json!("none"), ToolChoice::None, false),
        (json!("required"), ToolChoice::Required, false),
        (json!({"type": "function", "name": "time"}), ToolChoice::Tool("time".into()), false),
        (allowed, ToolChoice::Required, true),
    ] {
        let body = hi(json!({"tools": [tool("weather"), tool("time")], "tool_choice": choice}));
        let request = read(&body).unwrap().completion;
        assert_eq!(
            (request.tool_use.choice, request.tool_use.only.is_some()),
            (expected, is_limited),
            "{choice}"
        );
        assert_eq!(request.tools.len(), 2);
    }
    let taken = ResponseRequest::read(
        hi(json!({"tools": [tool("clock")]})).to_string().as_bytes(),
        &ServerWith(&["clock"]),
    );
    assert_eq!(taken.unwrap_err().param.as_deref(), Some("tools[0].name"));
}

#[test]
fn sampling_and_truncation_are_understood() {
    let request = read(&hi(json!({
        "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 20, "max_tokens": 7, "truncation": "auto",
        "parallel_tool_calls": false, "stream": true,
    })));
    let ResponseRequest { completion, is_streamed, .. } = request.unwrap();
    let sampling = Some(Sampling::TopP { p: 0.9, seed: None });
    let expected = GenerationOptions { temperature: Some(0.5), sampling, max_response_tokens: Some(20) };
    assert_eq!(completion.generation, expected);
    assert!(is_streamed && completion.trim_history && !completion.parallel_tool_calls);

    let plain = read(&hi(json!({}))).unwrap();
    assert!(!plain.is_streamed && !plain.completion.trim_history && plain.completion.parallel_tool_calls);
    assert!(!read(&hi(json!({"truncation": "disabled"}))).unwrap().completion.trim_history);
}

#[test]
fn formats_are_understood() {
    let format = |format: Value| read(&hi(json!({"text": {"format": format}}))).unwrap().completion.format;
    assert_eq!(format(json!(null)), AnswerFormat::Text);
    assert_eq!(format(json!({"type": "text"})), AnswerFormat::Text);
    assert_eq!(format(json!({"type": "json_object"})), AnswerFormat::JsonObject);
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}});
    let schema = format(json!({"type": "json_schema", "name": "Mood", "strict": true, "schema": schema}));
    assert!(matches!(schema, AnswerFormat::Schema(schema) if schema.name() == "Mood"));
}

#[test]
fn members_that_only_describe_the_request_are_ignored() {
    let names = "store user include reasoning service_tier safety_identifier prompt_cache_key stream_options max_tool_calls \
        top_logprobs whatever";
    let members: serde_json::Map<_, _> =
        names.split_whitespace().map(|name| (name.to_owned(), json!([{}]))).collect();
    assert!(read(&hi(members.into())).is_ok());
    assert!(
        read(&hi(json!({"previous_response_id": null, "conversation": null, "background": false}))).is_ok()
    );
}

/// A request that uses about everything.
pub(crate) fn rich_request() -> Value {
    json!({
        "model": "gpt-4o-mini",
        "instructions": "Be brief.",
        "input": [
            said("system", "Be kind."),
            {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}, {"type": "input_image", "image_url": PNG}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            call("a", "weather", r#"{"city":"Paris"}"#),
            output("a", "sunny"),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]},
            {"type": "message", "role": "user", "content": "And the time?"},
        ],
        "tools": [tool("weather"), tool("time")],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "time"}]},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object", "properties": {}}}},
        "temperature": 0.5, "top_p": 0.5, "max_output_tokens": 5, "stream": false, "parallel_tool_calls": true,
        "truncation": "auto", "metadata": {"a": "b"}, "background": false, "store": true,
    })
}
