//! How long an answer is, as workers and the supervisor both count it.

use serde_json::{Map, Value};

use crate::message::{Outcome, ToolCall};

/// The longest answer that a step may have, streamed so far or in the end, in bytes: 1 MiB. What a host hears of a
/// streamed answer repeats all of it with each part, so an answer without end would take the time of everybody else.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The length of an outcome in bytes.
pub fn outcome_bytes(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Text { text } => text.len(),
        Outcome::Structured { value } => value_bytes(value),
        Outcome::ToolCalls { calls } => calls
            .iter()
            .map(|ToolCall { id, name, arguments }| id.len() + name.len() + members_bytes(arguments))
            .sum(),
    }
}

/// The length of a failure in bytes.
pub fn failure_bytes(message: &str, data: Option<&Map<String, Value>>) -> usize {
    message.len() + data.map_or(0, members_bytes)
}

/// The length of a value in bytes: that of the shortest JSON that could say it, and so never more than others may have
/// counted. The value nests no deeper than a frame may.
pub fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => 2 + text.len(),
        Value::Array(items) => listed_bytes(items.iter().map(value_bytes)),
        Value::Object(members) => members_bytes(members),
    }
}

fn members_bytes(members: &Map<String, Value>) -> usize {
    listed_bytes(members.iter().map(|(name, value)| 2 + name.len() + 1 + value_bytes(value)))
}

/// The length of things between brackets, with commas between them.
fn listed_bytes(things: impl Iterator<Item = usize>) -> usize {
    1 + things.map(|bytes| 1 + bytes).sum::<usize>().max(1)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_of_a_value_is_that_of_its_shortest_json() {
        for (value, written) in [
            (json!({"name": "Gorm", "items": [null, true, 7, {"a": "é"}]}), Ordering::Equal),
            (json!([[], {}, [[0]], ""]), Ordering::Equal),
            (json!([1.5, false, "\n"]), Ordering::Greater),
        ] {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(text.len().cmp(&value_bytes(&value)), written, "{text}");
        }
    }
}
