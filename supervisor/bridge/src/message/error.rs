//! The errors of the protocol, all made in this one place (docs/PROTOCOL.md, Errors).
//!
//! An error has a number for JSON-RPC and a stable name that clients go by. The constructors pair the two;
//! methods that an extension adds bring their own pairs through [`BridgeError::extension`].

use std::{borrow::Cow, fmt};

use oam_agent::{AgentError, ErrorCode, ModelError, schema::SchemaError};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeStruct},
};
use serde_json::{Map, Value};

use crate::{journal::StorageFailure, timestamp};

/// Why a request failed, as the client gets to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct BridgeError {
    /// The number of JSON-RPC.
    pub code: i64,
    /// The stable name, `data.code` on the wire.
    pub name: Cow<'static, str>,
    /// A sentence for the developer who reads it.
    pub message: String,
    /// The further members of `data`.
    pub data: Map<String, Value>,
}

/// The most that an error repeats of a name, in characters.
const LONGEST_ECHO: usize = 1000;

impl BridgeError {
    fn new(code: i64, name: &'static str, message: impl Into<String>) -> Self {
        Self { code, name: Cow::Borrowed(name), message: message.into(), data: Map::new() }
    }

    /// The error with one more member in `data`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// An error of a method that an extension added. Codes from -32099 to -32057 are free for these.
    pub fn extension(code: i64, name: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code, name: name.into(), message: message.into(), data: Map::new() }
    }

    /// The line is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(-32700, "parse_error", message)
    }

    /// The line is longer than `limit` bytes and was not read.
    pub fn line_too_long(limit: usize) -> Self {
        Self::parse_error(format!("The line is longer than {limit} bytes."))
    }

    /// The line is JSON, but no message of JSON-RPC 2.0.
    pub fn invalid_message(message: impl Into<String>) -> Self {
        Self::new(-32600, "invalid_message", message)
    }

    /// There is no such method.
    pub fn method_not_found(method: &str) -> Self {
        // Echoed twice, a name of megabytes would cost more than the line that brought it.
        let method: String = method.chars().take(LONGEST_ECHO).collect();
        Self::new(-32601, "method_not_found", format!("Unknown method '{method}'.")).with("method", method)
    }

    /// A parameter is missing or not usable. The message names it.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, "invalid_params", message)
    }

    /// A bug.
    pub fn internal_error(message: impl Into<String>) -> Self {
        Self::new(-32603, "internal_error", message)
    }

    /// A failure of an agent or its model.
    pub fn agent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(agent_code(code), code.as_str(), message)
    }

    /// The request was cancelled. The message says when: before it started, or while it ran.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::agent(ErrorCode::Cancelled, message)
    }

    /// The schema that is the value of the parameter at `path` cannot be used.
    pub fn invalid_schema(path: &str, error: &SchemaError) -> Self {
        Self::agent(ErrorCode::InvalidSchema, format!("{path}: {error}"))
            .with("path", path)
            .with("schemaPath", error.path.as_str())
    }

    /// The disk cannot be written: the change was not made.
    pub fn storage_failed(failure: &StorageFailure) -> Self {
        let message = format!("Nothing was changed: it could not be written to disk ({}).", failure.reason);
        Self::storage(message, failure).with("applied", false)
    }

    /// The disk cannot be written, but the change was made, and will be on disk when that works again.
    pub fn not_yet_stored(failure: &StorageFailure) -> Self {
        let message = format!(
            "The change was made but could not be written to disk ({}). It is kept in memory and written as soon as \
             the disk takes it; until then changes are refused.",
            failure.reason
        );
        Self::storage(message, failure).with("applied", true)
    }

    /// The journal did not take what some request changed, and never will: only memory has it, as long as somebody is in
    /// the realm. Of this request it may have taken all, nothing, or the first changes.
    pub(crate) fn change_lost(failure: &StorageFailure) -> Self {
        let message = format!(
            "A change could not be written down and is lost ({}); whether it is this one is not known. The connection \
             ends; connect again to go on with what was written.",
            failure.reason
        );
        Self::storage(message, failure)
    }

    fn storage(message: String, failure: &StorageFailure) -> Self {
        let mut error = Self::new(-32015, "storage_failed", message);
        if let Some(path) = &failure.path {
            error = error.with("path", path.to_string_lossy());
        }
        error.with("reason", failure.reason.as_str()).with("retryable", true)
    }

    /// There is no such session.
    pub fn session_not_found(id: &str) -> Self {
        Self::new(-32020, "session_not_found", format!("No session with id '{id}'.")).with("session", id)
    }

    /// The id of a new session is in use.
    pub fn session_exists(id: &str) -> Self {
        Self::new(-32021, "session_exists", format!("A session with id '{id}' already exists."))
            .with("session", id)
    }

    /// There are as many sessions as there may be.
    pub fn session_limit(limit: usize) -> Self {
        let message = format!("The session limit ({limit}) is reached; delete a session first.");
        Self::new(-32022, "session_limit", message).with("limit", limit)
    }

    /// The bridge takes no more requests.
    pub fn shut_down() -> Self {
        Self::new(-32023, "shut_down", "The bridge has shut down.")
    }

    /// A blocking call of a host took longer than the host wanted to wait.
    pub fn timeout() -> Self {
        Self::new(-32024, "timeout", "The call timed out; the request was cancelled.")
    }

    /// There is no such NPC.
    pub fn npc_not_found(id: &str) -> Self {
        Self::new(-32050, "npc_not_found", format!("No NPC with id '{id}'.")).with("npc", id)
    }

    /// The id of a new NPC is in use.
    pub fn npc_exists(id: &str) -> Self {
        Self::new(-32051, "npc_exists", format!("An NPC with id '{id}' already exists.")).with("npc", id)
    }

    /// There is no such world.
    pub fn world_not_found(id: &str) -> Self {
        Self::new(-32052, "world_not_found", format!("No world with id '{id}'.")).with("world", id)
    }

    /// The id of a new world is in use.
    pub fn world_exists(id: &str) -> Self {
        Self::new(-32053, "world_exists", format!("A world with id '{id}' already exists.")).with("world", id)
    }

    /// A path into a world, or a value for it, was refused.
    pub fn world_error(world: &str, path: &str, message: impl Into<String>) -> Self {
        Self::new(-32054, "world_error", message).with("world", world).with("path", path)
    }

    /// There are as many `things` (in the plural) as there may be.
    pub fn limit_reached(limit: usize, things: &str) -> Self {
        let message = format!("The limit of {limit} {things} is reached; delete some first.");
        Self::new(-32055, "limit_reached", message).with("limit", limit)
    }

    /// There is no such subscription.
    pub fn subscription_not_found(id: &str) -> Self {
        Self::new(-32056, "subscription_not_found", format!("No world subscription with id '{id}'."))
            .with("subscription", id)
    }
}

fn agent_code(code: ErrorCode) -> i64 {
    match code {
        ErrorCode::ModelUnavailable => -32001,
        ErrorCode::GuardrailViolation => -32002,
        ErrorCode::Refusal => -32003,
        ErrorCode::ContextSizeExceeded => -32004,
        ErrorCode::RateLimited => -32005,
        ErrorCode::UnsupportedLanguage => -32006,
        ErrorCode::InvalidSchema => -32007,
        ErrorCode::ToolFailed => -32008,
        ErrorCode::Cancelled => -32009,
        ErrorCode::Busy => -32010,
        ErrorCode::InvalidRequest => -32011,
        ErrorCode::GenerationFailed => -32012,
    }
}

impl From<StorageFailure> for BridgeError {
    fn from(failure: StorageFailure) -> Self {
        Self::storage_failed(&failure)
    }
}

impl From<ModelError> for BridgeError {
    fn from(error: ModelError) -> Self {
        let mut data = Map::new();
        if let (Some(time), Some(seconds)) = (error.retry_at, error.retry_after_seconds()) {
            data.insert("retryAfter".to_owned(), timestamp::iso8601(time).into());
            data.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        data.extend(error.data);
        Self { data, ..Self::agent(error.code, error.message) }
    }
}

impl From<AgentError> for BridgeError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Model(error) => error.into(),
            other => Self::agent(other.code(), other.to_string()),
        }
    }
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.name, self.code)
    }
}

impl std::error::Error for BridgeError {}

impl Serialize for BridgeError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Data<'a>(&'a BridgeError);

        impl Serialize for Data<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut data = serializer.serialize_map(None)?;
                data.serialize_entry("code", &self.0.name)?;
                for (name, value) in self.0.data.iter().filter(|(name, _)| *name != "code") {
                    data.serialize_entry(name, value)?;
                }
                data.end()
            }
        }

        let mut error = serializer.serialize_struct("BridgeError", 3)?;
        error.serialize_field("code", &self.code)?;
        error.serialize_field("message", &self.message)?;
        error.serialize_field("data", &Data(self))?;
        error.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use oam_agent::json_text;
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_written_with_their_name_first_in_data() {
        let cases = [
            (
                BridgeError::shut_down(),
                r#"{"code":-32023,"message":"The bridge has shut down.","data":{"code":"shut_down"}}"#,
            ),
            (
                BridgeError::method_not_found("nope"),
                r#"{"code":-32601,"message":"Unknown method 'nope'.","data":{"code":"method_not_found","method":"nope"}}"#,
            ),
            (
                BridgeError::session_limit(64),
                r#"{"code":-32022,"message":"The session limit (64) is reached; delete a session first.","data":{"code":"session_limit","limit":64}}"#,
            ),
            (
                BridgeError::world_error("w", "a.b", "No."),
                r#"{"code":-32054,"message":"No.","data":{"code":"world_error","world":"w","path":"a.b"}}"#,
            ),
            (
                BridgeError::limit_reached(128, "NPCs"),
                r#"{"code":-32055,"message":"The limit of 128 NPCs is reached; delete some first.","data":{"code":"limit_reached","limit":128}}"#,
            ),
            (
                BridgeError::extension(-32090, "quest_not_found", "No quest.")
                    .with("code", 1)
                    .with("quest", "q"),
                r#"{"code":-32090,"message":"No quest.","data":{"code":"quest_not_found","quest":"q"}}"#,
            ),
        ];
        for (error, text) in cases {
            assert_eq!(json_text::compact(&error), text);
        }
    }

    fn full_disk() -> StorageFailure {
        StorageFailure { path: Some("/data/realms.db".into()), reason: "the disk is full".to_owned() }
    }

    #[test]
    fn a_storage_failure_tells_where_why_and_whether_the_change_was_made() {
        let nowhere = &StorageFailure { path: None, ..full_disk() };
        let cases = [
            (
                BridgeError::from(full_disk()),
                json!({"path": "/data/realms.db", "reason": "the disk is full", "retryable": true, "applied": false}),
            ),
            (
                BridgeError::not_yet_stored(nowhere),
                json!({"reason": "the disk is full", "retryable": true, "applied": true}),
            ),
            (BridgeError::change_lost(nowhere), json!({"reason": "the disk is full", "retryable": true})),
        ];
        for (error, data) in cases {
            assert_eq!(Value::Object(error.data), data);
        }
    }

    #[test]
    fn every_row_of_the_table_has_its_number_and_name() {
        let rows = [
            (BridgeError::parse_error(""), -32700, "parse_error"),
            (BridgeError::line_too_long(1), -32700, "parse_error"),
            (BridgeError::invalid_message(""), -32600, "invalid_message"),
            (BridgeError::method_not_found(""), -32601, "method_not_found"),
            (BridgeError::invalid_params(""), -32602, "invalid_params"),
            (BridgeError::internal_error(""), -32603, "internal_error"),
            (BridgeError::agent(ErrorCode::ModelUnavailable, ""), -32001, "model_unavailable"),
            (BridgeError::agent(ErrorCode::GuardrailViolation, ""), -32002, "guardrail_violation"),
            (BridgeError::agent(ErrorCode::Refusal, ""), -32003, "refusal"),
            (BridgeError::agent(ErrorCode::ContextSizeExceeded, ""), -32004, "context_size_exceeded"),
            (BridgeError::agent(ErrorCode::RateLimited, ""), -32005, "rate_limited"),
            (BridgeError::agent(ErrorCode::UnsupportedLanguage, ""), -32006, "unsupported_language"),
            (BridgeError::agent(ErrorCode::InvalidSchema, ""), -32007, "invalid_schema"),
            (BridgeError::agent(ErrorCode::ToolFailed, ""), -32008, "tool_failed"),
            (BridgeError::cancelled(""), -32009, "cancelled"),
            (BridgeError::agent(ErrorCode::Busy, ""), -32010, "busy"),
            (BridgeError::agent(ErrorCode::InvalidRequest, ""), -32011, "invalid_request"),
            (BridgeError::agent(ErrorCode::GenerationFailed, ""), -32012, "generation_failed"),
            (BridgeError::storage_failed(&full_disk()), -32015, "storage_failed"),
            (BridgeError::not_yet_stored(&full_disk()), -32015, "storage_failed"),
            (BridgeError::change_lost(&full_disk()), -32015, "storage_failed"),
            (BridgeError::session_not_found(""), -32020, "session_not_found"),
            (BridgeError::session_exists(""), -32021, "session_exists"),
            (BridgeError::session_limit(1), -32022, "session_limit"),
            (BridgeError::shut_down(), -32023, "shut_down"),
            (BridgeError::timeout(), -32024, "timeout"),
            (BridgeError::npc_not_found(""), -32050, "npc_not_found"),
            (BridgeError::npc_exists(""), -32051, "npc_exists"),
            (BridgeError::world_not_found(""), -32052, "world_not_found"),
            (BridgeError::world_exists(""), -32053, "world_exists"),
            (BridgeError::world_error("", "", ""), -32054, "world_error"),
            (BridgeError::limit_reached(1, ""), -32055, "limit_reached"),
            (BridgeError::subscription_not_found(""), -32056, "subscription_not_found"),
        ];
        for (error, code, name) in rows {
            assert_eq!((error.code, &*error.name), (code, name));
        }
    }

    #[test]
    fn a_schema_error_names_the_parameter_and_the_place_in_the_schema() {
        let schema = SchemaError { path: "#/properties/x".to_owned(), message: "bad type".to_owned() };
        let error = BridgeError::invalid_schema("tools[0].parameters", &schema);
        assert_eq!(error.message, "tools[0].parameters: bad type (at #/properties/x)");
        assert_eq!(
            Value::Object(error.data),
            json!({"path": "tools[0].parameters", "schemaPath": "#/properties/x"})
        );
    }

    #[test]
    fn a_rate_limit_tells_when_to_come_back() {
        let mut limit = ModelError::new(ErrorCode::RateLimited, "Later.");
        assert!(BridgeError::from(limit.clone()).data.is_empty());
        limit.retry_at = Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_500));
        let error = BridgeError::from(AgentError::from(limit));
        assert_eq!(
            Value::Object(error.data),
            json!({"retryAfter": "1970-01-01T00:00:01Z", "retryAfterSeconds": 0})
        );
    }
}
