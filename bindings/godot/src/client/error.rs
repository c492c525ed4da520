//! Why a request failed.

use std::fmt;

use serde_json::{Map, Value};

/// An error of the protocol, or of the client itself in the protocol's words (docs/PROTOCOL.md, Errors).
#[derive(Debug, Clone, PartialEq)]
pub struct RequestError {
    /// The number of JSON-RPC.
    pub code: i64,
    /// The stable name, `data.code` on the wire. Go by this one.
    pub name: String,
    /// A sentence for the developer who reads it.
    pub message: String,
    /// The further members of `data`.
    pub data: Map<String, Value>,
}

impl RequestError {
    fn new(code: i64, name: &str, message: impl Into<String>) -> Self {
        Self { code, name: name.to_owned(), message: message.into(), data: Map::new() }
    }

    /// A parameter is missing or not usable. The message names it.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, "invalid_params", message)
    }

    /// The bridge is closed, or was closed before the answer came.
    pub fn closed() -> Self {
        Self::new(-32023, "shut_down", "The bridge is closed.")
    }

    /// There is no bridge to ask, for a reason that the message tells.
    pub fn closed_because(reason: impl Into<String>) -> Self {
        Self::new(-32023, "shut_down", reason)
    }

    /// The error in a response.
    pub(super) fn from_json(error: &Value) -> Self {
        let mut data = error["data"].as_object().cloned().unwrap_or_default();
        let name = match data.shift_remove("code") {
            Some(Value::String(name)) => name,
            _ => "internal_error".to_owned(),
        };
        Self {
            code: error["code"].as_i64().unwrap_or(-32603),
            name,
            message: error["message"].as_str().unwrap_or("Unknown error").to_owned(),
            data,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.name, self.code)
    }
}

impl std::error::Error for RequestError {}
