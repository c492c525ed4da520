//! The service that programs share: how it is reached, started, managed, looked at and ended.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "what is not tested here is said")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod activation;
mod connect;
#[cfg(target_os = "linux")]
mod crashes;
mod giving_up;
mod home;
#[cfg(target_os = "linux")]
mod install;
mod looks;
