//! The worker as its supervisor sees it: a process, its connection, its end.
#![allow(clippy::unwrap_used)]

mod faults;
mod life;
mod process;
mod steps;
