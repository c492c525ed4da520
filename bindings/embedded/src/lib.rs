//! The supervisor inside a host's process: what every binding is built on.
//!
//! An [`EmbeddedBridge`] speaks the protocol (docs/PROTOCOL.md) with the program that holds it: lines go in through
//! [`send`](EmbeddedBridge::send) and come out through a callback. It has threads of its own; workers stay processes of
//! their own.
//!
//! ```
//! use std::{sync::mpsc, time::Duration};
//! use oam_embedded::{EmbeddedBridge, EmbeddedOptions};
//!
//! let (lines, heard) = mpsc::channel();
//! let bridge = EmbeddedBridge::start(EmbeddedOptions::default(), move |line| {
//!     let _ = lines.send(line.to_owned());
//! })?;
//! bridge.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
//! assert_eq!(heard.recv()?, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//!
//! let answer = bridge.call(r#"{"method":"ping"}"#, Some(Duration::from_secs(5)));
//! assert_eq!(answer, r#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
//! bridge.close();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a host can rely on:
//!
//! * It installs no signal handlers, writes nothing to standard output, and to standard error only what
//!   `OAM_BRIDGE_LOG` asks for; it changes neither the environment nor the working directory, and its descriptors are
//!   close-on-exec and never 0, 1 or 2.
//! * Its threads take no signals that are meant for the host.
//! * In a process that is forked from the host the bridge is dead, and says so at once.
//! * When the host dies, by whatever signal, its workers end.
//!
//! Inside: the thread `oam-supervisor` runs turns, timers and workers ([`supervisor`]). The thread `oam-callbacks` hands
//! messages to the host ([`delivery`]), so a callback that takes long holds up nothing but further messages. Lines are
//! handled on the thread that sends them ([`intake`]).
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod blocking;
mod bridge;
mod delivery;
mod descriptors;
mod intake;
mod log;
mod options;
mod refusal;
mod signals;
mod supervisor;

pub use bridge::{EmbeddedBridge, SendError, StartError};
pub use options::EmbeddedOptions;

pub use oam_bridge::BridgeError;
pub use oam_workers::{StreamingPolicy, WorkerCommand};
