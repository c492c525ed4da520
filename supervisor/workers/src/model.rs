//! The pool as a model: what an agent sees of it.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, ErrorCode, Model, ModelError, StepOutcome,
    StepRequest, StepSink, UnavailableReason,
};
use oam_ipc::StepId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    config::{PoolConfig, WorkerCommand},
    exchange::{Asker, Ended, Input, Joined, Known, Listener, Piece, Shared},
    pool::Actor,
    process::{self, Process},
    status::{KilledWorker, PoolEvent, PoolStatus},
    worker_id::WorkerId,
};

/// When more pieces of an answer wait than these, those that can be are joined: whoever hears them is behind, and what
/// it does with each takes longer the longer the answer is.
const PIECES_AHEAD: usize = 32;

/// Worker processes as a model (docs/OPERATIONS.md). Cloning refers to the same pool.
///
/// A step survives the death of its worker: it is played again, not streamed, until it ends or has crashed too many
/// workers by itself. Dropping the last clone, or [`stop`](Self::stop), ends all workers.
#[derive(Clone)]
pub struct WorkerPool {
    pool: mpsc::UnboundedSender<Input>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerPool").finish_non_exhaustive()
    }
}

/// Somebody hears of the pool's events until this is dropped.
#[must_use = "nothing is heard any more when this is dropped"]
pub struct Listening(
    #[expect(dead_code, reason = "the pool finds the listener as long as it is here")] Arc<Listener>,
);

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening").finish_non_exhaustive()
    }
}

impl WorkerPool {
    /// Starts the workers, on the current tokio runtime. Does not wait for them; see
    /// [`settled`](Self::settled).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: PoolConfig) -> Self {
        Self::start_with(config, process::spawn)
    }

    /// The same, with processes that are started so.
    pub(crate) fn start_with(
        config: PoolConfig,
        start_process: impl Fn(WorkerId, &WorkerCommand) -> Result<Process, String> + Send + 'static,
    ) -> Self {
        let (pool, asked) = mpsc::unbounded_channel();
        let known = Known {
            availability: Availability {
                unavailable: Some(UnavailableReason::ModelNotReady),
                context_size: DEFAULT_CONTEXT_SIZE,
                variant: None,
                supported_languages: Vec::new(),
            },
            capabilities: Capabilities::default(),
            context_limit: None,
            is_broken: false,
        };
        let shared = Arc::new(Shared {
            known: Mutex::new(known),
            next_id: AtomicU64::new(1),
            listeners: Mutex::default(),
            has_settled: watch::Sender::new(false),
            parallel_steps: watch::Sender::new(config.parallel_steps(1)),
        });
        tokio::spawn(Actor::run(config, Arc::clone(&shared), asked, Box::new(start_process)));
        Self { pool, shared }
    }

    /// Resolves when the first worker is ready, or has failed to get ready.
    pub async fn settled(&self) {
        // The sender lives as long as this handle.
        let _ = self.shared.has_settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// How many steps it plays at once, as far as is known: one for each worker until the first worker is ready and tells
    /// how many it plays.
    pub fn parallel_steps(&self) -> watch::Receiver<NonZeroUsize> {
        self.shared.parallel_steps.subscribe()
    }

    /// Calls `listener` for everything worth knowing that happens as long as the returned value lives. It must return at
    /// once.
    pub fn listen(&self, listener: impl Fn(&PoolEvent) + Send + Sync + 'static) -> Listening {
        let listener: Arc<Listener> = Arc::new(listener);
        let mut listeners = self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&listener));
        Listening(listener)
    }

    /// A look at the pool; `None` when it has been stopped.
    pub async fn status(&self) -> Option<PoolStatus> {
        let (reply, status) = oneshot::channel();
        self.pool.send(Input::Status { reply }).ok()?;
        status.await.ok()
    }

    /// Kills a worker that is playing a step, if there is one (SIGKILL). For showing and testing what follows: the pool
    /// hears of it as of any other death. A step asked for before, on the same task, has reached its worker if one was
    /// ready. The worker may have ended the step in the moment it is killed.
    pub async fn kill_busy_worker(&self) -> Option<KilledWorker> {
        let (reply, killed) = oneshot::channel();
        self.pool.send(Input::KillBusy { reply }).ok()?;
        killed.await.ok()?
    }

    /// Ends all workers, politely first; resolves when the last one is reaped. Steps fail with `model_unavailable`.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.pool.send(Input::Stop { done }).is_ok() {
            let _ = stopped.await;
        }
    }

    fn known<T>(&self, read: impl FnOnce(&Known) -> T) -> T {
        read(&self.shared.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Model for WorkerPool {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let id = self.shared.new_id();
            let (pieces, heard) = request.stream.then(mpsc::unbounded_channel).unzip();
            let (end, ended) = oneshot::channel();
            let gone = || ModelError::new(ErrorCode::ModelUnavailable, "The model has been shut down.");
            let asker = Asker { pieces, end };
            self.pool.send(Input::Step { id, request, asker }).map_err(|_| gone())?;
            let abandonment = Abandonment { id, pool: &self.pool };
            if let Some(heard) = heard {
                pass_on(heard, sink).await;
            }
            let Ok(Ended { result, interruptions }) = ended.await else { return Err(gone()) };
            std::mem::forget(abandonment);
            for why in interruptions {
                sink.interrupted(&why);
            }
            result
        })
    }

    fn availability(&self) -> Availability {
        let (mut availability, is_broken) = self.known(|known| (known.availability.clone(), known.is_broken));
        if is_broken {
            // Not while a probe is tried out: somebody has to ask it for a step.
            availability.unavailable.get_or_insert(UnavailableReason::ModelNotReady);
        }
        availability
    }

    fn context_size(&self) -> Option<u32> {
        self.known(|known| known.context_limit)
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        Box::pin(async move {
            if !self.capabilities().token_count {
                return None;
            }
            let (count, answer) = oneshot::channel();
            let id = self.shared.new_id();
            self.pool.send(Input::CountTokens { id, request: request.clone(), count }).ok()?;
            answer.await.ok()
        })
    }

    fn prewarm(&self, instructions: Option<&str>) {
        let _ = self.pool.send(Input::Prewarm { instructions: instructions.map(str::to_owned) });
    }

    fn capabilities(&self) -> Capabilities {
        self.known(|known| known.capabilities)
    }
}

/// Passes the pieces of an answer on until there will be no more: the pool lets go of a step that has ended.
async fn pass_on(mut pieces: mpsc::UnboundedReceiver<Piece>, sink: &mut dyn StepSink) {
    while let Some(mut piece) = pieces.recv().await {
        while pieces.len() > PIECES_AHEAD
            && let Ok(next) = pieces.try_recv()
        {
            match piece.followed_by(next) {
                Joined::One(joined) => piece = joined,
                Joined::Two(first, next) => {
                    tell(first, sink);
                    piece = next;
                }
            }
        }
        tell(piece, sink);
    }
}

fn tell(piece: Piece, sink: &mut dyn StepSink) {
    match piece {
        Piece::Delta(text) => sink.text(&text),
        Piece::Reset(text) => sink.reset(&text),
        Piece::Partial(value) => sink.partial(*value),
    }
}

/// Tells the pool that nobody waits for the step any more, unless it has ended.
struct Abandonment<'a> {
    id: StepId,
    pool: &'a mpsc::UnboundedSender<Input>,
}

impl Drop for Abandonment<'_> {
    fn drop(&mut self) {
        let _ = self.pool.send(Input::Abandon { id: self.id });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl StepSink for Heard {
        fn text(&mut self, delta: &str) {
            self.0.push(format!("+{delta}"));
        }
        fn reset(&mut self, text: &str) {
            self.0.push(format!("={text}"));
        }
        fn partial(&mut self, value: serde_json::Value) {
            self.0.push(value.to_string());
        }
    }

    async fn heard(sent: Vec<Piece>) -> Vec<String> {
        let (pieces, waiting) = mpsc::unbounded_channel();
        for piece in sent {
            pieces.send(piece).unwrap();
        }
        drop(pieces);
        let mut heard = Heard::default();
        pass_on(waiting, &mut heard).await;
        heard.0
    }

    #[tokio::test]
    async fn a_few_pieces_are_passed_on_one_by_one() {
        let pieces = (0..PIECES_AHEAD).map(|_| Piece::Delta("x".to_owned())).collect();
        assert_eq!(heard(pieces).await.len(), PIECES_AHEAD);
    }

    #[tokio::test]
    async fn pieces_that_pile_up_are_joined_and_mean_the_same() {
        let partial = |value: i32| Piece::Partial(Box::new(value.into()));
        let mut pieces = vec![
            Piece::Delta("a".into()),
            Piece::Delta("b".into()),
            Piece::Reset("c".into()),
            Piece::Delta("d".into()),
            partial(1),
            partial(2),
            Piece::Delta("e".into()),
        ];
        pieces.extend((0..PIECES_AHEAD).map(|_| Piece::Delta("f".into())));
        let heard = heard(pieces).await;
        assert_eq!(&heard[..4], ["=cd", "2", "+e", "+f"]);
        assert_eq!(heard.len(), 3 + PIECES_AHEAD);
    }
}
