//! Supervision with real processes: `oam stdio` in front of workers that crash, hang and misbehave
//! (docs/OPERATIONS.md). One module a kind of trouble.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod cancellation;
mod counting;
mod crashes;
mod ends;
mod growth;
mod hangs;
mod long_answers;
mod misbehaviour;
mod npcs;
mod quarantine;
mod starts;
mod status;
mod storms;
mod streaming;
