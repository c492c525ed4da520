//! Game characters and the world they act in, on top of the agents of [`oam_agent`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod world;
