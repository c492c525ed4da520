//! Steps of the scripted model and tools, in short.

use serde_json::{Value, json};

/// An answer in prose.
pub fn text(text: &str) -> Value {
    json!({"text": text})
}

/// An answer in which `{prompt}`, `{toolOutput}` and `{toolOutputs}` are filled in.
pub fn template(template: &str) -> Value {
    json!({"template": template})
}

/// One call of a tool.
pub fn call(name: &str, arguments: Value) -> Value {
    calls(&[(name, arguments)])
}

/// Several calls in one step.
pub fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<_> =
        calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect();
    json!({"toolCalls": calls})
}

/// A failure of the model.
pub fn error(code: &str) -> Value {
    json!({"error": code})
}

/// An answer that takes so long that only its cancellation is ever seen.
pub fn endless() -> Value {
    json!({"text": "never said", "delayMs": 3_600_000})
}

/// A tool with one optional text parameter, `what`.
pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("What {name} does."), "parameters":
        {"type": "object", "properties": {"what": {"type": "string"}}}})
}

/// A structured reply of an NPC.
pub fn reply(emotion: &str, line: &str) -> Value {
    json!({"json": {"emotion": emotion, "line": line, "player_options": ["Go on.", "Goodbye."],
        "ends_conversation": false}})
}

/// The same, streamed in about so many pieces.
pub fn reply_in_pieces(emotion: &str, line: &str, chunks: usize) -> Value {
    let reply = json!({"emotion": emotion, "line": line, "player_options": ["Go on.", "Goodbye."],
        "ends_conversation": false});
    json!({"text": reply.to_string(), "chunks": chunks})
}

/// An NPC's call of `remember_fact`.
pub fn remember(fact: &str) -> Value {
    call("remember_fact", json!({"fact": fact}))
}

/// An NPC's call of `change_relationship`.
pub fn feel(delta: i64) -> Value {
    call("change_relationship", json!({"reason": "Because.", "delta": delta}))
}

/// An NPC's call of `update_world_state`.
pub fn write_world(path: &str, value: &str) -> Value {
    call("update_world_state", json!({"path": path, "value": value}))
}
