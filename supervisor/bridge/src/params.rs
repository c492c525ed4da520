//! Reading parameters: typed accessors whose errors name the parameter (docs/PROTOCOL.md, Methods).
//!
//! A member that is `null` counts as absent, except for [`Params::has`] and [`Params::raw`]. No accessor
//! converts between types; only a number with an integral value is an integer however it is written.

use std::{borrow::Cow, fmt::Display, time::Duration};

use oam_agent::json_text;
use serde_json::{Map, Value};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_segmentation::UnicodeSegmentation;

use crate::message::{BridgeError, MAX_EXACT_INTEGER, NotFinite, ReceivedParams};

/// The longest time limit that a client may set.
const MAX_SECONDS: f64 = 86_400.0;

/// The longest id that a client may choose, in characters as people count them.
const MAX_ID_CHARACTERS: usize = 128;

/// The members of a request's `params`, or of an object within.
#[derive(Debug, Clone, PartialEq)]
pub struct Params<'a> {
    members: Cow<'a, Map<String, Value>>,
    /// What stands before a member's name in messages: nothing, or `options.`
    prefix: String,
}

/// How long something may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// This long, at least a millisecond.
    After(Duration),
    /// Without end.
    Never,
}

impl TimeLimit {
    /// The time, or `None` without end.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::After(duration) => Some(duration),
            Self::Never => None,
        }
    }
}

impl Params<'static> {
    /// The parameters of a request. Absent ones are an empty object.
    pub fn new(params: Option<Value>) -> Result<Self, BridgeError> {
        match params {
            None | Some(Value::Null) => Ok(Self::root(Map::new())),
            Some(Value::Object(members)) => Ok(Self::root(members)),
            Some(_) => Err(no_object()),
        }
    }

    /// The same as they were received. None may be or hold a number beyond the range of doubles.
    pub(crate) fn of_request(params: ReceivedParams) -> Result<Self, BridgeError> {
        params.map_err(|number| not_finite(&number)).and_then(Self::new)
    }

    fn root(members: Map<String, Value>) -> Self {
        Self { members: Cow::Owned(members), prefix: String::new() }
    }
}

fn no_object() -> BridgeError {
    BridgeError::invalid_params("params must be an object.")
}

fn not_finite(number: &NotFinite) -> BridgeError {
    match number.place().strip_prefix('.') {
        Some(name) => BridgeError::invalid_params(format!("Parameter '{name}' must be a finite number.")),
        None => no_object(),
    }
}

impl<'a> Params<'a> {
    /// The object `value`, found at `path` (`tools[0]`).
    pub fn at(path: &str, value: &'a Value) -> Result<Self, BridgeError> {
        match value {
            Value::Object(members) => {
                Ok(Self { members: Cow::Borrowed(members), prefix: format!("{path}.") })
            }
            other => Err(mistyped(path, "an object", other)),
        }
    }

    /// The full name of a member, as messages give it: `options.temperature`.
    pub fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The members as they were sent.
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// The members as they were sent.
    pub fn into_members(self) -> Map<String, Value> {
        self.members.into_owned()
    }

    /// Whether the member is there, be it `null`.
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// The member as it was sent, be it `null`.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// The member, unless it is absent or `null`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.raw(name).filter(|value| !value.is_null())
    }

    /// The member, whatever its type.
    pub fn value(&self, name: &str) -> Result<&Value, BridgeError> {
        self.required(name, self.get(name))
    }

    /// Text.
    pub fn string(&self, name: &str) -> Result<&str, BridgeError> {
        self.required(name, self.optional_string(name)?)
    }

    /// Text, if given.
    pub fn optional_string(&self, name: &str) -> Result<Option<&str>, BridgeError> {
        self.typed(name, "a string", Value::as_str)
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Result<bool, BridgeError> {
        self.required(name, self.optional_bool(name)?)
    }

    /// A boolean, if given.
    pub fn optional_bool(&self, name: &str) -> Result<Option<bool>, BridgeError> {
        self.typed(name, "a boolean", Value::as_bool)
    }

    /// An integer of at least `min`.
    pub fn integer(&self, name: &str, min: i64) -> Result<i64, BridgeError> {
        self.required(name, self.optional_integer(name, min)?)
    }

    /// An integer of at least `min`, if given. Its magnitude is below 2^53.
    pub fn optional_integer(&self, name: &str, min: i64) -> Result<Option<i64>, BridgeError> {
        self.optional_integer_in(name, min, i64::MAX)
    }

    /// An integer from `min` to `max`, if given. Its magnitude is below 2^53.
    pub fn optional_integer_in(&self, name: &str, min: i64, max: i64) -> Result<Option<i64>, BridgeError> {
        let value = self.typed(name, "an integer", exact_integer)?;
        self.in_range(name, value, min, max)
    }

    /// A number of at least `min`, if given.
    pub fn optional_number(&self, name: &str, min: f64) -> Result<Option<f64>, BridgeError> {
        self.optional_number_in(name, min, f64::INFINITY)
    }

    /// A number from `min` to `max`, if given.
    pub fn optional_number_in(&self, name: &str, min: f64, max: f64) -> Result<Option<f64>, BridgeError> {
        let value = self.typed(name, "a number", Value::as_f64)?;
        self.in_range(name, value, min, max)
    }

    /// A time limit in seconds, if given. Rounded to milliseconds; 0 is no limit.
    pub fn optional_seconds(&self, name: &str) -> Result<Option<TimeLimit>, BridgeError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64() {
            Some(0.0) => Ok(Some(TimeLimit::Never)),
            Some(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
                let shortest = Duration::from_millis(1);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a day")]
                let limit = Duration::from_millis((seconds * 1000.0).round() as u64);
                Ok(Some(TimeLimit::After(limit.max(shortest))))
            }
            _ => {
                let expected = "a number of seconds from 0 to 86400 (0 means no limit)";
                Err(mistyped(&self.path(name), expected, value))
            }
        }
    }

    /// How long something may take: a time limit in seconds as [above](Self::optional_seconds), or else `default`.
    /// `None` is without end.
    pub fn time_limit(&self, name: &str, default: Option<Duration>) -> Result<Option<Duration>, BridgeError> {
        Ok(self.optional_seconds(name)?.map_or(default, TimeLimit::duration))
    }

    /// An array.
    pub fn array(&self, name: &str) -> Result<&[Value], BridgeError> {
        self.required(name, self.optional_array(name)?)
    }

    /// An array, if given.
    pub fn optional_array(&self, name: &str) -> Result<Option<&[Value]>, BridgeError> {
        self.typed(name, "an array", |value| value.as_array().map(Vec::as_slice))
    }

    /// An array of texts, if given.
    pub fn optional_strings(&self, name: &str) -> Result<Option<Vec<&str>>, BridgeError> {
        let Some(elements) = self.optional_array(name)? else { return Ok(None) };
        elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                let path = || self.path(&format!("{name}[{index}]"));
                element.as_str().ok_or_else(|| mistyped(&path(), "a string", element))
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// The same, to keep.
    pub fn optional_texts(&self, name: &str) -> Result<Option<Vec<String>>, BridgeError> {
        let texts = self.optional_strings(name)?;
        Ok(texts.map(|texts| texts.into_iter().map(str::to_owned).collect()))
    }

    /// An object.
    pub fn object(&self, name: &str) -> Result<Params<'_>, BridgeError> {
        self.required(name, self.optional_object(name)?)
    }

    /// An object, if given.
    pub fn optional_object(&self, name: &str) -> Result<Option<Params<'_>>, BridgeError> {
        self.get(name).map(|value| Params::at(&self.path(name), value)).transpose()
    }

    /// An id that the client chose, if given: 1 to 128 characters, none of them a control or format
    /// character.
    pub fn optional_client_id(&self, name: &str) -> Result<Option<&str>, BridgeError> {
        let Some(id) = self.optional_string(name)? else { return Ok(None) };
        if !is_client_id(id) {
            return Err(
                self.invalid(name, "must be 1 to 128 characters without control or format characters.")
            );
        }
        Ok(Some(id))
    }

    /// A warning for each member that is not among the `known` ones, in the order in which they were sent.
    pub fn unknown_members(&self, known: &[&str]) -> Vec<String> {
        self.members
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| format!("Unknown parameter '{}' was ignored.", self.path(name)))
            .collect()
    }

    /// The error `Parameter '<path>' <what is wrong>`.
    pub fn invalid(&self, name: &str, what: impl Display) -> BridgeError {
        BridgeError::invalid_params(format!("Parameter '{}' {what}", self.path(name)))
    }

    /// The error for a member of another type than `expected` (`a string`); shows the beginning of what was
    /// sent.
    pub fn mistyped(&self, name: &str, expected: &str) -> BridgeError {
        mistyped(&self.path(name), expected, self.raw(name).unwrap_or(&Value::Null))
    }

    fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, BridgeError> {
        value.ok_or_else(|| {
            BridgeError::invalid_params(format!("Missing required parameter '{}'.", self.path(name)))
        })
    }

    fn typed<'s, T>(
        &'s self,
        name: &str,
        expected: &str,
        convert: impl FnOnce(&'s Value) -> Option<T>,
    ) -> Result<Option<T>, BridgeError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        convert(value).map(Some).ok_or_else(|| mistyped(&self.path(name), expected, value))
    }

    fn in_range<T: Copy + PartialOrd + Display>(
        &self,
        name: &str,
        value: Option<T>,
        min: T,
        max: T,
    ) -> Result<Option<T>, BridgeError> {
        match value {
            Some(value) if value < min => Err(self.invalid(name, format_args!("must be at least {min}."))),
            Some(value) if value > max => Err(self.invalid(name, format_args!("must be at most {max}."))),
            value => Ok(value),
        }
    }
}

/// Whether a client may choose this as an id: 1 to 128 characters, none of them a control or format character.
pub(crate) fn is_client_id(text: &str) -> bool {
    let is_hidden = |c| matches!(get_general_category(c), GeneralCategory::Control | GeneralCategory::Format);
    let characters = text.graphemes(true).take(MAX_ID_CHARACTERS + 1).count();
    (1..=MAX_ID_CHARACTERS).contains(&characters) && !text.chars().any(is_hidden)
}

fn exact_integer(value: &Value) -> Option<i64> {
    let number =
        value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER)?;
    #[expect(clippy::cast_possible_truncation, reason = "integral and below 2^53")]
    Some(number as i64)
}

fn mistyped(path: &str, expected: &str, value: &Value) -> BridgeError {
    BridgeError::invalid_params(format!(
        "Parameter '{path}' must be {expected}; got {}.",
        json_text::abridged(value)
    ))
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
