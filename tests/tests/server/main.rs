//! `oam serve` through the real binary: how it starts, what clients get from it, and how it ends (docs/SERVER.md).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod answers;
mod crowds;
mod http;
mod limits;
mod run;
mod starts;
mod stops;
mod tools;
mod workers;
