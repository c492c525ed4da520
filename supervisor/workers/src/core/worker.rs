//! The life of a worker, from its start to the moment its process is reaped.
//!
//! ```text
//!  Starting ──ready──► Serving ──recycle, stop──► Leaving ──┐
//!     │                   │                          │       ▼
//!     └──── killed ───────┴────────► Killed ◄────────┘    (exited)
//! ```
//! Whatever the state, an exit ends it.

use std::{collections::BTreeSet, time::Instant};

use oam_ipc::StepId;

use crate::{exit::KillReason, status::WorkerActivity};

/// A worker of the pool.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) state: WorkerState,
    pub(crate) started: Instant,
    /// It has said `ready`.
    pub(crate) was_ready: bool,
    /// Steps it has ended.
    pub(crate) finished_steps: u64,
}

/// Where a worker stands.
#[derive(Debug)]
pub(crate) enum WorkerState {
    /// The process runs, `ready` is awaited.
    Starting { until: Instant },
    /// It takes steps.
    Serving(Serving),
    /// It has been asked to exit; how that goes on is [`Leave`].
    Leaving { stage: Leave, until: Instant },
    /// SIGKILL is on its way; only the exit is awaited.
    Killed { why: KillReason },
}

/// A worker that takes steps.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) abilities: Abilities,
    pub(crate) steps: BTreeSet<StepId>,
    /// When the next ping is due, or its answer.
    pub(crate) liveness: Liveness,
    pub(crate) must_recycle: bool,
}

/// What a worker said it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// How many steps at once, at least 1.
    pub(crate) parallel_steps: usize,
    pub(crate) streams: bool,
    /// Until it leaves a count unanswered.
    pub(crate) counts_tokens: bool,
}

/// The exchange of signs of life.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Liveness {
    PingAt(Instant),
    PongUntil(Instant),
}

/// How far an exit has been asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It closed its socket by itself.
    Closed,
    /// `shutdown`.
    Asked,
    /// SIGTERM.
    Terminated,
}

impl Worker {
    pub(crate) fn starting(now: Instant, until: Instant) -> Self {
        Self { state: WorkerState::Starting { until }, started: now, was_ready: false, finished_steps: 0 }
    }

    pub(crate) fn serving(&self) -> Option<&Serving> {
        match &self.state {
            WorkerState::Serving(serving) => Some(serving),
            _ => None,
        }
    }

    pub(crate) fn serving_mut(&mut self) -> Option<&mut Serving> {
        match &mut self.state {
            WorkerState::Serving(serving) => Some(serving),
            _ => None,
        }
    }

    /// It will serve, or does.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.state, WorkerState::Starting { .. } | WorkerState::Serving(_))
    }

    /// No other worker is started in its place yet: it serves, will serve, or is dying. The exit of a dying one
    /// decides when its successor may start.
    pub(crate) fn holds_its_place(&self) -> bool {
        match &self.state {
            WorkerState::Serving(serving) => !serving.must_recycle,
            WorkerState::Leaving { stage, .. } => *stage == Leave::Closed,
            WorkerState::Starting { .. } | WorkerState::Killed { .. } => true,
        }
    }

    /// What it says counts. Not so once it broke the protocol.
    pub(crate) fn is_believed(&self) -> bool {
        !matches!(self.state, WorkerState::Killed { why: KillReason::Violation(_) })
    }

    /// It was told to exit, so its exit is no death.
    pub(crate) fn was_asked_to_exit(&self) -> bool {
        match &self.state {
            WorkerState::Leaving { stage, .. } => *stage != Leave::Closed,
            WorkerState::Killed { why } => *why == KillReason::Stop,
            WorkerState::Starting { .. } | WorkerState::Serving(_) => false,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.serving().is_some_and(|serving| serving.steps.is_empty())
    }

    /// The time at which this worker needs attention.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            WorkerState::Starting { until } | WorkerState::Leaving { until, .. } => Some(*until),
            WorkerState::Serving(serving) => Some(match serving.liveness {
                Liveness::PingAt(at) | Liveness::PongUntil(at) => at,
            }),
            WorkerState::Killed { .. } => None,
        }
    }

    pub(crate) fn activity(&self) -> WorkerActivity {
        match &self.state {
            WorkerState::Starting { .. } => WorkerActivity::Starting,
            WorkerState::Serving(serving) if serving.steps.is_empty() => WorkerActivity::Ready,
            WorkerState::Serving(_) => WorkerActivity::Busy,
            WorkerState::Leaving { .. } | WorkerState::Killed { .. } => WorkerActivity::Ending,
        }
    }
}
