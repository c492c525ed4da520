//! How request bodies are read: what they mean, and which mistake is told where.

use oam_agent::ToolChoice;
use serde_json::{Value, json};

use super::*;
use crate::http::tests::client::{answer_of, completions, hi_with as hi};

/// A server with the model `system`, alias `gpt-4o-mini`, and tools of these names.
pub(crate) struct ServerWith(pub(crate) &'static [&'static str]);

impl Catalog for ServerWith {
    fn resolve_model(&self, name: Option<&str>) -> Option<&str> {
        matches!(name, None | Some("system" | "gpt-4o-mini")).then_some("system")
    }

    fn has_tool(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    fn has_tools(&self) -> bool {
        !self.0.is_empty()
    }
}

pub(crate) const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

fn read(body: &Value) -> std::result::Result<Box<CompletionRequest>, ApiError> {
    ChatRequest::read(body.to_string().as_bytes(), &ServerWith(&[])).map(|request| request.completion)
}

fn tool(name: &str) -> Value {
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": name, "parameters": parameters}})
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Checks status, code and parameter of the errors that bodies get over HTTP.
fn expect_errors(cases: impl IntoIterator<Item = (Value, u16, Option<&'static str>, Option<&'static str>)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = completions(&json!([]));
    for (body, status, code, param) in cases {
        let answer = runtime.block_on(answer_of(&server, "/v1/chat/completions", &body));
        let error = answer.expect_err(&body.to_string());
        assert_eq!((error.status, error.code, error.param.as_deref()), (status, code, param), "{body}");
        assert!((10..1000).contains(&error.message.len()), "{} bytes", error.message.len());
        assert!(error.message.ends_with('.'), "{}", error.message);
    }
}

/// The same of messages: status 400.
fn expect_message_errors(cases: impl IntoIterator<Item = (Value, &'static str, &'static str)>) {
    expect_errors(cases.into_iter().map(|(messages, code, param)| {
        let code = (!code.is_empty()).then_some(code);
        (json!({"messages": messages}), 400, code, Some(param))
    }));
}

#[test]
fn images_that_cannot_be_used_are_named() {
    let message = |part: Value| json!([{"role": "user", "content": [part]}]);
    let image = |url: &str| message(json!({"type": "image_url", "image_url": {"url": url}}));
    let at = "messages[0].content[0].image_url.url";
    let many = json!({"type": "image_url", "image_url": PNG});
    expect_message_errors([
        (image("https://example.com/a.png"), "unsupported_image_url", at),
        (image("nothing"), "invalid_image_url", at),
        (image("data:image/png;base64,AAAA"), "invalid_image", at),
        (message(json!({"type": "image_url", "image_url": "nothing"})), "invalid_image_url", at),
        (
            message(json!({"type": "image_url"})),
            "missing_required_parameter",
            "messages[0].content[0].image_url",
        ),
        (message(json!({"type": "image_url", "image_url": {}})), "missing_required_parameter", at),
        (message(json!({"type": "input_audio"})), "invalid_value", "messages[0].content[0].type"),
        (json!([{"role": "user", "content": vec![many; 101]}]), "invalid_value", "messages[0]"),
    ]);
}

#[test]
fn messages_that_cannot_be_used_are_named() {
    let message = |message: Value| json!([message]);
    expect_message_errors([
        (json!([5]), "", "messages[0]"),
        (message(json!({})), "missing_required_parameter", "messages[0].role"),
        (message(json!({"role": "wizard"})), "invalid_value", "messages[0].role"),
        (message(json!({"role": "function"})), "invalid_value", "messages[0].role"),
        (message(json!({"role": 5})), "invalid_type", "messages[0].role"),
        (message(json!({"role": "system", "content": "a"})), "missing_user_message", "messages"),
        (message(json!({"role": "system"})), "missing_required_parameter", "messages[0].content"),
        (message(json!({"role": "user"})), "missing_required_parameter", "messages[0].content"),
        (message(json!({"role": "user", "content": 42})), "invalid_type", "messages[0].content"),
        (message(json!({"role": "user", "content": [5]})), "", "messages[0].content[0]"),
        (
            message(json!({"role": "system", "content": [{"type": "image_url", "image_url": PNG}]})),
            "invalid_value",
            "messages[0].content[0].type",
        ),
        (
            json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]),
            "invalid_last_message",
            "messages",
        ),
        (
            json!([
                {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"},
                {"role": "system", "content": "Be brief."},
            ]),
            "invalid_last_message",
            "messages",
        ),
    ]);
}

#[test]
fn calls_and_outputs_must_fit_together() {
    let calls = |calls: Value| json!({"role": "assistant", "tool_calls": calls});
    let output = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let hi = json!({"role": "user", "content": "Hi"});
    let one = calls(json!([call("a", "look", "{}")]));
    let two = calls(json!([call("a", "look", "{}"), call("b", "look", "{}")]));
    let member = |call: Value| json!([hi, calls(json!([call]))]);
    let deep = "{\"a\":".repeat(65) + "1" + &"}".repeat(65);
    let at_arguments = "messages[1].tool_calls[0].function.arguments";
    expect_message_errors([
        (
            json!([hi, calls(json!([call("a", "look", ""), call("a", "look", "")]))]),
            "duplicate_tool_call_id",
            "messages[1].tool_calls[1].id",
        ),
        (json!([hi, one, output("a"), hi, one]), "duplicate_tool_call_id", "messages[4].tool_calls[0].id"),
        (json!([hi, two, output("a"), output("a")]), "duplicate_tool_output", "messages[3].tool_call_id"),
        (json!([hi, one, output("a"), output("a")]), "duplicate_tool_output", "messages[3].tool_call_id"),
        (json!([hi, one, output("a"), hi, output("a")]), "duplicate_tool_output", "messages[4].tool_call_id"),
        (json!([hi, output("x")]), "unknown_tool_call_id", "messages[1].tool_call_id"),
        (json!([hi, two, output("b")]), "missing_tool_output", "messages"),
        (json!([hi, one]), "missing_tool_output", "messages"),
        (json!([hi, one, hi]), "missing_tool_output", "messages[2]"),
        (json!([hi, two, output("b"), one]), "missing_tool_output", "messages[3]"),
        (
            json!([hi, one, {"role": "tool", "content": "x"}]),
            "missing_required_parameter",
            "messages[2].tool_call_id",
        ),
        (
            json!([hi, one, {"role": "tool", "tool_call_id": "a"}]),
            "missing_required_parameter",
            "messages[2].content",
        ),
        (member(call("", "look", "")), "invalid_value", "messages[1].tool_calls[0].id"),
        (
            member(json!({"function": {"name": "a"}})),
            "missing_required_parameter",
            "messages[1].tool_calls[0].id",
        ),
        (member(json!({"id": "a", "type": "x"})), "invalid_value", "messages[1].tool_calls[0].type"),
        (member(call("a", "", "")), "invalid_value", "messages[1].tool_calls[0].function.name"),
        (member(call("a", "look", "[1, 2]")), "invalid_value", at_arguments),
        (member(call("a", "look", "{oops")), "invalid_value", at_arguments),
        (member(call("a", "look", r#"{"a":1e400}"#)), "invalid_value", at_arguments),
        (member(call("a", "look", &deep)), "invalid_value", at_arguments),
    ]);
}

#[test]
fn tools_that_cannot_be_used_are_named() {
    let with_tools = |tools: Value| hi(json!({"tools": tools}));
    let choice = |choice: Value| hi(json!({"tools": [tool("get_time")], "tool_choice": choice}));
    let allowed = |allowed: Value| choice(json!({"type": "allowed_tools", "allowed_tools": allowed}));
    let with = |name: &str, value: Value| {
        let mut tool = tool("get_time");
        tool["function"][name] = value;
        with_tools(json!([tool]))
    };
    let invalid = Some("invalid_value");
    expect_errors([
        (
            choice(json!({"type": "function", "function": {"name": "nope"}})),
            400,
            Some("unknown_tool"),
            Some("tool_choice"),
        ),
        (allowed(json!({"tools": [{"name": "nope"}]})), 400, Some("unknown_tool"), Some("tool_choice")),
        (allowed(json!({"mode": "x", "tools": []})), 400, invalid, Some("tool_choice.allowed_tools.mode")),
        (hi(json!({"tool_choice": "required"})), 400, invalid, Some("tool_choice")),
        (choice(json!("sometimes")), 400, invalid, Some("tool_choice")),
        (choice(json!("explicit")), 400, invalid, Some("tool_choice")),
        (choice(json!({"type": "x"})), 400, invalid, Some("tool_choice.type")),
        (choice(json!({})), 400, Some("missing_required_parameter"), Some("tool_choice.type")),
        (choice(json!(5)), 400, None, Some("tool_choice")),
        (with_tools(json!([tool("a"), tool("a")])), 400, invalid, Some("tools[1].function.name")),
        (with_tools(json!([tool("bad name!")])), 400, invalid, Some("tools[0].function.name")),
        (with_tools(json!([tool("a.b")])), 400, invalid, Some("tools[0].function.name")),
        (with_tools(json!([tool("respond_directly")])), 400, invalid, Some("tools[0].function.name")),
        (with_tools(json!([tool(&"x".repeat(65))])), 400, invalid, Some("tools[0].function.name")),
        (with_tools(json!([{"type": "web_search"}])), 400, invalid, Some("tools[0].type")),
        (
            with_tools(json!([{"type": "function"}])),
            400,
            Some("missing_required_parameter"),
            Some("tools[0].function"),
        ),
        (with_tools(json!([5])), 400, None, Some("tools[0]")),
        (with_tools(json!({})), 400, Some("invalid_type"), Some("tools")),
        (with("parameters", json!([])), 400, Some("invalid_type"), Some("tools[0].function.parameters")),
        (
            with("parameters", json!({"type": "x"})),
            400,
            Some("invalid_schema"),
            Some("tools[0].function.parameters"),
        ),
        (
            with("parameters", json!({"type": "string"})),
            400,
            Some("invalid_schema"),
            Some("tools[0].function.parameters"),
        ),
        (with("description", json!(5)), 400, Some("invalid_type"), Some("tools[0].function.description")),
    ]);
}

#[test]
fn tools_of_the_server_count() {
    let read = |body: Value| {
        ChatRequest::read(body.to_string().as_bytes(), &ServerWith(&["clock"]))
            .map(|request| request.completion)
    };
    let choice = json!({"type": "function", "function": {"name": "clock"}});
    assert_eq!(
        read(hi(json!({"tool_choice": choice}))).unwrap().tool_use.choice,
        ToolChoice::Tool("clock".into())
    );
    assert!(read(hi(json!({"tool_choice": "required"}))).is_ok());
    let taken = read(hi(json!({"tools": [tool("clock")]}))).unwrap_err();
    assert_eq!((taken.code, taken.param.as_deref()), (Some("invalid_value"), Some("tools[0].function.name")));
}

#[test]
fn members_that_cannot_be_used_are_named() {
    let member = |name: &str, value: Value| hi(json!({name: value}));
    let cases = [
        ("n", json!(2), "invalid_value", "n"),
        ("stop", json!(["a", "b", "c", "d", "e"]), "invalid_value", "stop"),
        ("stop", json!([1]), "invalid_type", "stop[0]"),
        ("stop", json!(1), "invalid_type", "stop"),
        ("stop", json!("x".repeat(4097)), "invalid_value", "stop"),
        ("temperature", json!(3), "invalid_value", "temperature"),
        ("temperature", json!(-0.1), "invalid_value", "temperature"),
        ("top_p", json!(0), "invalid_value", "top_p"),
        ("top_p", json!(1.1), "invalid_value", "top_p"),
        ("seed", json!(1.5), "invalid_type", "seed"),
        ("seed", json!("1"), "invalid_type", "seed"),
        ("max_tokens", json!(0), "invalid_value", "max_tokens"),
        ("max_completion_tokens", json!(0.5), "invalid_value", "max_completion_tokens"),
        ("functions", json!([]), "invalid_value", "functions"),
        ("function_call", json!("auto"), "invalid_value", "function_call"),
        ("modalities", json!(["text", "audio"]), "invalid_value", "modalities"),
        ("audio", json!({}), "invalid_value", "audio"),
        ("stream", json!("yes"), "invalid_type", "stream"),
        ("stream_options", json!(5), "invalid_type", "stream_options"),
        ("stream_options", json!({"include_usage": 1}), "invalid_type", "stream_options.include_usage"),
        ("parallel_tool_calls", json!("no"), "invalid_type", "parallel_tool_calls"),
        ("model", json!(5), "invalid_type", "model"),
        ("messages", json!(5), "invalid_type", "messages"),
        ("messages", json!([]), "invalid_value", "messages"),
        ("messages", json!(null), "missing_required_parameter", "messages"),
        ("response_format", json!("text"), "invalid_type", "response_format"),
        ("response_format", json!({}), "missing_required_parameter", "response_format.type"),
        ("response_format", json!({"type": "xml"}), "invalid_value", "response_format.type"),
        (
            "response_format",
            json!({"type": "json_schema"}),
            "missing_required_parameter",
            "response_format.json_schema",
        ),
    ];
    expect_errors(
        cases.map(|(name, value, code, param)| (member(name, value), 400, Some(code), Some(param))),
    );
    let schema =
        |members: Value| member("response_format", json!({"type": "json_schema", "json_schema": members}));
    let at = "response_format.json_schema.schema";
    expect_errors([
        (schema(json!({"name": "x"})), 400, Some("missing_required_parameter"), Some(at)),
        (schema(json!({"schema": []})), 400, Some("invalid_type"), Some(at)),
        (schema(json!({"schema": {"type": "x"}})), 400, Some("invalid_schema"), Some(at)),
        (schema(json!({"schema": {"type": "x".repeat(100_000)}})), 400, Some("invalid_schema"), Some(at)),
        (
            schema(json!({"schema": {}, "name": 5})),
            400,
            Some("invalid_type"),
            Some("response_format.json_schema.name"),
        ),
        (member("model", json!("nope")), 404, Some("model_not_found"), Some("model")),
        (json!([1, 2]), 400, None, None),
    ]);
    for text in ["", "{", "{\"messages\": [1e999]}", "\u{feff}{}", &"[".repeat(100_000)] {
        let error = ChatRequest::read(text.as_bytes(), &ServerWith(&["clock"])).unwrap_err();
        assert_eq!((error.status, error.code, error.param), (400, Some("invalid_json"), None), "{text:.20}");
    }
    assert_eq!(ChatRequest::read(b"\"\xff\"", &ServerWith(&[])).unwrap_err().code, Some("invalid_json"));
}

#[test]
fn of_several_mistakes_the_first_in_order_is_told() {
    let mut body = json!({
        "model": 5, "messages": 5, "stream": 5, "stream_options": 5, "n": 5, "modalities": 5, "audio": 5, "functions": 5,
        "function_call": 5, "temperature": 5, "top_p": 5, "seed": "5", "max_tokens": 0, "stop": 5, "tools": 5,
        "parallel_tool_calls": 5, "tool_choice": 5, "response_format": 5,
    });
    let mut told = Vec::new();
    while let Err(error) = read(&body) {
        let param = error.param.unwrap();
        let name = param.split(['.', '[']).next().unwrap().to_owned();
        match name.as_str() {
            "messages" => body[&name] = json!([{"role": "user", "content": "Hi"}]),
            _ => body[&name] = Value::Null,
        }
        told.push(name);
    }
    let order = "model messages stream stream_options n modalities audio functions function_call temperature top_p seed \
        max_tokens stop tools parallel_tool_calls response_format tool_choice";
    assert_eq!(told.join(" "), order);

    let wrong = json!({
        "model": "nope", "messages": [5], "tools": [5], "tool_choice": 5,
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "x"}}},
    });
    let mut params = Vec::new();
    let mut body = wrong;
    for (name, right) in [
        ("model", json!(null)),
        ("messages", json!([{"role": "user", "content": "Hi"}])),
        ("tools", json!(null)),
        ("tool_choice", json!(null)),
        ("response_format", json!(null)),
    ] {
        params.push(read(&body).unwrap_err().param.unwrap());
        body[name] = right;
    }
    let order = "model messages[0] tools[0] tool_choice response_format.json_schema.schema";
    assert_eq!(params.join(" "), order);
    assert!(read(&body).is_ok());
}

#[test]
fn members_that_only_describe_the_request_are_ignored() {
    let names = "user metadata store logprobs top_logprobs frequency_penalty presence_penalty logit_bias service_tier \
        reasoning_effort prediction whatever";
    let members: serde_json::Map<_, _> =
        names.split_whitespace().map(|name| (name.to_owned(), json!([{}]))).collect();
    assert!(read(&hi(members.into())).is_ok());
}

#[test]
fn a_long_conversation_is_read_in_a_moment() {
    let round = |i: usize| {
        [
            json!({"role": "user", "content": "Hi"}),
            json!({"role": "assistant", "tool_calls": [call(&format!("call_{i}"), "look", "{}")]}),
            json!({"role": "tool", "tool_call_id": format!("call_{i}"), "content": "dark"}),
        ]
    };
    let messages: Vec<_> = (0..20_000).flat_map(round).collect();
    let names: Vec<_> = (0..5000).map(|i| format!("tool_{i}")).collect();
    let allowed: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let body = json!({
        "messages": messages,
        "tools": names.iter().map(|name| tool(name)).collect::<Vec<_>>(),
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": allowed}},
    });
    let request = read(&body).unwrap();
    assert_eq!((request.conversation.history.len(), request.tools.len()), (60_000, 5000));
}

/// A request that uses about everything.
pub(crate) fn rich_request() -> Value {
    json!({
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}, {"type": "image_url", "image_url": {"url": PNG}}]},
            {"role": "assistant", "content": null, "tool_calls": [call("a", "get_weather", r#"{"city":"Paris"}"#)]},
            {"role": "tool", "tool_call_id": "a", "content": "sunny"},
            {"role": "assistant", "content": "Sunny."},
            {"role": "user", "content": "And the time?"},
        ],
        "tools": [tool("get_weather"), tool("get_time")],
        "tool_choice": {"type": "function", "function": {"name": "get_time"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {}}}},
        "temperature": 0.5, "top_p": 0.5, "seed": 1, "max_tokens": 5, "stop": ["x"], "stream": false,
        "stream_options": {"include_usage": true}, "n": 1, "parallel_tool_calls": true,
    })
}
