//! The errors of the server, all made in this one place.
//!
//! Status, type, code and parameter are what clients go by, so the constructors tie them together.

use bytes::Bytes;
use oam_agent::{AgentError, ErrorCode, UnavailableReason};
use serde::{Serialize, Serializer};

use crate::wire;

/// Why a request failed, as the client gets to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Who can do something about it.
    pub(crate) kind: ErrorKind,
    /// The stable name, where there is one.
    pub(crate) code: Option<&'static str>,
    /// The member of the request that is wrong, as a path: `messages[1].content`.
    pub(crate) param: Option<String>,
    /// A sentence for the developer who reads it.
    pub(crate) message: String,
    /// When to try again, in seconds; the value of `Retry-After`.
    pub(crate) retry_after: Option<u64>,
}

/// Who can do something about an error: its `type` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ErrorKind {
    /// The client: the request is wrong.
    InvalidRequest,
    /// The client, by asking more slowly.
    RateLimit,
    /// Whoever runs the server.
    Server,
}

impl ErrorKind {
    /// The name on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request_error",
            Self::RateLimit => "rate_limit_error",
            Self::Server => "server_error",
        }
    }
}

/// How long to wait for a model that is unavailable, unless it tells, in seconds.
const UNAVAILABLE_SECONDS: u64 = 30;
/// How much of a text from outside a message repeats, in characters.
const LONGEST_ECHO: usize = 200;

/// What the request says wrongly.
impl ApiError {
    fn new(status: u16, kind: ErrorKind, code: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { status, kind, code, param: None, message: message.into(), retry_after: None }
    }

    fn client(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(status, ErrorKind::InvalidRequest, Some(code), message)
    }

    fn server(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(status, ErrorKind::Server, Some(code), message)
    }

    /// The request cannot be used, for a reason without a name.
    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(400, ErrorKind::InvalidRequest, None, message)
    }

    /// The request cannot be used, for the reason named `code`.
    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::client(400, code, message)
    }

    /// The same, about the member at `param`.
    #[must_use]
    pub(crate) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// The same, with the time to wait before another try, in seconds.
    #[must_use]
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// No model has this name.
    pub(crate) fn model_not_found(id: &str) -> Self {
        let message = format!(
            "There is no model '{}'. GET /v1/models lists those there are; the server's option --model-alias gives one another name.",
            echo(id)
        );
        Self::client(404, "model_not_found", message).at("model")
    }
}

/// What is wrong with the head of a request, or with its connection.
impl ApiError {
    /// The bytes are no acceptable HTTP request: status 400, 413, 431, 501 or 505.
    pub(crate) fn malformed_request(status: u16, message: impl Into<String>) -> Self {
        Self::client(status, "malformed_request", message)
    }

    /// The API key is missing or wrong.
    pub(crate) fn invalid_api_key() -> Self {
        let message = "The API key is missing or wrong. Send it as 'Authorization: Bearer <key>'.";
        Self::client(401, "invalid_api_key", message)
    }

    /// Pages of this origin may not use the server.
    pub(crate) fn origin_not_allowed(origin: &str) -> Self {
        let message = format!("Pages of the origin '{}' may not use this server.", echo(origin));
        Self::client(403, "origin_not_allowed", message)
    }

    /// There is nothing at this path. `supported` tells what there is.
    pub(crate) fn unknown_url(method: &str, path: &str, supported: &str) -> Self {
        let message = format!("There is nothing at {} {}; there is {supported}.", echo(method), echo(path));
        Self::client(404, "unknown_url", message)
    }

    /// The path wants another method.
    pub(crate) fn method_not_allowed(method: &str, path: &str, allowed: &str) -> Self {
        let message = format!("{} does not accept {}; use {allowed}.", echo(path), echo(method));
        Self::client(405, "method_not_allowed", message)
    }

    /// The body is not announced as JSON.
    pub(crate) fn unsupported_media_type() -> Self {
        let message = "The body must be JSON: send it with 'Content-Type: application/json'.";
        Self::client(415, "unsupported_media_type", message)
    }

    /// The server does not answer under this host name.
    pub(crate) fn invalid_host(host: &str) -> Self {
        let message = format!("This server does not answer under the host name '{}'.", echo(host));
        Self::client(421, "invalid_host", message)
    }

    /// There are as many connections as there may be.
    pub(crate) fn too_many_connections() -> Self {
        Self::server(503, "too_many_connections", "Too many connections are open; try again in a moment.")
            .retry_after(1)
    }

    /// Requests under way hold as much as they may.
    pub(crate) fn server_overloaded() -> Self {
        let message = "The server holds as much of requests as it may; try again in a moment.";
        Self::server(503, "server_overloaded", message).retry_after(1)
    }
}

/// What goes wrong with a request that can be used.
impl ApiError {
    /// As many completions wait as may.
    pub(crate) fn queue_full() -> Self {
        let message = "Too many completions are waiting; try again in a moment.";
        Self::new(429, ErrorKind::RateLimit, Some("rate_limited"), message).retry_after(1)
    }

    /// The server ends before the answer is there.
    pub(crate) fn server_stopping() -> Self {
        let message = "The server is being stopped; ask again when it is back.";
        Self::server(503, "server_stopping", message).retry_after(1)
    }

    /// The time for a completion is over.
    pub(crate) fn timeout() -> Self {
        Self::server(504, "timeout", "The completion took longer than the server allows; it was cancelled.")
    }

    /// The model cannot be asked now.
    pub(crate) fn model_unavailable(id: &str, reason: UnavailableReason) -> Self {
        let message = format!("The model '{id}' is unavailable: {}.", reason.as_str());
        Self::server(503, "model_unavailable", message).retry_after(UNAVAILABLE_SECONDS)
    }

    /// The answer is not the JSON object that was asked for.
    pub(crate) fn invalid_json_output() -> Self {
        Self::server(500, "invalid_json_output", "The model's answer is not a JSON object; try again.")
    }

    /// The model began its answer anew after some of it had been sent.
    pub(crate) fn generation_restarted() -> Self {
        let message = "The model started its answer anew after part of it had been sent; ask again.";
        Self::server(500, "generation_restarted", message)
    }

    /// A defect of the server.
    pub(crate) fn internal() -> Self {
        Self::new(500, ErrorKind::Server, None, "The server failed; its log tells more.")
    }

    /// The error as it is sent: an object with the member `error`.
    pub(crate) fn body(&self) -> Bytes {
        wire::json(&ErrorBody { error: self })
    }
}

impl ApiError {
    /// The failure of a turn. `conversation` is the member of the request that holds what was said.
    pub(crate) fn of_turn(error: &AgentError, conversation: &str) -> Self {
        let message = error.to_string();
        let retry_at = match error {
            AgentError::Model(error) => error.retry_after_seconds(),
            _ => None,
        };
        match error.code() {
            ErrorCode::ModelUnavailable => Self::server(503, "model_unavailable", message)
                .retry_after(retry_at.unwrap_or(UNAVAILABLE_SECONDS).max(1)),
            ErrorCode::GuardrailViolation => Self::invalid("content_filter", message).at(conversation),
            ErrorCode::ContextSizeExceeded => {
                Self::invalid("context_length_exceeded", message).at(conversation)
            }
            ErrorCode::UnsupportedLanguage => Self::invalid("unsupported_language", message).at(conversation),
            ErrorCode::RateLimited => Self::new(429, ErrorKind::RateLimit, Some("rate_limited"), message)
                .retry_after(retry_at.unwrap_or(1).max(1)),
            ErrorCode::InvalidSchema => Self::invalid("invalid_schema", message),
            ErrorCode::ToolFailed => Self::server(500, "tool_failed", message),
            ErrorCode::Cancelled => Self::server(500, "cancelled", message),
            ErrorCode::Busy => Self::server(503, "busy", message).retry_after(1),
            ErrorCode::InvalidRequest => Self::invalid_request(message),
            ErrorCode::Refusal | ErrorCode::GenerationFailed => {
                Self::new(500, ErrorKind::Server, None, message)
            }
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

/// Without what goes into the head of a response.
impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut error = serializer.serialize_struct("ApiError", 4)?;
        error.serialize_field("message", &self.message)?;
        error.serialize_field("type", self.kind.as_str())?;
        error.serialize_field("param", &self.param)?;
        error.serialize_field("code", &self.code)?;
        error.end()
    }
}

/// What is sent of an error.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    pub(crate) error: &'a ApiError,
}

/// A text from outside, short enough for a message.
pub(crate) fn echo(text: &str) -> String {
    match text.char_indices().nth(LONGEST_ECHO) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_says_null_where_nothing_is_known() {
        let body = ApiError::invalid_request("No.").body();
        let expected =
            r#"{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":null}}"#;
        assert_eq!(body, expected);
        let body = ApiError::model_not_found("x").body();
        assert!(
            body.ends_with(br#""type":"invalid_request_error","param":"model","code":"model_not_found"}}"#)
        );
    }

    #[test]
    fn what_is_repeated_of_a_request_is_short() {
        let error = ApiError::model_not_found(&"ö".repeat(1_000_000));
        assert!(error.message.len() < 1000, "{}", error.message.len());
    }
}
