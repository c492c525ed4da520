//! The messages of the protocol: how a line becomes one, and how one becomes a line.
//!
//! [`parse_line`] reads what a client sends, [`parse_call`] what code in this process asks. [`Outgoing`] is what it gets
//! back, with [`Payload`] for results and parameters and [`BridgeError`] for everything that fails. Both directions share
//! [`RequestId`].

mod envelope;
mod error;
mod id;
mod outgoing;
mod stand_in;
mod strict_json;

pub use envelope::{CallRequest, ClientReply, Incoming, ReceivedParams, Rejected, parse_call, parse_line};
pub use error::BridgeError;
pub use id::{MAX_EXACT_INTEGER, NumberLiteral, NumericId, RequestId};
pub use outgoing::{EventContext, Members, Outgoing, Payload};
pub use stand_in::NotFinite;
