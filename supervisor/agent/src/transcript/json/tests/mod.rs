mod reading;
mod round_trip;
mod writing;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::SavedTranscript;
use crate::{
    schema::GenerationSchema,
    tool::{ToolDefinition, ToolName},
};

fn envelope(entries: &Value) -> Value {
    json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": entries}})
}

fn read(entries: &Value) -> SavedTranscript {
    SavedTranscript::from_json(&envelope(entries)).unwrap()
}

fn error(entries: &Value) -> String {
    SavedTranscript::from_json(&envelope(entries)).unwrap_err()
}

fn text(text: &str) -> Value {
    json!([{"id": "0", "type": "text", "text": text}])
}

fn call(id: &str) -> Value {
    json!({"role": "response", "toolCalls": [{"id": id, "name": "wave", "arguments": "{}"}]})
}

fn output(id: &str) -> Value {
    json!({"role": "tool", "id": id, "toolCallID": id, "toolName": "wave", "contents": text("ok")})
}

fn definition(name: &str) -> ToolDefinition {
    let parameters = json!({
        "additionalProperties": false, "properties": {"gate": {"type": "string"}}, "required": ["gate"],
        "title": "OpenGateArguments", "type": "object", "x-order": ["gate"],
    });
    ToolDefinition {
        name: ToolName::new(name).unwrap(),
        description: "Opens a gate.".into(),
        parameters: Arc::new(GenerationSchema::from_generation_schema(&parameters, "Arguments").unwrap()),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}
