//! Texts that end an answer: `stop`.

use serde_json::Value;

use crate::request::{
    Problem, Result, Within,
    members::{self, Object},
};

/// As many as OpenAI takes.
const MOST_STOPS: usize = 4;
/// Longer than any text that could be meant, in bytes.
const LONGEST_STOP: usize = 4096;

/// `stop`, without empty texts.
pub(super) fn read(body: &Object) -> Result<Vec<String>> {
    let stops = members::read(body, "stop", |value| match value {
        Value::String(text) => Ok(vec![stop(text)?]),
        Value::Array(stops) if stops.len() > MOST_STOPS => Err(Problem::invalid_value(format!(
            "has {} texts; at most {MOST_STOPS} are possible.",
            stops.len()
        ))),
        Value::Array(stops) => {
            let stops = stops.iter().enumerate();
            stops
                .map(|(i, value)| members::string(value).and_then(stop).within(|| format!("[{i}]")))
                .collect()
        }
        _ => Err(Problem::invalid_type("a string or an array of strings", value)),
    })?;
    Ok(stops.into_iter().flatten().filter(|stop| !stop.is_empty()).collect())
}

fn stop(text: &str) -> Result<String> {
    if text.len() > LONGEST_STOP {
        return Err(Problem::invalid_value(format!("is longer than {LONGEST_STOP} bytes.")));
    }
    Ok(text.to_owned())
}
