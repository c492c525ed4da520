//! Reading a script. Messages have the form of the protocol's parameter errors and name the member by its path.
//! Members that mean nothing are ignored, so scripts may carry notes.

use std::time::Duration;

use serde_json::{Map, Value};

use super::script::{Action, DEFAULT_CHUNKS, Script, ScriptError, ScriptedCall, Step};
use crate::{error::ErrorCode, json_text};

type Result<T> = std::result::Result<T, ScriptError>;

impl Script {
    /// Reads an object with `steps` and `fallback`, both optional. `path` is what messages call it: with `model`
    /// they name `model.steps[2].chunks`.
    pub fn from_json(value: &Value, path: &str) -> Result<Self> {
        let script = object(value, path)?;
        let steps = match optional(script, "steps") {
            Some(steps) => self::steps(steps, &join(path, "steps"))?,
            None => Vec::new(),
        };
        let fallback = match optional(script, "fallback") {
            Some(fallback) => step(fallback, &join(path, "fallback"))?,
            None => Step::default(),
        };
        Ok(Self::new(steps, fallback))
    }

    /// Reads a script file: an array of steps, or an object as in [`from_json`](Self::from_json). With an empty
    /// `path`, messages name `steps[2].chunks`.
    pub fn from_steps_or_object(value: &Value, path: &str) -> Result<Self> {
        match value {
            Value::Array(_) => Ok(Self::new(steps(value, &join(path, "steps"))?, Step::default())),
            Value::Object(_) => Self::from_json(value, path),
            _ => Err(ScriptError::new(format!(
                "A script must be an array of steps or an object with 'steps'; got {}.",
                json_text::abridged(value)
            ))),
        }
    }
}

impl ScriptError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    fn must_be(path: &str, what: &str, value: &Value) -> Self {
        Self::new(format!("Parameter '{path}' must be {what}; got {}.", json_text::abridged(value)))
    }
}

fn steps(value: &Value, path: &str) -> Result<Vec<Step>> {
    let steps = array(value, path)?;
    steps.iter().enumerate().map(|(index, value)| step(value, &format!("{path}[{index}]"))).collect()
}

fn step(value: &Value, path: &str) -> Result<Step> {
    let step = object(value, path)?;
    let delay = whole_number(step, "delayMs", 0, path)?.map_or(Duration::ZERO, Duration::from_millis);
    Ok(Step { delay, action: action(step, path)? })
}

/// The first member that tells a kind decides.
fn action(step: &Map<String, Value>, path: &str) -> Result<Action> {
    if let Some(text) = optional_text(step, "text", path)? {
        let chunks = whole_number(step, "chunks", 1, path)?;
        // More pieces than could be counted are as good as one a character.
        let chunks = chunks.map_or(DEFAULT_CHUNKS, |chunks| usize::try_from(chunks).unwrap_or(usize::MAX));
        Ok(Action::Text { text, chunks })
    } else if let Some(calls) = optional(step, "toolCalls") {
        tool_calls(calls, &join(path, "toolCalls")).map(Action::ToolCalls)
    } else if let Some(value) = step.get("json") {
        // `null` is a value here.
        Ok(Action::Json(value.clone()))
    } else if let Some(template) = optional_text(step, "template", path)? {
        Ok(Action::Template(template))
    } else if let Some(code) = optional(step, "error") {
        let code = error_code(code, &join(path, "error"))?;
        let message = optional_text(step, "message", path)?.unwrap_or_else(|| format!("Scripted {code}."));
        Ok(Action::Error { code, message })
    } else {
        Err(ScriptError::new(format!(
            "Parameter '{path}' must have one of 'text', 'toolCalls', 'json', 'template', 'error'."
        )))
    }
}

fn tool_calls(value: &Value, path: &str) -> Result<Vec<ScriptedCall>> {
    let calls = array(value, path)?;
    if calls.is_empty() {
        return Err(ScriptError::new(format!("Parameter '{path}' must not be empty.")));
    }
    calls.iter().enumerate().map(|(index, value)| tool_call(value, &format!("{path}[{index}]"))).collect()
}

fn tool_call(value: &Value, path: &str) -> Result<ScriptedCall> {
    let call = object(value, path)?;
    let name = optional_text(call, "name", path)?
        .ok_or_else(|| ScriptError::new(format!("Missing required parameter '{}'.", join(path, "name"))))?;
    let arguments = match optional(call, "arguments") {
        Some(arguments) => object(arguments, &join(path, "arguments"))?.clone(),
        None => Map::new(),
    };
    Ok(ScriptedCall { id: optional_text(call, "id", path)?, name, arguments })
}

fn error_code(value: &Value, path: &str) -> Result<ErrorCode> {
    let name = value.as_str().ok_or_else(|| ScriptError::must_be(path, "a string", value))?;
    ErrorCode::from_name(name).ok_or_else(|| {
        let names = ErrorCode::ALL.map(ErrorCode::as_str).join(", ");
        ScriptError::must_be(path, &format!("one of {names}"), value)
    })
}

fn join(path: &str, member: &str) -> String {
    if path.is_empty() { member.into() } else { format!("{path}.{member}") }
}

fn optional<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a Value> {
    object.get(member).filter(|value| !value.is_null())
}

fn optional_text(object: &Map<String, Value>, member: &str, path: &str) -> Result<Option<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(ScriptError::must_be(&join(path, member), "a string", value)),
    };
    optional(object, member).map(text).transpose()
}

fn whole_number(object: &Map<String, Value>, member: &str, minimum: u64, path: &str) -> Result<Option<u64>> {
    /// Integers are exact below it.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let Some(value) = optional(object, member) else { return Ok(None) };
    let number = value
        .as_f64()
        .filter(|number| number.fract() == 0.0 && number.abs() < LIMIT)
        .ok_or_else(|| ScriptError::must_be(&join(path, member), "an integer", value))?;
    #[expect(clippy::cast_precision_loss, reason = "minimums are small")]
    if number < minimum as f64 {
        return Err(ScriptError::new(format!(
            "Parameter '{}' must be at least {minimum}.",
            join(path, member)
        )));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integral, from 0 to 2^53")]
    Ok(Some(number as u64))
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| ScriptError::must_be(path, "an object", value))
}

fn array<'a>(value: &'a Value, path: &str) -> Result<&'a [Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| ScriptError::must_be(path, "an array", value))
}
