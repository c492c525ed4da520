//! What passes between those who ask, the actor, and its workers.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use oam_agent::{Availability, Capabilities, ModelError, StepOutcome, StepRequest};
use oam_ipc::{FromWorker, StepId};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    exit::Exit,
    status::{KilledWorker, PoolEvent, PoolStatus},
    worker_id::WorkerId,
};

/// What reaches the pool.
pub(crate) enum Input {
    Step { id: StepId, request: StepRequest, asker: Asker },
    Abandon { id: StepId },
    CountTokens { id: StepId, request: StepRequest, count: oneshot::Sender<u32> },
    Prewarm { instructions: Option<String> },
    Status { reply: oneshot::Sender<PoolStatus> },
    KillBusy { reply: oneshot::Sender<Option<KilledWorker>> },
    Stop { done: oneshot::Sender<()> },
    Message { worker: WorkerId, message: FromWorker },
    Violation { worker: WorkerId, reason: String },
    Closed { worker: WorkerId },
    Exited { worker: WorkerId, exit: Exit },
}

/// Whoever asked for a step. One that has gone says so itself.
#[derive(Debug)]
pub(crate) struct Asker {
    /// None where the answer is not to be streamed: such a step needs no queue.
    pub(crate) pieces: Option<mpsc::UnboundedSender<Piece>>,
    /// How the step ended, behind its pieces.
    pub(crate) end: oneshot::Sender<Ended>,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<StepOutcome, ModelError>,
    /// How it lost workers on the way, for the log.
    pub(crate) interruptions: Vec<String>,
}

/// A piece of an answer. Small: each streamed step has a queue of them.
#[derive(Debug)]
pub(crate) enum Piece {
    Delta(String),
    Reset(String),
    Partial(Box<Value>),
}

/// What is known of the model without asking anybody.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) availability: Availability,
    pub(crate) capabilities: Capabilities,
    /// The context to fit conversations into, if there is a limit.
    pub(crate) context_limit: Option<u32>,
    /// The breaker is open: steps fail at once, whatever workers have told.
    pub(crate) is_broken: bool,
}

/// Who hears of the pool's events.
pub(crate) type Listener = dyn Fn(&PoolEvent) + Send + Sync;

/// What the handle and the actor share.
pub(crate) struct Shared {
    pub(crate) known: Mutex<Known>,
    pub(crate) next_id: AtomicU64,
    pub(crate) listeners: Mutex<Vec<Weak<Listener>>>,
    /// `true` once a worker has got ready or failed to.
    pub(crate) has_settled: watch::Sender<bool>,
    /// How many steps play at once when all workers are there.
    pub(crate) parallel_steps: watch::Sender<NonZeroUsize>,
}

impl Shared {
    pub(crate) fn new_id(&self) -> StepId {
        StepId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

/// Two pieces that follow each other, as one if they mean the same as one.
pub(crate) enum Joined {
    One(Piece),
    Two(Piece, Piece),
}

impl Piece {
    /// This piece and the next one.
    pub(crate) fn followed_by(self, next: Self) -> Joined {
        match (self, next) {
            (Self::Delta(text), Self::Delta(more)) => Joined::One(Self::Delta(text + &more)),
            (Self::Reset(text), Self::Delta(more)) => Joined::One(Self::Reset(text + &more)),
            (Self::Delta(_) | Self::Reset(_), reset @ Self::Reset(_)) => Joined::One(reset),
            (Self::Partial(_), partial @ Self::Partial(_)) => Joined::One(partial),
            (piece, next) => Joined::Two(piece, next),
        }
    }
}
