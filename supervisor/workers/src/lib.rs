//! Worker processes as a model: started, watched, replaced, and their steps played again (docs/OPERATIONS.md).
//!
//! [`WorkerPool`] is a [`Model`](oam_agent::Model). Behind it one actor owns the workers: it takes in what agents
//! ask and what workers say, lets the pure [`core`] decide, and does what the core wants done. Everything that
//! touches a process is in [`process`], everything that touches a socket in [`link`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod child;
mod config;
mod convert;
mod core;
mod exchange;
mod exit;
#[cfg(all(test, target_os = "linux"))]
mod gathering_tests;
mod link;
mod model;
mod pool;
mod process;
mod report;
mod spawn;
mod status;
mod worker_id;

pub use config::{PoolConfig, StreamingPolicy, WorkerCommand};
pub use exit::{Exit, ExitCause, KillReason};
pub use model::{Listening, WorkerPool};
pub use status::{
    BreakerState, Counters, ExitStatusReport, HangCause, KilledWorker, PoolEvent, PoolStatus, WorkerActivity,
    WorkerProgram, WorkerStatus,
};
pub use worker_id::WorkerId;
