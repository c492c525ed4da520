//! What a host decides about a pool.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, time::Duration};

/// A pool's program, sizes and deadlines. The defaults suit a model on this device.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// What to run.
    pub command: WorkerCommand,
    /// How many workers serve steps.
    pub workers: usize,
    /// Whether one more worker stands ready to take over from one that dies.
    pub spare: bool,
    /// When answers are streamed.
    pub streaming: StreamingPolicy,
    /// How long a new worker has to get ready.
    pub ready_timeout: Duration,
    /// How long a step may go without any sign of progress before its worker counts as hung.
    pub step_timeout: Duration,
    /// How long a cancelled step may go on before its worker counts as hung.
    pub cancel_timeout: Duration,
    /// How often a worker is asked for a sign of life, and how long it has to give one.
    pub ping_interval: Duration,
    /// See [`ping_interval`](Self::ping_interval).
    pub ping_timeout: Duration,
    /// A step that has crashed this many workers on its own fails for good.
    pub max_step_crashes: u32,
    /// A worker is replaced, between steps, after this many.
    pub recycle_after_steps: Option<u64>,
    /// A worker is replaced, between steps, when it holds more memory than this, in bytes. Where the system tells.
    pub recycle_above_bytes: Option<u64>,
    /// How many steps may wait for a worker.
    pub max_waiting_steps: usize,
    /// How long each stage of stopping a worker lasts: asked, then SIGTERM, then SIGKILL.
    pub stop_grace: Duration,
}

impl PoolConfig {
    /// The defaults for a program.
    pub fn new(command: WorkerCommand) -> Self {
        Self {
            command,
            workers: 1,
            spare: true,
            streaming: StreamingPolicy::Auto,
            ready_timeout: Duration::from_secs(10),
            step_timeout: Duration::from_mins(2),
            cancel_timeout: Duration::from_secs(5),
            ping_interval: Duration::from_secs(2),
            ping_timeout: Duration::from_secs(5),
            max_step_crashes: 3,
            recycle_after_steps: None,
            recycle_above_bytes: Some(1 << 30),
            max_waiting_steps: 4096,
            stop_grace: Duration::from_secs(1),
        }
    }

    /// How many steps play at once, if each worker plays as many as `each`.
    pub(crate) fn parallel_steps(&self, each: usize) -> NonZeroUsize {
        NonZeroUsize::new(self.workers.saturating_mul(each)).unwrap_or(NonZeroUsize::MIN)
    }

    /// How many workers are kept running.
    pub(crate) fn wanted_workers(&self) -> usize {
        self.workers.max(1) + usize::from(self.spare)
    }
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program's path, or a name to look for in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// When answers are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamingPolicy {
    /// When asked for, except for a while after a worker died streaming.
    #[default]
    Auto,
    /// Whenever asked for.
    Always,
    /// Never: every answer arrives as a whole.
    Never,
}
