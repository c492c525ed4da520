//! The bridge protocol: JSON-RPC 2.0, one message a line, between a game engine and its agents (docs/PROTOCOL.md).
//!
//! [`Bridge`] is the engine: messages go in through [`Bridge::receive`] and come out through a callback or a
//! transport. The built-in methods serve agent sessions; a [`MethodSet`] adds more. Models come from the
//! [`ModelFactory`] in the [`BridgeConfig`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bridge;
mod client_calls;
mod coding;
mod config;
pub mod message;
mod methods;
pub mod outbox;
pub mod params;
mod queue;
mod registry;
mod responder;
mod session;
pub mod timestamp;
pub mod transport;
mod turn_host;

pub use bridge::Bridge;
pub use config::{BridgeConfig, ModelFactory, NoSystemModel};
pub use message::{BridgeError, Payload, RequestId};
pub use params::Params;
pub use queue::{Operation, OperationQueue};
pub use registry::{MethodRegistry, MethodSet, Reply, Request};
pub use turn_host::ClientTurn;
