//! What can be seen of a pool: its workers, counters and last exits, and events as they happen.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use crate::{exit::Exit, worker_id::WorkerId};

/// Something worth knowing that happened to a pool.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolEvent {
    /// A worker's process ended though nobody asked it to.
    WorkerDied {
        /// The worker.
        worker: WorkerId,
        /// How it ended.
        exit: Exit,
        /// How many steps it was working on.
        steps: usize,
    },
    /// A worker is killed because it hangs.
    WorkerHung {
        /// The worker.
        worker: WorkerId,
        /// How that showed.
        cause: HangCause,
    },
    /// A worker is killed because it does not keep to the protocol.
    WorkerViolated {
        /// The worker.
        worker: WorkerId,
        /// What it did.
        reason: String,
    },
    /// A worker is replaced in good order.
    WorkerRecycled {
        /// The worker.
        worker: WorkerId,
    },
    /// A step is played again because its worker died.
    StepReplayed {
        /// The worker.
        worker: WorkerId,
        /// How many workers it has crashed on its own so far.
        crashes: u32,
    },
    /// A step has crashed too many workers and fails for good.
    StepQuarantined {
        /// The last of them.
        worker: WorkerId,
        /// How many.
        crashes: u32,
    },
    /// Too many deaths, or one of a probe: steps fail at once for a while. Told each time that the while gets longer.
    BreakerOpened {
        /// When a probe starts.
        retry_after: Duration,
    },
    /// A step finished; all is well again.
    BreakerClosed,
}

/// How a hang showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangCause {
    /// It did not get ready in time.
    NotReady,
    /// No answer to a ping in time.
    NoPong,
    /// A step made no progress in time.
    NoProgress,
    /// A cancelled step went on.
    IgnoredCancel,
    /// It did not exit in time after breaking its connection.
    Lingered,
}

impl HangCause {
    /// The name on the wire and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "not ready in time",
            Self::NoPong => "no pong",
            Self::NoProgress => "no progress",
            Self::IgnoredCancel => "cancel ignored",
            Self::Lingered => "did not exit",
        }
    }
}

/// Counts since the pool was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Steps that ended, well or with an error of the model.
    pub steps: u64,
    /// Workers that died unasked, by signal or exit code.
    pub crashes: BTreeMap<String, u64>,
    /// Workers that hung.
    pub hangs: u64,
    /// Workers that broke the protocol.
    pub violations: u64,
    /// Steps played again.
    pub replays: u64,
    /// Steps that failed for good because they crashed too many workers.
    pub quarantined: u64,
    /// Workers replaced in good order.
    pub recycled: u64,
    /// Workers started.
    pub started: u64,
}

/// A look at a pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// The workers, oldest first.
    pub workers: Vec<WorkerStatus>,
    /// Steps that wait for a worker.
    pub waiting_steps: usize,
    /// Whether steps are let through.
    pub breaker: BreakerState,
    /// Whether a step that asks for streaming gets it now.
    pub streaming_trusted: bool,
    /// Counts since the start.
    pub counters: Counters,
    /// How the last workers ended, the latest last; a few are kept.
    pub last_exits: Vec<ExitStatusReport>,
}

/// A look at a worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// The worker.
    pub worker: String,
    /// Its process id, once it runs.
    pub pid: Option<u32>,
    /// What program it says it is, once it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<WorkerProgram>,
    /// What it does.
    pub state: WorkerActivity,
    /// How long it has run, in seconds.
    pub uptime_seconds: f64,
    /// Steps it has ended.
    pub steps: u64,
}

/// Whether a pool lets steps through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakerState {
    /// Yes.
    Closed,
    /// No: too many workers died.
    Open,
    /// One at a time, to try a worker out.
    HalfOpen,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerActivity {
    /// Its process is starting.
    Starting,
    /// It waits for steps.
    Ready,
    /// It plays steps.
    Busy,
    /// It was asked to exit, or killed.
    Ending,
}

impl WorkerActivity {
    /// All there are, in the order of a worker's life.
    pub const ALL: [Self; 4] = [Self::Starting, Self::Ready, Self::Busy, Self::Ending];

    /// The name on the wire and in numbers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Ending => "ending",
        }
    }
}

/// A worker that was killed on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KilledWorker {
    /// The worker.
    pub worker: WorkerId,
    /// Its process id.
    pub pid: u32,
}

/// What a worker says it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerProgram {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How a worker ended, for reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitStatusReport {
    /// The worker.
    pub worker: String,
    /// In words.
    pub exit: String,
    /// The signal, if one killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The exit code, if it returned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The last lines it wrote to standard error.
    pub stderr: Vec<String>,
}
