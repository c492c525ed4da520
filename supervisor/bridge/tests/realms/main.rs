//! Realms that connections share, over a journal in memory.
#![allow(clippy::unwrap_used)]

mod durability;
mod property;
mod sharing;
mod support;
