//! A client for tests: it starts the real `oam stdio`, talks to it, and holds it to the protocol.
//!
//! [`Oam`] is one running program. Everything it says passes a [`Monitor`], which knows the rules that hold for
//! every exchange (one answer a request, nothing about a request after its answer, deltas that add up), so each
//! test checks them too, whatever it is about. Waiting is always for a message or for the end of the process,
//! within [`DEADLINE`]; nothing sleeps and nothing is timed.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod binary;
mod client;
mod message;
mod monitor;
pub mod npc;
pub mod pool;
pub mod procfs;
pub mod script;
pub mod terminal;

use std::time::Duration;

pub use binary::{clean_command, oam_binary, oam_command, oam_command_without_terminal};
pub use client::{Builder, Oam, Reply, Watchdog};
pub use message::{Id, Message, Outcome, RpcError, ToolCall};
pub use monitor::Monitor;
pub use terminal::Terminal;

/// How long anything that must happen may take. Generous: on a loaded machine it is reached only by a hang.
pub const DEADLINE: Duration = Duration::from_mins(1);
