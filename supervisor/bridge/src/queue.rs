//! One queue per session or NPC: its operations run one after another, in arrival order, and each can be
//! cancelled until it commits. In a shared realm they come from several bridges.
//!
//! An operation's life is [`Phase`]. It is cancellable while pending, waiting or running alike; once committed it
//! can only finish. A cancelled operation still waits for its turn in the queue before it answers, so answers
//! come in arrival order. It leaves the queue before its answer is sent: a client that has the answer never sees
//! the operation counted.

use std::{
    collections::VecDeque,
    mem,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use futures_util::FutureExt;
use oam_agent::BoxFuture;
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use crate::{
    client_id::ClientId,
    message::{BridgeError, Payload},
    responder::Responder,
};

/// The work of an operation, made when its turn comes.
pub(crate) type Work = Box<dyn FnOnce(Operation) -> BoxFuture<'static, Result<Payload, BridgeError>> + Send>;

/// The operations of one object. Shared by the object and the task that works it off.
pub struct OperationQueue {
    /// Whose operations these are, in words: `session 'gorm'`.
    owner: String,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    entries: VecDeque<Entry>,
    /// Its object is deleted: what comes now is cancelled at once.
    is_closed: bool,
}

/// What a bridge puts into a queue.
pub(crate) struct NewOperation {
    /// Whose it is.
    pub(crate) client: ClientId,
    pub(crate) work: Work,
    /// Gets the result.
    pub(crate) responder: Responder,
    /// Cancels the operation, as long as it can be cancelled.
    pub(crate) stop: CancellationToken,
    /// Held until it is answered.
    pub(crate) tracked: TaskTrackerToken,
}

struct Entry {
    operation: Operation,
    /// Taken when the operation starts.
    waiting: Option<Waiting>,
}

struct Waiting {
    client: ClientId,
    work: Work,
    answer: Answer,
}

/// Dropped when the operation is answered: the answer first, then the bridge no longer waits for it.
struct Answer {
    responder: Responder,
    _tracked: TaskTrackerToken,
}

/// An operation in a queue, as the code that runs it sees it. Cloning refers to the same operation.
#[derive(Clone, Default)]
pub struct Operation {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    phase: AtomicU8,
    cancelled: CancellationToken,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Pending = 0,
    /// Its effect is certain; it can no longer be cancelled.
    Committed = 1,
    Cancelled = 2,
}

impl Operation {
    /// Makes the operation immune to cancellation. Called right before it changes something; fails when it has
    /// been cancelled already, and then it must change nothing.
    pub fn commit(&self) -> Result<(), BridgeError> {
        if self.is_cancelled() {
            return Err(BridgeError::cancelled("The request was cancelled."));
        }
        match self.leave_pending(Phase::Committed) {
            Ok(()) | Err(Phase::Committed) => Ok(()),
            Err(_) => Err(BridgeError::cancelled("The request was cancelled.")),
        }
    }

    /// `true` when this call cancelled the operation: it was neither committed nor cancelled before.
    pub(crate) fn cancel(&self) -> bool {
        let newly_cancelled = self.leave_pending(Phase::Cancelled).is_ok();
        if newly_cancelled {
            self.state.cancelled.cancel();
        }
        newly_cancelled
    }

    fn stopped_by(stop: CancellationToken) -> Self {
        Self { state: Arc::new(State { phase: AtomicU8::default(), cancelled: stop }) }
    }

    fn is_cancelled(&self) -> bool {
        if self.state.cancelled.is_cancelled() {
            // Its bridge stopped, and not this operation alone.
            self.cancel();
        }
        self.state.phase.load(Ordering::Acquire) == Phase::Cancelled as u8
    }

    /// Resolves when it is cancelled, which never happens once it has committed.
    async fn cancelled(&self) {
        self.state.cancelled.cancelled().await;
        if !self.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }

    fn leave_pending(&self, to: Phase) -> Result<(), Phase> {
        let pending = Phase::Pending as u8;
        match self.state.phase.compare_exchange(pending, to as u8, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(now) if now == Phase::Committed as u8 => Err(Phase::Committed),
            Err(_) => Err(Phase::Cancelled),
        }
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("phase", &self.state.phase).finish()
    }
}

impl std::fmt::Debug for OperationQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperationQueue").field("pending", &self.pending()).finish()
    }
}

impl OperationQueue {
    /// An empty queue. `owner` names the object in errors: `session 'gorm'`.
    pub fn new(owner: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { owner: owner.into(), state: Mutex::default() })
    }

    /// The object that the operations belong to, in words.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place at the end of the queue. One that was empty works itself off on `runtime`. Returns the
    /// operation, or the responder when `limit` operations are unfinished already.
    pub(crate) fn push(
        self: &Arc<Self>,
        limit: usize,
        new: NewOperation,
        runtime: &tokio::runtime::Handle,
    ) -> Result<Operation, Responder> {
        let NewOperation { client, work, responder, stop, tracked } = new;
        let mut state = self.lock();
        if state.entries.len() >= limit {
            return Err(responder);
        }
        let is_idle = state.entries.is_empty();
        let operation = Operation::stopped_by(stop);
        if state.is_closed {
            operation.cancel();
        }
        let answer = Answer { responder, _tracked: tracked };
        let waiting = Some(Waiting { client, work, answer });
        state.entries.push_back(Entry { operation: operation.clone(), waiting });
        drop(state);
        if is_idle {
            runtime.spawn(Arc::clone(self).work_off());
        }
        Ok(operation)
    }

    /// Cancels every operation that can be cancelled; returns how many.
    pub fn cancel_all(&self) -> usize {
        self.lock().entries.iter().filter(|entry| entry.operation.cancel()).count()
    }

    /// Cancels every operation that can be cancelled, and each that comes later.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.cancel_all();
    }

    /// Unfinished operations, the running one included.
    pub fn pending(&self) -> usize {
        self.lock().entries.len()
    }

    /// Runs operations until none is left. One such task exists while the queue is not empty.
    fn work_off(self: Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        // Made before the first poll: a runtime that ends drops tasks that it never polled.
        let mut work_off = WorkOff { queue: self, is_done: false };
        async move { work_off.run().await }
    }
}

/// Works a queue off. When its runtime ends before it is done, the operations that wait are dropped with it: their work
/// holds the queue, which would keep itself alive.
struct WorkOff {
    queue: Arc<OperationQueue>,
    is_done: bool,
}

impl WorkOff {
    async fn run(&mut self) {
        while let Some((operation, Waiting { client, work, answer })) = self.next() {
            // A long queue of quick operations must not keep the thread from everything else.
            tokio::task::coop::consume_budget().await;
            // A panic must not take the queue's other operations with it.
            let work = client.scope(run(operation, work));
            let result = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                Err(BridgeError::internal_error("The operation failed unexpectedly; please report this."))
            });
            // Under the lock: an operation pushed in between would get a task of its own and could overtake the answer.
            let mut state = self.queue.lock();
            state.entries.pop_front();
            answer.responder.answer(result);
        }
    }

    fn next(&mut self) -> Option<(Operation, Waiting)> {
        let mut state = self.queue.lock();
        let front = state.entries.front_mut();
        let next = front.and_then(|entry| Some((entry.operation.clone(), entry.waiting.take()?)));
        // Under the lock: an operation that is pushed from here on has a task of its own.
        self.is_done = next.is_none();
        next
    }
}

impl Drop for WorkOff {
    fn drop(&mut self) {
        if !self.is_done {
            let left = mem::take(&mut self.queue.lock().entries);
            drop(left);
        }
    }
}

async fn run(operation: Operation, work: Work) -> Result<Payload, BridgeError> {
    if operation.is_cancelled() {
        return Err(BridgeError::cancelled("The request was cancelled before it started."));
    }
    // Cancellation comes first: work that fails in the same moment has been counted as cancelled.
    let result = tokio::select! {
        biased;
        () = operation.cancelled() => {
            return Err(BridgeError::cancelled("The turn was cancelled."));
        }
        result = work(operation.clone()) => result,
    };
    if operation.is_cancelled() {
        return Err(BridgeError::cancelled("The request was cancelled."));
    }
    result
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::{
        outbox::{OutboxLimits, outbox},
        responder::{Answers, Recipient},
    };

    #[tokio::test]
    async fn work_that_ends_in_the_moment_of_its_cancellation_counts_as_cancelled() {
        for result in [Ok(Payload::empty_object()), Err(BridgeError::internal_error("too late"))] {
            let work: Work = Box::new(|operation| {
                Box::pin(async move {
                    assert!(operation.cancel());
                    result
                })
            });
            assert_eq!(run(Operation::default(), work).await.unwrap_err().name, "cancelled");
        }
    }

    #[test]
    fn operations_that_a_runtime_leaves_behind_are_dropped_with_it() {
        for polls in [0, 1] {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (outbox, _consumer) = outbox(OutboxLimits::default());
            let (answers, tasks) = (Arc::new(Answers::new(outbox)), TaskTracker::new());
            let operation = |work| NewOperation {
                client: ClientId::new(),
                work,
                responder: Responder::new(Recipient::Nobody, &answers),
                stop: CancellationToken::new(),
                tracked: tasks.token(),
            };
            let queue = OperationQueue::new("session 'gorm'");
            let is_gone = Arc::downgrade(&queue);
            for _ in 0..2 {
                let holder = Arc::clone(&queue);
                let work: Work = Box::new(|_| {
                    Box::pin(async move {
                        let _holder = holder;
                        std::future::pending().await
                    })
                });
                assert!(queue.push(8, operation(work), runtime.handle()).is_ok());
            }
            for _ in 0..polls {
                runtime.block_on(tokio::task::yield_now());
            }
            drop((runtime, queue));
            assert!(is_gone.upgrade().is_none(), "after {polls} polls");
        }
    }

    #[tokio::test]
    async fn a_committed_operation_keeps_its_result() {
        let work: Work = Box::new(|operation| {
            Box::pin(async move {
                operation.commit()?;
                assert!(!operation.cancel());
                operation.commit()?;
                Ok(Payload::empty_object())
            })
        });
        assert_eq!(run(Operation::default(), work).await, Ok(Payload::empty_object()));
    }
}
