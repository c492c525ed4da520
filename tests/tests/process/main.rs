//! The program as a process: how it starts, what it costs, and how it always ends.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod command_line;
mod life;
mod slow_reader;
