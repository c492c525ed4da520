//! Messages: writing ours, reading the supervisor's.

use serde_json::{Map, Value};

use super::{
    delivery::{Change, ToolCall},
    error::RequestError,
    request::RequestId,
};

/// A message, as far as a client can tell what it is without knowing what it asked for.
#[derive(Debug)]
pub(super) enum Message {
    Response { id: RequestId, outcome: Result<Value, RequestError> },
    Event { request: RequestId, event: Value },
    ToolCall(ToolCall),
    ToolCancel { call: String, reason: String },
    WorldChanged { subscription: String, change: Change },
    Notification { method: String, params: Value },
    Refusal(RequestError),
}

/// The longest line that the supervisor reads, in bytes.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// How deep arrays and objects of a message may be inside each other.
const MAX_NESTING: usize = 100;

/// The line of a request; without an id that of a notification. Fails where the supervisor would not understand it, and
/// so could not tell whose request it was.
pub(super) fn request(id: Option<RequestId>, method: &str, params: Value) -> Result<String, RequestError> {
    let id = id.map(|id| ("id", id.to_string().into()));
    line([("method", method.into()), ("params", params)].into_iter().chain(id))
}

/// The line of a response. Fails like [`request`].
pub(super) fn response(id: &str, result: Value) -> Result<String, RequestError> {
    line([("id", id.into()), ("result", result)])
}

fn line(members: impl IntoIterator<Item = (&'static str, Value)>) -> Result<String, RequestError> {
    let members = [("jsonrpc", "2.0".into())].into_iter().chain(members);
    let message = Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect());
    if nesting(&message) > MAX_NESTING {
        return Err(RequestError::invalid_params(format!(
            "Values may be nested {MAX_NESTING} deep, with the message around them."
        )));
    }
    let line = message.to_string();
    if line.len() > MAX_LINE {
        return Err(RequestError::invalid_params(format!(
            "A message may have {MAX_LINE} bytes; this one has {}.",
            line.len()
        )));
    }
    Ok(line)
}

fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or_default(),
        _ => 0,
    }
}

/// What a line of the supervisor's is.
pub(super) fn read(line: &str) -> Message {
    match serde_json::from_str(line) {
        Ok(Value::Object(message)) => understand(message),
        _ => Message::Refusal(unreadable(line)),
    }
}

/// The outcome in a response of [`EmbeddedBridge::call`](oam_embedded::EmbeddedBridge::call).
pub(super) fn outcome_of(response: &str) -> Result<Value, RequestError> {
    match serde_json::from_str(response) {
        Ok(Value::Object(response)) => outcome(response),
        _ => Err(unreadable(response)),
    }
}

fn understand(mut message: Map<String, Value>) -> Message {
    let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
    let Some(Value::String(method)) = message.remove("method") else {
        let outcome = outcome(message);
        return match (id.and_then(|id| id.parse().ok()), outcome) {
            (Some(id), outcome) => Message::Response { id, outcome },
            (None, Err(error)) => Message::Refusal(error),
            (None, Ok(result)) => Message::Notification { method: String::new(), params: result },
        };
    };
    let params = message.remove("params").unwrap_or_default();
    match (method.as_str(), id) {
        ("tool/call", Some(id)) => Message::ToolCall(tool_call(id, params)),
        ("tool/cancel", _) => {
            Message::ToolCancel { call: text(&params, "id"), reason: text(&params, "reason") }
        }
        ("world/changed", _) => {
            Message::WorldChanged { subscription: text(&params, "subscription"), change: change(params) }
        }
        _ => match (request_of(&params), params.get("event")) {
            (Some(request), Some(event)) => Message::Event { request, event: event.clone() },
            _ => Message::Notification { method, params },
        },
    }
}

fn outcome(mut response: Map<String, Value>) -> Result<Value, RequestError> {
    match response.remove("error") {
        Some(error) => Err(RequestError::from_json(&error)),
        None => Ok(response.remove("result").unwrap_or_default()),
    }
}

fn tool_call(id: String, mut params: Value) -> ToolCall {
    let arguments = match params.pointer_mut("/call/arguments").map(Value::take) {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    ToolCall {
        id,
        tool: text(&params["call"], "name"),
        arguments,
        session: params["session"].as_str().map(str::to_owned),
        npc: params["npc"].as_str().map(str::to_owned),
        index: params["index"].as_u64(),
        request: request_of(&params),
    }
}

fn change(mut params: Value) -> Change {
    let mut member = |name: &str| params.as_object_mut().and_then(|params| params.remove(name));
    let (old, new) = (member("oldValue"), member("newValue"));
    Change { world: text(&params, "world"), path: text(&params, "path"), old, new }
}

fn request_of(params: &Value) -> Option<RequestId> {
    params.get("requestId")?.as_str()?.parse().ok()
}

/// A member that is text, else the empty text.
pub(super) fn text(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn unreadable(line: &str) -> RequestError {
    let start: String = line.chars().take(200).collect();
    RequestError::from_json(
        &serde_json::json!({"message": format!("The supervisor said what is no message: {start}")}),
    )
}
