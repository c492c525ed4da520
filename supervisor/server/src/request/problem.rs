//! What is wrong with a member of a request, told where it is found.
//!
//! Whoever reads a part of a request names places within that part; [`Within`] puts them into the whole. So no path is
//! written down unless something is wrong.

use oam_agent::{json_text, schema::SchemaError};
use serde_json::Value;

use crate::api_error::{ApiError, echo};

pub(crate) type Result<T> = std::result::Result<T, Problem>;

/// Something wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    code: Option<&'static str>,
    /// From the part that is read; empty for the part itself.
    path: String,
    /// Follows the path in the message.
    predicate: String,
}

impl Problem {
    pub(crate) fn new(code: &'static str, predicate: impl Into<String>) -> Self {
        Self { code: Some(code), path: String::new(), predicate: predicate.into() }
    }

    /// One that has no name.
    pub(crate) fn unnamed(predicate: impl Into<String>) -> Self {
        Self { code: None, path: String::new(), predicate: predicate.into() }
    }

    pub(crate) fn invalid_value(predicate: impl Into<String>) -> Self {
        Self::new("invalid_value", predicate)
    }

    /// `what` says what the value must be.
    pub(crate) fn invalid_type(what: &str, value: &Value) -> Self {
        Self::new("invalid_type", must_be(what, value))
    }

    pub(crate) fn invalid_schema(error: &SchemaError) -> Self {
        let (message, path) = (echo(&error.message), echo(&error.path));
        Self::new("invalid_schema", format!("cannot be used: {message} (at {path})."))
    }

    pub(crate) fn missing(name: &str) -> Self {
        Self::new("missing_required_parameter", "is required.").at(name)
    }

    /// The same, about this member of what it was about.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.put_under(place);
        self
    }

    fn put_under(&mut self, place: &str) {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{place}{dot}{}", self.path);
    }
}

/// `must be a string; got 5.`
pub(crate) fn must_be(what: &str, value: &Value) -> String {
    format!("must be {what}; got {}.", json_text::abridged(value))
}

/// Puts problems of a part into the whole.
pub(crate) trait Within<T> {
    fn within(self, place: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|mut problem| {
            problem.put_under(&place());
            problem
        })
    }
}

impl From<Problem> for ApiError {
    fn from(Problem { code, path, predicate }: Problem) -> Self {
        let message =
            if path.is_empty() { format!("The body {predicate}") } else { format!("'{path}' {predicate}") };
        let error = match code {
            Some(code) => Self::invalid(code, message),
            None => Self::invalid_request(message),
        };
        if path.is_empty() { error } else { error.at(path) }
    }
}
