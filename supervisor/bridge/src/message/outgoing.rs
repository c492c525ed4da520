//! The messages that go to the client, written straight into the bytes that leave.
//!
//! Results and parameters are serialised once, by whoever makes them, into a [`Payload`]. What all events of
//! a turn have in common is serialised once a turn, into an [`EventContext`].

use std::{borrow::Cow, fmt};

use oam_agent::json_text;
use serde::Serialize;
use serde_json::Value;

use super::{error::BridgeError, id::RequestId};

/// A JSON value as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Cow<'static, str>);

impl Payload {
    /// The text of `value`.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        Self(Cow::Owned(json_text::compact(value)))
    }

    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Cow::Borrowed("{}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, read back.
    pub fn to_value(&self) -> Value {
        // Only the nesting can be refused: a value deeper than anything that comes in or is made here.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first members of an object, already serialised: `"session":"guard","requestId":3`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members(String);

impl Members {
    /// No members.
    pub fn new() -> Self {
        Self::default()
    }

    /// These members, and one more. The name must be a new one.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Self {
        let mut text = self.0.into_bytes();
        if !text.is_empty() {
            text.push(b',');
        }
        write_member(&mut text, name, value);
        Self(into_text(text))
    }

    /// The object of these members and one more.
    pub fn payload_with<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Payload {
        let mut text = Vec::with_capacity(self.0.len() + 128);
        text.push(b'{');
        if !self.0.is_empty() {
            text.extend_from_slice(self.0.as_bytes());
            text.push(b',');
        }
        write_member(&mut text, name, value);
        text.push(b'}');
        Payload(Cow::Owned(into_text(text)))
    }

    /// The members as a log shows them: `session "guard", requestId 3`.
    pub fn for_log(&self) -> String {
        let members = self.payload().to_value();
        let members = members.as_object().into_iter().flatten();
        members.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    /// The object of just these members.
    pub fn payload(&self) -> Payload {
        Payload(Cow::Owned(format!("{{{}}}", self.0)))
    }
}

fn write_member<T: Serialize + ?Sized>(out: &mut Vec<u8>, name: &str, value: &T) {
    json_text::write(out, name);
    out.push(b':');
    json_text::write(out, value);
}

/// What the events of one turn have in common: the notification's method, and the members of its `params`
/// that stand before `event`.
#[derive(Debug, PartialEq, Eq)]
pub struct EventContext {
    method: Cow<'static, str>,
    members: Members,
}

impl EventContext {
    /// The context of a turn: `("session/event", "session":…,"requestId":…)`.
    pub fn new(method: impl Into<Cow<'static, str>>, members: Members) -> Self {
        Self { method: method.into(), members }
    }

    /// The notification's method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The members of `params` before `event`.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Appends the notification whose `event` is what `write_event` writes. No line end.
    pub(crate) fn write_notification(&self, out: &mut Vec<u8>, write_event: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
        json_text::write(out, &*self.method);
        out.extend_from_slice(br#","params":{"#);
        if !self.members.0.is_empty() {
            out.extend_from_slice(self.members.0.as_bytes());
            out.push(b',');
        }
        out.extend_from_slice(br#""event":"#);
        write_event(out);
        out.extend_from_slice(b"}}");
    }
}

/// A message to the client.
#[derive(Debug, Clone, Copy)]
pub enum Outgoing<'a> {
    /// The answer to a request that succeeded.
    Result {
        /// The request's id; `null` when code in this process called without one.
        id: Option<&'a RequestId>,
        /// What it returned.
        result: &'a Payload,
    },
    /// The answer to a request that failed, or to a line that was none.
    Error {
        /// The request's id; `null` when the line had none that could be echoed.
        id: Option<&'a RequestId>,
        /// Why.
        error: &'a BridgeError,
    },
    /// Something that happened.
    Notification {
        /// What.
        method: &'a str,
        /// An object.
        params: &'a Payload,
    },
    /// Something that happened in a turn.
    Event {
        /// The turn.
        context: &'a EventContext,
        /// The event, an object with a `type`.
        event: &'a Payload,
    },
    /// A request that the client has to answer.
    Request {
        /// `t-1`, `t-2`, …
        id: &'a str,
        /// What the client is to do.
        method: &'a str,
        /// An object.
        params: &'a Payload,
    },
}

impl Outgoing<'_> {
    /// Appends the message's text, one line without its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        const START: &[u8] = br#"{"jsonrpc":"2.0","#;
        match self {
            Self::Result { id, result } => {
                out.extend_from_slice(START);
                out.extend_from_slice(br#""id":"#);
                json_text::write(out, id);
                out.extend_from_slice(br#","result":"#);
                out.extend_from_slice(result.0.as_bytes());
            }
            Self::Error { id, error } => {
                out.extend_from_slice(START);
                out.extend_from_slice(br#""id":"#);
                json_text::write(out, id);
                out.extend_from_slice(br#","error":"#);
                json_text::write(out, error);
            }
            Self::Notification { method, params } => {
                out.extend_from_slice(START);
                write_call(out, method, params);
            }
            Self::Event { context, event } => {
                return context.write_notification(out, |out| out.extend_from_slice(event.0.as_bytes()));
            }
            Self::Request { id, method, params } => {
                out.extend_from_slice(START);
                out.extend_from_slice(br#""id":"#);
                json_text::write(out, id);
                out.push(b',');
                write_call(out, method, params);
            }
        }
        out.push(b'}');
    }

    /// The message as text, for hosts that take one message at a time.
    pub fn to_text(&self) -> String {
        let mut text = Vec::with_capacity(128);
        self.write(&mut text);
        into_text(text)
    }
}

fn into_text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON text is UTF-8")
}

fn write_call(out: &mut Vec<u8>, method: &str, params: &Payload) {
    out.extend_from_slice(br#""method":"#);
    json_text::write(out, method);
    out.extend_from_slice(br#","params":"#);
    out.extend_from_slice(params.0.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_stand_in_the_order_of_the_protocol() {
        let id = RequestId::from(3);
        let context = EventContext::new(
            "session/event",
            Members::new().with("session", "gu\"ard").with("requestId", &id),
        );
        assert_eq!(context.members().for_log(), "session \"gu\\\"ard\", requestId 3");
        let empty = Payload::empty_object();
        let params = context.members().payload_with("call", &json!({"id": "c", "n": 1.0}));
        let event = Payload::of(&json!({"type": "partial"}));
        let error = BridgeError::shut_down();
        let cases = [
            (Outgoing::Result { id: Some(&id), result: &empty }, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#),
            (
                Outgoing::Error { id: Some(&id), error: &error },
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32023,"message":"The bridge has shut down.","data":{"code":"shut_down"}}}"#,
            ),
            (
                Outgoing::Error { id: None, error: &error },
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32023,"message":"The bridge has shut down.","data":{"code":"shut_down"}}}"#,
            ),
            (
                Outgoing::Notification { method: "tool/cancel", params: &empty },
                r#"{"jsonrpc":"2.0","method":"tool/cancel","params":{}}"#,
            ),
            (
                Outgoing::Event { context: &context, event: &event },
                r#"{"jsonrpc":"2.0","method":"session/event","params":{"session":"gu\"ard","requestId":3,"event":{"type":"partial"}}}"#,
            ),
            (
                Outgoing::Request { id: "t-1", method: "tool/call", params: &params },
                r#"{"jsonrpc":"2.0","id":"t-1","method":"tool/call","params":{"session":"gu\"ard","requestId":3,"call":{"id":"c","n":1}}}"#,
            ),
        ];
        for (message, text) in cases {
            assert_eq!(message.to_text(), text);
        }
    }

    #[test]
    fn an_object_may_have_one_member_or_none() {
        assert_eq!(Members::new().payload_with("a", &1).as_str(), r#"{"a":1}"#);
        assert_eq!(Members::new().payload().as_str(), "{}");
        assert_eq!(Members::new().with("a", "x").payload().to_value(), json!({"a": "x"}));
        assert_eq!(Payload::empty_object().to_value(), json!({}));
    }
}
