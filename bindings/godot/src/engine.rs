//! The classes that Godot sees.
//!
//! [`bridge::OamBridge`] owns the client and pumps it once a frame; everything else asks through it. No Rust borrow is
//! held while a signal is emitted or a handler runs, so a script may do anything there: ask again, answer, free nodes.

// The macros give the classes public accessors, and a class is no part of this crate's API.
#![allow(unreachable_pub)]
// The engine hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod bridge;
mod entry;
mod error;
mod json;
mod life;
mod link;
mod model;
mod npc;
mod paths;
mod request;
mod session;
mod tool;
mod tool_call;
mod tool_handlers;
mod world;
