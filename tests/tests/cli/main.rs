//! The commands that people and scripts use directly (docs/CLI.md), through the real binary: what goes in, what comes
//! out on which stream, and what the process ends with.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod available;
mod chat;
mod command_tools;
mod demo;
mod failures;
mod help;
mod respond;
mod run;
mod schema;
mod signals;
mod status;
mod terminal_chat;
mod terminal_demo;
mod tools_files;
