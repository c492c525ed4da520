//! Telling what a line is: a request, a notification, or the reply to a request of ours (docs/PROTOCOL.md,
//! Framing).
//!
//! A line is read in one pass, unless its id is a number that is not written as an integer. Only `params` and what a
//! reply carries become JSON values; unknown members are checked as strictly as everything else and dropped.

use std::{fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    error::BridgeError,
    id::RequestId,
    stand_in::{NotFinite, StandIn, finite},
    strict_json,
};

/// The parameters of a request, unless they hold a number beyond the range of doubles.
pub type ReceivedParams = Result<Option<Value>, NotFinite>;

/// A message from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// Wants an answer.
    Request {
        /// Comes back with the answer.
        id: RequestId,
        /// Not empty.
        method: String,
        /// `None` when absent or `null`.
        params: ReceivedParams,
    },
    /// Wants none.
    Notification {
        /// Not empty.
        method: String,
        /// `None` when absent or `null`.
        params: ReceivedParams,
    },
    /// Answers a request of ours.
    Reply {
        /// The id of that request.
        id: RequestId,
        /// What the client says.
        reply: ClientReply,
    },
}

/// What a client says to a request of ours.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientReply {
    /// The `result` member.
    Result(Value),
    /// That holds a number beyond the range of doubles.
    NotFinite(NotFinite),
    /// An `error` member was there, whatever its value.
    Error {
        /// Its `message`, if that is text.
        message: Option<String>,
    },
}

/// A line that is no message: the error to answer with, and the id to put on the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// `None` is written as `null`.
    pub id: Option<RequestId>,
    /// Why.
    pub error: BridgeError,
    /// The method and the parameters of what would be a request otherwise.
    pub request: Option<(String, ReceivedParams)>,
}

impl Rejected {
    /// A line of which nothing else is known.
    pub fn new(id: Option<RequestId>, error: BridgeError) -> Self {
        Self { id, error, request: None }
    }
}

/// A request of code in this process.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// What events and client calls are to name, and the response; code that waits needs none.
    pub id: Option<RequestId>,
    /// Not empty.
    pub method: String,
    /// `None` when absent or `null`.
    pub params: ReceivedParams,
}

/// Reads one line, with or without its end. `Ok(None)` is a blank line.
pub fn parse_line(line: &[u8]) -> Result<Option<Incoming>, Rejected> {
    read_envelope(line)?.map(Envelope::classify).transpose()
}

/// Reads a request whose answer goes to whoever called. Its `jsonrpc` may be anything, and an `id` is not needed.
pub fn parse_call(text: &[u8]) -> Result<CallRequest, Rejected> {
    match read_envelope(text)? {
        Some(envelope) => envelope.into_call(),
        None => Err(Rejected::new(None, BridgeError::parse_error("The request is blank."))),
    }
}

/// The members of the object in a line; `None` when the line is blank.
fn read_envelope(line: &[u8]) -> Result<Option<Envelope>, Rejected> {
    // Filled in place: moving it out of the parser would cost as much as parsing a small message.
    let mut envelope = Envelope::default();
    let kind = strict_json::read(line, |deserializer, stand_in| {
        envelope = Envelope { stand_in, ..Envelope::default() };
        deserializer.deserialize_any(DocumentVisitor(&mut envelope))
    });
    match kind {
        Ok(None) => Ok(None),
        Ok(Some(Kind::Object)) => {
            if matches!(envelope.id, IdMember::Double) {
                envelope.id = id_as_written(line);
            }
            Ok(Some(envelope))
        }
        Ok(Some(Kind::Array)) => {
            Err(rejected(None, "Batch requests are not supported; send one message per line."))
        }
        Ok(Some(Kind::Scalar)) => Err(rejected(None, "A JSON-RPC message must be an object.")),
        Err(message) => Err(Rejected::new(None, BridgeError::parse_error(message))),
    }
}

/// The id in a line that has been read, from its text.
fn id_as_written(line: &[u8]) -> IdMember {
    let written = strict_json::read(line, |deserializer, _| deserializer.deserialize_map(IdTextVisitor));
    let id = written.ok().flatten().and_then(|text| RequestId::literal(&text));
    id.map_or(IdMember::Inexact, IdMember::Usable)
}

/// Reads the text of the last `id`.
struct IdTextVisitor;

impl<'de> Visitor<'de> for IdTextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message with an id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<String, A::Error> {
        let mut text = String::new();
        while let Some(name) = members.next_key()? {
            if let MemberName::Id = name {
                members.next_value::<&RawValue>()?.get().clone_into(&mut text);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

fn rejected(id: Option<RequestId>, message: &str) -> Rejected {
    Rejected::new(id, BridgeError::invalid_message(message))
}

const UNUSABLE_METHOD: &str = "'method' must be a non-empty string.";

/// What kind of JSON value a line holds.
enum Kind {
    Object,
    Array,
    Scalar,
}

/// The members of a message that mean something, as they were found.
#[derive(Default)]
struct Envelope {
    version: Version,
    id: IdMember,
    method: MethodMember,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
    /// Found where numbers were beyond the range of doubles.
    stand_in: Option<StandIn>,
}

impl Envelope {
    fn params(stand_in: Option<StandIn>, params: Option<Value>) -> ReceivedParams {
        params.filter(|params| !params.is_null()).map(|params| finite(stand_in, params)).transpose()
    }

    fn into_call(self) -> Result<CallRequest, Rejected> {
        let (id, id_problem) = self.id.usable();
        if let Some(problem) = id_problem {
            return Err(rejected(None, problem));
        }
        match self.method {
            MethodMember::Name(method) => {
                Ok(CallRequest { id, method, params: Self::params(self.stand_in, self.params) })
            }
            MethodMember::Unusable => Err(rejected(id, UNUSABLE_METHOD)),
            MethodMember::Absent => Err(rejected(id, "A request needs a 'method'.")),
        }
    }

    fn classify(self) -> Result<Incoming, Rejected> {
        let (id, id_problem) = self.id.usable();
        let params = Self::params(self.stand_in, self.params);
        let problem = match self.version {
            Version::Unsupported => Some("'jsonrpc' must be \"2.0\"."),
            Version::Supported => id_problem,
        };
        if let Some(problem) = problem {
            let request = self.method.name().map(|method| (method, params));
            return Err(Rejected { request, ..rejected(id, problem) });
        }
        match (self.method, id) {
            (MethodMember::Unusable, id) => Err(rejected(id, UNUSABLE_METHOD)),
            (MethodMember::Name(method), Some(id)) => Ok(Incoming::Request { id, method, params }),
            (MethodMember::Name(method), None) => Ok(Incoming::Notification { method, params }),
            (MethodMember::Absent, id) => match (id, self.error, self.result) {
                (Some(id), Some(error), _) => {
                    let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
                    Ok(Incoming::Reply { id, reply: ClientReply::Error { message } })
                }
                (Some(id), None, Some(result)) => {
                    let result = finite(self.stand_in, result);
                    Ok(Incoming::Reply {
                        id,
                        reply: result.map_or_else(ClientReply::NotFinite, ClientReply::Result),
                    })
                }
                (id, ..) => {
                    Err(rejected(id, "A message needs a 'method', or an 'id' with a 'result' or an 'error'."))
                }
            },
        }
    }
}

/// Reads the members of an object into an envelope.
struct DocumentVisitor<'a>(&'a mut Envelope);

impl<'de> Visitor<'de> for DocumentVisitor<'_> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Kind, A::Error> {
        let Self(envelope) = self;
        // An assignment replaces what an earlier member of the same name said: the last one wins.
        while let Some(name) = members.next_key()? {
            match name {
                MemberName::Version => envelope.version = members.next_value::<Member<_>>()?.0,
                MemberName::Id => envelope.id = members.next_value::<Member<_>>()?.0,
                MemberName::Method => envelope.method = members.next_value::<Member<_>>()?.0,
                MemberName::Params => envelope.params = Some(members.next_value()?),
                MemberName::Result => envelope.result = Some(members.next_value()?),
                MemberName::Error => envelope.error = Some(members.next_value()?),
                MemberName::Other => {
                    members.next_value::<Member<Skipped>>()?;
                }
            }
        }
        Ok(Kind::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Kind, A::Error> {
        while elements.next_element::<Member<Skipped>>()?.is_some() {}
        Ok(Kind::Array)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar)
    }
}

enum MemberName {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for MemberName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = MemberName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<MemberName, E> {
                Ok(match name {
                    "jsonrpc" => MemberName::Version,
                    "id" => MemberName::Id,
                    "method" => MemberName::Method,
                    "params" => MemberName::Params,
                    "result" => MemberName::Result,
                    "error" => MemberName::Error,
                    _ => MemberName::Other,
                })
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// What a member's value means when only text and numbers can mean something.
trait Meaning: Sized {
    fn of_text(text: &str) -> Self;
    fn of_number(value: f64) -> Self;
    fn of_anything_else() -> Self;

    /// Of a number that is not written as an integer.
    fn of_double(value: f64) -> Self {
        Self::of_number(value)
    }
}

/// A member's value read for its meaning. Nothing of it is kept that has none, and all of it is checked.
struct Member<T>(T);

impl<'de, T: Meaning> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor<T>(PhantomData<T>);

        impl<'de, T: Meaning> Visitor<'de> for MemberVisitor<T> {
            type Value = Member<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Member<T>, E> {
                Ok(Member(T::of_text(text)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Member<T>, E> {
                Ok(Member(T::of_double(value)))
            }

            #[expect(clippy::cast_precision_loss, reason = "numbers of the protocol are doubles")]
            fn visit_i64<E: Error>(self, value: i64) -> Result<Member<T>, E> {
                Ok(Member(T::of_number(value as f64)))
            }

            #[expect(clippy::cast_precision_loss, reason = "numbers of the protocol are doubles")]
            fn visit_u64<E: Error>(self, value: u64) -> Result<Member<T>, E> {
                Ok(Member(T::of_number(value as f64)))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Member<T>, E> {
                Ok(Member(T::of_anything_else()))
            }

            fn visit_unit<E: Error>(self) -> Result<Member<T>, E> {
                Ok(Member(T::of_anything_else()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Member<T>, A::Error> {
                while members.next_entry::<Member<Skipped>, Member<Skipped>>()?.is_some() {}
                Ok(Member(T::of_anything_else()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Member<T>, A::Error> {
                while elements.next_element::<Member<Skipped>>()?.is_some() {}
                Ok(Member(T::of_anything_else()))
            }
        }

        deserializer.deserialize_any(MemberVisitor(PhantomData))
    }
}

struct Skipped;

impl Meaning for Skipped {
    fn of_text(_: &str) -> Self {
        Self
    }

    fn of_number(_: f64) -> Self {
        Self
    }

    fn of_anything_else() -> Self {
        Self
    }
}

#[derive(Default)]
enum Version {
    Supported,
    #[default]
    Unsupported,
}

impl Meaning for Version {
    fn of_text(text: &str) -> Self {
        if text == "2.0" { Self::Supported } else { Self::Unsupported }
    }

    fn of_number(_: f64) -> Self {
        Self::Unsupported
    }

    fn of_anything_else() -> Self {
        Self::Unsupported
    }
}

#[derive(Default)]
enum IdMember {
    #[default]
    Absent,
    Usable(RequestId),
    /// A number that is not written as an integer: only its text tells whether a double is the same.
    Double,
    Inexact,
    WrongType,
}

impl IdMember {
    /// The id, and what is wrong with one that cannot be used.
    fn usable(self) -> (Option<RequestId>, Option<&'static str>) {
        match self {
            Self::Absent => (None, None),
            Self::Usable(id) => (Some(id), None),
            Self::Double | Self::Inexact => (
                None,
                Some(
                    "A numeric 'id' must be an integer of at most 2^53-1 in magnitude; use a string id instead.",
                ),
            ),
            Self::WrongType => (None, Some("'id' must be a string or a number.")),
        }
    }
}

impl Meaning for IdMember {
    fn of_text(text: &str) -> Self {
        Self::Usable(RequestId::Text(Arc::from(text)))
    }

    fn of_number(value: f64) -> Self {
        RequestId::number(value).map_or(Self::Inexact, Self::Usable)
    }

    fn of_double(_: f64) -> Self {
        Self::Double
    }

    fn of_anything_else() -> Self {
        Self::WrongType
    }
}

#[derive(Default)]
enum MethodMember {
    #[default]
    Absent,
    Name(String),
    Unusable,
}

impl MethodMember {
    fn name(self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name),
            Self::Absent | Self::Unusable => None,
        }
    }
}

impl Meaning for MethodMember {
    fn of_text(text: &str) -> Self {
        if text.is_empty() { Self::Unusable } else { Self::Name(text.to_owned()) }
    }

    fn of_number(_: f64) -> Self {
        Self::Unusable
    }

    fn of_anything_else() -> Self {
        Self::Unusable
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
