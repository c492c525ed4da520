//! The bridge.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod message;
pub mod outbox;
pub mod params;
pub mod timestamp;
pub mod transport;
