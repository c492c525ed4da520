//! The bridge protocol: JSON-RPC 2.0, one message a line, between a game engine and its agents (docs/PROTOCOL.md).
//!
//! [`Bridge`] is the engine: messages go in through [`Bridge::receive`] and come out through a callback or a
//! transport. The built-in methods serve agent sessions and games; a [`MethodSet`] adds more. Models come from the
//! [`ModelFactory`] in the [`BridgeConfig`].
//!
//! A host that wants lines makes a bridge with [`Bridge::new`]; one that serves streams uses [`Bridge::connect`] and
//! [`transport::serve`], or [`transport::stdio`] as the program `oam` does (cli/src/commands/stdio.rs). Both need
//! a tokio runtime with everything enabled. A method set and a call from within:
//!
//! ```
//! use std::sync::Arc;
//! use oam_bridge::{Bridge, BridgeConfig, MethodRegistry, MethodSet, Reply};
//! use serde_json::json;
//!
//! struct Dice;
//!
//! impl MethodSet for Dice {
//!     fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
//!         registry.register("dice/roll", |request| {
//!             let sides = request.params.optional_integer_in("sides", 1, 1000)?.unwrap_or(6);
//!             Reply::now(&json!({"sides": sides, "rolled": 1 + sides / 2}))
//!         });
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let config = BridgeConfig { method_sets: vec![Arc::new(Dice)], ..BridgeConfig::default() };
//! let bridge = Bridge::new(config, |line| println!("{line}"));
//! let result = bridge.call("dice/roll", json!({"sides": 20}), None).await?;
//! assert_eq!(result, json!({"sides": 20, "rolled": 11}));
//! # Ok::<(), oam_bridge::BridgeError>(())
//! # }).unwrap();
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod at_end;
mod bridge;
mod client_calls;
mod client_id;
mod coding;
mod config;
pub mod journal;
mod merge_patch;
pub mod message;
mod methods;
mod npc;
mod objects;
pub mod outbox;
pub mod params;
mod queue;
mod realm;
mod registry;
mod responder;
mod session;
pub mod timestamp;
pub mod transport;
mod turn_host;
mod worlds;

pub use bridge::{Bridge, Canceller, Notifier};
pub use client_id::{ClientId, current_client};
pub use config::{BridgeConfig, ModelFactory, ModelUse, NoSystemModel};
pub use journal::{Journal, ObjectKind, ObjectName, StorageFailure};
pub use message::{BridgeError, Payload, RequestId};
pub use params::Params;
pub use queue::{Operation, OperationQueue};
pub use realm::{
    InvalidRealmName, LoadError, OpenedRealm, Realm, RealmDirectory, RealmLoader, RealmName, RealmOverview,
    UnreadableRecord,
};
pub use registry::{MethodRegistry, MethodSet, Reply, Request};
pub use turn_host::ClientTurn;
