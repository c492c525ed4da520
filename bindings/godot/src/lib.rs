//! The extension for Godot 4: nodes that talk, call the game's tools and share a world.
//!
//! [`client`] speaks the protocol and knows nothing of Godot. The classes that the engine sees are thin: they turn
//! inspector properties into params, deliveries into signals, and Variants into JSON.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod client;
mod engine;
