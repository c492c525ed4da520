//! The library as C programs see it: what they link, what it does in their process, and what it leaves behind.
//!
//! Tests that need more than a C compiler are ignored unless asked for; `bindings/c/test` installs what they need and
//! runs all.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build;
mod example;
mod header;
mod install;
mod leaks;
mod manners;
mod readme;
mod threads;
