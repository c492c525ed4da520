//! The client without an engine, over a supervisor in this process.
#![allow(clippy::unwrap_used)]

mod behaviour;
mod demo;
mod game;
mod scenes;
#[path = "../../../testdata/scenes.rs"]
mod testdata;
