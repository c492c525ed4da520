//! Plain values: strings, numbers, choices and constants.

use serde_json::{Number, Value};

use super::{
    SchemaError,
    convert::Converter,
    describe::{self, as_text, joined},
    keywords::Keywords,
    place::Place,
    tree::{Node, Typed},
};
use crate::json_text;

impl<'s> Converter<'s> {
    pub(super) fn string(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let mut description = self.describe(description, keywords, describe::STRING_NOTES, at)?;
        if let Some(pattern) = keywords.text("pattern") {
            self.warn(at, format!("pattern '{pattern}' is described to the model but not enforced"))?;
            description = joined(description, Some(format!("Must match the regular expression {pattern}.")));
            self.pay_for(description.as_deref(), at)?;
        }
        Ok(Typed::new(Node::String, description))
    }

    pub(super) fn integer(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let bound = |keyword, round: fn(f64) -> f64| match keywords.get(keyword) {
            Some(Value::Number(number)) => Some(rounded(number, round)),
            _ => None,
        };
        let lower = bound("minimum", f64::ceil)
            .max(bound("exclusiveMinimum", f64::floor).map(|bound| bound.saturating_add(1)));
        let upper = [
            bound("maximum", f64::floor),
            bound("exclusiveMaximum", f64::ceil).map(|bound| bound.saturating_sub(1)),
        ];
        let mut minimum = lower.map(clamped);
        let mut maximum = upper.into_iter().flatten().min().map(clamped);
        if let (Some(lower), Some(upper)) = (minimum, maximum)
            && lower > upper
        {
            self.warn(at, "empty integer range is ignored")?;
            (minimum, maximum) = (None, None);
        }
        let description = self.describe(description, keywords, describe::NUMBER_NOTES, at)?;
        Ok(Typed::new(Node::Integer { minimum, maximum }, description))
    }

    pub(super) fn number(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let bound = |keyword| match keywords.get(keyword) {
            Some(Value::Number(number)) => Some(number.clone()),
            _ => None,
        };
        let above = bound("exclusiveMinimum");
        let below = bound("exclusiveMaximum");
        if above.is_some() || below.is_some() {
            self.warn(at, "exclusive number bounds are enforced as inclusive")?;
        }
        let mut minimum = bound("minimum").or(above);
        let mut maximum = bound("maximum").or(below);
        if let (Some(lower), Some(upper)) = (&minimum, &maximum)
            && lower.as_f64() > upper.as_f64()
        {
            self.warn(at, "empty number range is ignored")?;
            (minimum, maximum) = (None, None);
        }
        let description = self.describe(description, keywords, describe::NUMBER_NOTES, at)?;
        Ok(Typed::new(Node::Number { minimum, maximum }, description))
    }

    /// `enum`: what the values are decides, not the type.
    pub(super) fn choices(
        &mut self,
        values: &'s [Value],
        keywords: &Keywords<'s>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        self.budget.entries(values.len(), &at.path)?;
        let description = keywords.description().map(str::to_owned);
        let allowed: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
        let nullable = allowed.len() < values.len();
        let typed = if allowed.is_empty() {
            Typed::null(description)
        } else if let Some(choices) = all(&allowed, |value| value.as_str().map(str::to_owned)) {
            self.string_choices(choices, description, at)?
        } else if let Some(integers) = all(&allowed, integer) {
            self.integer_choices(&integers, description, at)?
        } else {
            self.warn(at, "mixed-type enum is generated as strings")?;
            self.string_choices(allowed.into_iter().map(as_text).collect(), description, at)?
        };
        Ok(Typed { nullable: nullable || typed.nullable, ..typed })
    }

    pub(super) fn string_choices(
        &mut self,
        choices: Vec<String>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        self.budget.entries(choices.len(), &at.path)?;
        self.budget.bytes(choices.iter().map(String::len).sum(), &at.path)?;
        self.pay_for(description.as_deref(), at)?;
        Ok(Typed::new(Node::Choices(choices), description))
    }

    fn integer_choices(
        &mut self,
        integers: &[i64],
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let (mut minimum, mut maximum) = (i64::MAX, i64::MIN);
        for integer in integers {
            (minimum, maximum) = (minimum.min(*integer), maximum.max(*integer));
        }
        let text =
            format!("integer enum is enforced as a range {minimum}...{maximum}; exact values are described");
        self.warn(at, text)?;
        let list: Vec<_> = integers.iter().map(i64::to_string).collect();
        let description = joined(description, Some(format!("One of: {}.", list.join(", "))));
        self.pay_for(description.as_deref(), at)?;
        Ok(Typed::new(Node::Integer { minimum: Some(minimum), maximum: Some(maximum) }, description))
    }

    /// `const`: a string is enforced, anything else described.
    pub(super) fn constant(
        &mut self,
        value: &'s Value,
        keywords: &Keywords<'s>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let description = keywords.description().map(str::to_owned);
        if let Value::String(text) = value {
            return self.string_choices(vec![text.clone()], description, at);
        }
        let json = json_text::compact(value);
        self.warn(at, format!("non-string const {json} is described instead of enforced"))?;
        let description = joined(description, Some(format!("Must be exactly {json}.")));
        self.pay_for(description.as_deref(), at)?;
        self.enter(at.again())?;
        self.by_type(keywords, description, at.again())
    }
}

/// `read` of every value, if it can read them all.
fn all<T>(values: &[&Value], read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(|value| read(value)).collect()
}

/// A number of things: integral and not negative.
pub(super) fn count(value: &Value) -> Option<u64> {
    u64::try_from(integer(value)?).ok()
}

/// An integral number that fits 64 bit; `3.0` is one.
fn integer(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    if number.as_f64().is_some_and(|number| number.fract() != 0.0) {
        return None;
    }
    i64::try_from(rounded(number, f64::trunc)).ok()
}

/// The number as an integer; floats are rounded by `round`, and huge ones saturate beyond 64 bit.
fn rounded(number: &Number, round: fn(f64) -> f64) -> i128 {
    if let Some(number) = number.as_i64() {
        return number.into();
    }
    if let Some(number) = number.as_u64() {
        return number.into();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    number.as_f64().map_or(0, |number| round(number) as i128)
}

fn clamped(bound: i128) -> i64 {
    i64::try_from(bound).unwrap_or(if bound < 0 { i64::MIN } else { i64::MAX })
}
