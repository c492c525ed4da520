//! The life of a step: waiting, running, played again, given up.
//!
//! A step that was alone on a worker that died is guilty of the crash. Of several steps nobody knows which one it
//! was: each of them is played again alone, so that the next crash names the guilty one and the innocent pay once.

use std::time::Instant;

use crate::worker_id::WorkerId;

/// How a part changes the length of an answer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It is appended.
    By(usize),
    /// It is all of the answer so far.
    To(usize),
}

impl Growth {
    pub(crate) fn after(self, bytes: usize) -> usize {
        match self {
            Self::By(more) => bytes.saturating_add(more),
            Self::To(bytes) => bytes,
        }
    }
}

/// A step that somebody waits for, or that a worker has not let go of.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) state: StepState,
    /// The asker wants to hear the answer grow.
    pub(crate) wants_stream: bool,
    /// Workers it crashed while it was alone on them.
    pub(crate) crashes: u32,
    /// Its worker died; played again it is not streamed.
    pub(crate) is_replay: bool,
    /// It must be alone on its worker.
    pub(crate) is_suspect: bool,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepState {
    /// It waits for a worker.
    Waiting,
    /// A worker plays it.
    Running {
        worker: WorkerId,
        is_streamed: bool,
        /// Without a sign of progress until then, the worker hangs.
        progress_until: Instant,
        /// The length of the answer so far, whether anybody hears it or not.
        answer_bytes: usize,
    },
    /// Nobody waits for it any more; the worker has been told, and has until then to let go of it.
    Cancelling { worker: WorkerId, until: Instant },
}

impl Step {
    pub(crate) fn new(wants_stream: bool) -> Self {
        Self { state: StepState::Waiting, wants_stream, crashes: 0, is_replay: false, is_suspect: false }
    }

    pub(crate) fn worker(&self) -> Option<WorkerId> {
        match self.state {
            StepState::Waiting => None,
            StepState::Running { worker, .. } | StepState::Cancelling { worker, .. } => Some(worker),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            StepState::Waiting => None,
            StepState::Running { progress_until, .. } => Some(progress_until),
            StepState::Cancelling { until, .. } => Some(until),
        }
    }
}
