//! `update_world_state`.

use std::borrow::Cow;

use oam_agent::{ToolCall, ToolOutput, json_text};
use serde_json::{Number, Value};

use super::{is_within_any, path_argument, resolved};
use crate::{
    wording::wrong_argument,
    world::{World, WorldError, abridge, edit, path::WorldPath, value, wording},
};

/// How many characters of a value an answer shows.
const SHOWN_VALUE: usize = 200;

pub(super) fn update(world: &World, call: &ToolCall, writable: &[WorldPath]) -> Result<ToolOutput, String> {
    let path = path_argument(call)?;
    let sent = call.arguments.get("value");
    let sent = sent.ok_or_else(|| wrong_argument(&call.name, "value", "a value", None))?;
    let written = world.write(|root, changes| {
        let path = resolved(root, &path);
        if !is_within_any(&path, writable) {
            return Err(wording::read_only(&path, writable));
        }
        let stored = value::get(root, &path);
        let new = converted(&path, stored, sent)?;
        let shown = abridge::cut_json(&new, SHOWN_VALUE);
        let was = stored.map(|stored| abridge::cut_json(stored, SHOWN_VALUE));
        edit::set(root, &path, new, changes).map_err(|error: WorldError| error.to_string())?;
        Ok(wording::was_set(&path, &shown, was.as_deref()))
    })?;
    Ok(ToolOutput::Text(written.result))
}

/// What was sent, in the type that the place holds.
fn converted(path: &WorldPath, stored: Option<&Value>, sent: &Value) -> Result<Value, String> {
    let stored = stored.unwrap_or(&Value::Null);
    let new = match (stored, sent) {
        (Value::Null, Value::String(text)) => Some(parsed(text).unwrap_or_else(|| sent.clone())),
        (Value::Null, _) => Some(sent.clone()),
        (Value::String(_), Value::String(text)) => Some(Value::String(unquoted(text))),
        _ if value::kind(stored) == value::kind(sent) => Some(sent.clone()),
        _ => scalar_text(sent).and_then(|text| read_as(stored, &text)),
    };
    new.ok_or_else(|| {
        let expected = value::kind(stored);
        let stored = abridge::cut_json(stored, SHOWN_VALUE);
        let sent = match sent {
            Value::String(text) => format!("'{}'", abridge::cut(text, SHOWN_VALUE)),
            other => abridge::cut_json(other, SHOWN_VALUE),
        };
        wording::wrong_type(path, expected, &stored, &sent)
    })
}

/// The text of what was sent, if that is a single value.
fn scalar_text(sent: &Value) -> Option<Cow<'_, str>> {
    match sent {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(_) | Value::Bool(_) => Some(Cow::Owned(json_text::compact(sent))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text as a value of the stored one's kind.
fn read_as(stored: &Value, text: &str) -> Option<Value> {
    match stored {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Number(_) => number(text).map(Value::Number),
        Value::Bool(_) => truth(text).map(Value::Bool),
        _ => parsed(text).filter(|value| value::kind(value) == value::kind(stored)),
    }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Models sometimes write the quotes of a string too.
fn unquoted(text: &str) -> String {
    match parsed(text) {
        Some(Value::String(inner)) => inner,
        _ => text.to_owned(),
    }
}

/// A number, perhaps with commas between thousands.
fn number(text: &str) -> Option<Number> {
    let text = without_thousands_commas(text.trim())?;
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    // Words such as "inf" are no numbers, and neither is what does not fit one.
    Number::from_f64(text.parse().ok()?)
}

/// `12,345.6` without its comma; `None` when a comma stands anywhere else.
fn without_thousands_commas(text: &str) -> Option<Cow<'_, str>> {
    let Some((first, rest)) = text.split_once(',') else { return Some(Cow::Borrowed(text)) };
    let (groups, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let leading = first.trim_start_matches(['+', '-']);
    let is_grouped = (1..=3).contains(&leading.len())
        && digits(leading)
        && groups.split(',').all(|group| group.len() == 3 && digits(group));
    is_grouped.then(|| Cow::Owned(format!("{first}{}{fraction}", groups.replace(',', ""))))
}

fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}
