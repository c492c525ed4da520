//! What the model is told because it cannot be enforced.

use serde_json::Value;

use super::{SchemaError, convert::Converter, keywords::Keywords, place::Place};
use crate::json_text;

pub(super) const OBJECT_NOTES: &[&str] =
    &["minProperties", "maxProperties", "patternProperties", "dependentRequired"];
pub(super) const ARRAY_NOTES: &[&str] = &["uniqueItems", "contains"];
pub(super) const STRING_NOTES: &[&str] =
    &["format", "minLength", "maxLength", "contentEncoding", "contentMediaType"];
pub(super) const NUMBER_NOTES: &[&str] = &["multipleOf"];

/// Of `examples`, so many are told.
const EXAMPLES: usize = 3;

impl<'s> Converter<'s> {
    /// `description` with a note for each keyword of `told` (and a warning), the examples and the default:
    /// `Timestamp (format: date-time; examples: a, b; default: c)`.
    pub(super) fn describe(
        &mut self,
        description: Option<String>,
        keywords: &Keywords<'s>,
        told: &[&str],
        at: Place<'_>,
    ) -> Result<Option<String>, SchemaError> {
        let mut notes = Vec::new();
        for keyword in told {
            if let Some(value) = keywords.get(keyword) {
                self.warn(at, format!("'{keyword}' is described to the model but not enforced"))?;
                notes.push(format!("{keyword}: {}", as_text(value)));
            }
        }
        if let Some(examples) = keywords.list("examples").filter(|examples| !examples.is_empty()) {
            let texts: Vec<_> = examples.iter().take(EXAMPLES).map(as_text).collect();
            notes.push(format!("examples: {}", texts.join(", ")));
        }
        if let Some(default) = keywords.get("default") {
            notes.push(format!("default: {}", as_text(default)));
        }
        let notes = (!notes.is_empty()).then(|| format!("({})", notes.join("; ")));
        let description = joined(description, notes);
        self.pay_for(description.as_deref(), at)?;
        Ok(description)
    }

    /// Pays for a text that stays in the result.
    pub(super) fn pay_for(&mut self, text: Option<&str>, at: Place<'_>) -> Result<(), SchemaError> {
        self.budget.bytes(text.map_or(0, str::len), &at.path)
    }
}

/// A string as it is, anything else as JSON.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text::compact(value), str::to_owned)
}

/// Two texts joined with a space, if both are there.
pub(super) fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first} {second}")),
        (first, second) => first.or(second),
    }
}
