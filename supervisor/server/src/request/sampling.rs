//! How to generate: sampling, and the longest answer.

use oam_agent::{GenerationOptions, Sampling};
use serde_json::Value;

use super::{
    Dialect,
    members::{self, Object, integer},
    problem::{Problem, Result, must_be},
};

/// `temperature`, `top_p`, `seed`, and the longest answer.
pub(crate) fn generation(body: &Object, dialect: Dialect) -> Result<GenerationOptions> {
    let temperature = members::read(body, "temperature", |value| {
        number(value, "a number from 0 to 2", |number| (0.0..=2.0).contains(&number))
    })?;
    let top_p = members::read(body, "top_p", |value| {
        number(value, "a number above 0 and at most 1", |number| number > 0.0 && number <= 1.0)
    })?;
    let seed = members::read(body, "seed", seed)?;
    let max_response_tokens = max_tokens(body, dialect.longest_answer())?;
    if temperature == Some(0.0) {
        let sampling = Some(Sampling::Greedy);
        return Ok(GenerationOptions { temperature: None, max_response_tokens, sampling });
    }
    let sampling = match (top_p, seed) {
        (None, None) => None,
        (p, seed) => Some(Sampling::TopP { p: p.unwrap_or(1.0), seed }),
    };
    Ok(GenerationOptions { temperature, max_response_tokens, sampling })
}

fn number(value: &Value, what: &str, fits: impl FnOnce(f64) -> bool) -> Result<f64> {
    let number = value.as_f64().filter(|number| fits(*number));
    number.ok_or_else(|| Problem::invalid_value(must_be(what, value)))
}

/// A negative seed is as good as any.
fn seed(value: &Value) -> Result<u64> {
    let number = integer(value).ok_or_else(|| Problem::invalid_type("an integer", value))?;
    let signed = i64::try_from(number).map(i64::cast_unsigned);
    signed
        .or_else(|_| u64::try_from(number))
        .map_err(|_| Problem::invalid_type("an integer of 64 bits", value))
}

/// The first name wins.
fn max_tokens(body: &Object, names: &[&str]) -> Result<Option<u32>> {
    let Some(name) = names.iter().find(|name| members::optional(body, name).is_some()) else {
        return Ok(None);
    };
    members::read(body, name, |value| {
        let number = integer(value).filter(|number| *number >= 1);
        let number =
            number.ok_or_else(|| Problem::invalid_value(must_be("an integer of at least 1", value)))?;
        // More than any model gives.
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    })
}
