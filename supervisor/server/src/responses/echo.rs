//! What a response repeats of its request.

use serde::Serialize;
use serde_json::{Value, json};

use crate::request::{CompletionRequest, members::Object};

/// What a response repeats of its request, with what stands for members that the request does not have.
#[derive(Debug, Serialize)]
pub(crate) struct Echo {
    instructions: Value,
    max_output_tokens: Value,
    metadata: Value,
    parallel_tool_calls: bool,
    temperature: Value,
    text: Value,
    tool_choice: Value,
    tools: Value,
    top_p: Value,
    truncation: Value,
}

impl Echo {
    /// `body` is the body of `request`.
    pub(super) fn of(mut body: Object, request: &CompletionRequest) -> Self {
        let mut take = |name: &str| body.remove(name).unwrap_or_default();
        Self {
            instructions: take("instructions"),
            max_output_tokens: take("max_output_tokens"),
            metadata: or(take("metadata"), || json!({})),
            parallel_tool_calls: request.parallel_tool_calls,
            temperature: take("temperature"),
            text: text(take("text")),
            tool_choice: or(take("tool_choice"), || "auto".into()),
            tools: tools(take("tools")),
            top_p: take("top_p"),
            truncation: or(take("truncation"), || "disabled".into()),
        }
    }
}

fn or(value: Value, otherwise: impl FnOnce() -> Value) -> Value {
    if value.is_null() { otherwise() } else { value }
}

fn text(text: Value) -> Value {
    let mut text = or(text, || json!({}));
    if text["format"].is_null() {
        text["format"] = json!({"type": "text"});
    }
    text
}

/// With the members that clients rely on.
fn tools(tools: Value) -> Value {
    let mut tools = or(tools, || json!([]));
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for (name, absent) in
            [("type", "function".into()), ("parameters", Value::Null), ("strict", Value::Null)]
        {
            tool.entry(name).or_insert(absent);
        }
    }
    tools
}
