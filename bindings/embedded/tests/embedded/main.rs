//! What a host can rely on.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod close;
mod host;
mod lines;
mod scenes;
mod slow_host;
#[path = "../../../testdata/scenes.rs"]
mod testdata;
mod workers;
