//! The decisions of the pool, without any process, clock or channel.
//!
//! [`Core::handle`] takes what happened and the time, and tells what is to be done; [`Core::next_deadline`] tells
//! when time alone will make something happen. Everything that supervision promises (docs/OPERATIONS.md) is decided
//! here and can be tested without waiting: [`worker`] is the life of a worker, [`step`] that of a step, [`count`] that
//! of a count of tokens, [`conduct`] what a worker may say, [`death`] what follows from the end of one, [`deadlines`]
//! what follows from waiting, [`staffing`] who works on what, [`health`] the delays and the breaker, [`trust`] whether
//! answers are streamed.

mod conduct;
mod count;
mod deadlines;
mod death;
pub(crate) mod health;
mod staffing;
pub(crate) mod step;
#[cfg(test)]
mod tests;
pub(crate) mod trust;
pub(crate) mod worker;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use oam_agent::{ErrorCode, ModelError};
use oam_ipc::{FromWorker, MAX_ANSWER_BYTES, StepId};

use self::{
    count::Count,
    health::{Breaker, Health},
    step::{Growth, Step, StepState},
    trust::StreamingTrust,
    worker::{Abilities, Leave, Liveness, Serving, Worker, WorkerState},
};
use crate::{
    config::PoolConfig,
    exit::{Exit, KillReason},
    status::{Counters, PoolEvent},
    worker_id::WorkerId,
};

const KEPT_EXITS: usize = 8;
/// How long a worker that closed its connection has to exit by itself.
const EXIT_AFTER_CLOSE: Duration = Duration::from_millis(100);

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A step is asked for.
    StepRequested { step: StepId, stream: bool },
    /// Nobody waits for the step any more.
    StepAbandoned { step: StepId },
    /// The step cannot be sent to any worker; the error says why.
    StepUnsendable { worker: WorkerId, step: StepId, error: ModelError },
    /// A count of tokens is asked for.
    CountRequested { count: StepId },
    /// The worker answered a count, or said that it cannot.
    CountEnded { worker: WorkerId, count: StepId },
    /// The worker said `ready`.
    Ready { worker: WorkerId, abilities: Abilities },
    /// The worker broke the protocol; the text says how.
    Violation { worker: WorkerId, reason: String },
    /// The worker sent a part of the step's answer.
    Part { worker: WorkerId, step: StepId, growth: Growth },
    /// The worker ended the step, well or with an error of the model, in so many bytes.
    StepEnded { worker: WorkerId, step: StepId, bytes: usize },
    /// The worker answered a ping.
    Pong { worker: WorkerId },
    /// The worker's end of the socket is closed.
    Closed { worker: WorkerId },
    /// The process is gone and has been reaped, or could not be started.
    Exited { worker: WorkerId, exit: Exit },
    /// The worker holds more memory than it should.
    TooLarge { worker: WorkerId },
    /// A deadline has come.
    Tick,
    /// No more steps; end all workers.
    Stop,
}

/// Something to be done.
#[derive(Debug)]
pub(crate) enum Action {
    Spawn {
        worker: WorkerId,
    },
    Generate {
        worker: WorkerId,
        step: StepId,
        stream: bool,
    },
    Cancel {
        worker: WorkerId,
        step: StepId,
    },
    Count {
        worker: WorkerId,
        count: StepId,
    },
    /// No worker will answer: whoever asked for the count estimates.
    GiveUpCount {
        count: StepId,
    },
    Ping {
        worker: WorkerId,
    },
    /// Ask the worker to exit, then close the socket.
    Shutdown {
        worker: WorkerId,
    },
    Terminate {
        worker: WorkerId,
    },
    Kill {
        worker: WorkerId,
    },
    /// The step's worker is lost, and the step will be played again; the text is for the log.
    Interrupted {
        step: StepId,
        why: String,
    },
    /// The step ends here; the answer of a worker that ended it is passed on as it is.
    Fail {
        step: StepId,
        error: ModelError,
    },
    Report(PoolEvent),
}

/// The state of a pool.
#[derive(Debug)]
pub(crate) struct Core {
    config: PoolConfig,
    workers: BTreeMap<WorkerId, Worker>,
    steps: BTreeMap<StepId, Step>,
    /// Steps that wait for a worker, the next one first.
    waiting: VecDeque<StepId>,
    /// Counts of tokens that a worker has been asked for.
    counts: BTreeMap<StepId, Count>,
    health: Health,
    trust: StreamingTrust,
    /// No step is late before then.
    steps_checked_until: Option<Instant>,
    counters: Counters,
    /// How the last workers ended, the latest last.
    last_exits: VecDeque<(WorkerId, Exit)>,
    last_worker: u64,
    is_stopping: bool,
}

/// Actions in the order in which they are to be done.
pub(crate) type Actions = Vec<Action>;

impl Core {
    pub(crate) fn new(config: PoolConfig) -> Self {
        let trust = StreamingTrust::new(config.streaming);
        Self {
            config,
            workers: BTreeMap::new(),
            steps: BTreeMap::new(),
            waiting: VecDeque::new(),
            counts: BTreeMap::new(),
            health: Health::default(),
            trust,
            steps_checked_until: None,
            counters: Counters::default(),
            last_exits: VecDeque::with_capacity(KEPT_EXITS),
            last_worker: 0,
            is_stopping: false,
        }
    }

    /// Takes note of what happened and decides what follows, which it appends to `actions`.
    pub(crate) fn handle(&mut self, event: Event, now: Instant, actions: &mut Actions) {
        match event {
            Event::StepRequested { step, stream } => self.request(step, stream, now, actions),
            Event::StepAbandoned { step } => self.abandon(step, now, actions),
            Event::StepUnsendable { worker, step, error } => {
                self.refuse_step(worker, step, error, actions);
            }
            Event::CountRequested { count } => self.request_count(count, now, actions),
            Event::CountEnded { worker, count } => self.end_count(worker, count),
            Event::Ready { worker, abilities } => self.ready(worker, abilities, now),
            Event::Violation { worker, reason } => self.violated(worker, reason, actions),
            Event::Part { worker, step, growth } => self.part(worker, step, growth, now, actions),
            Event::StepEnded { worker, step, bytes } => self.end_step(worker, step, bytes, actions),
            Event::Pong { worker } => self.pong(worker, now),
            Event::Closed { worker } => self.closed(worker, now),
            Event::Exited { worker, exit } => self.exited(worker, exit, now, actions),
            Event::TooLarge { worker } => {
                if let Some(serving) = self.serving_mut(worker) {
                    serving.must_recycle = true;
                }
            }
            Event::Tick => {}
            Event::Stop => self.stop(now, actions),
        }
        self.meet_worker_deadlines(now, actions);
        self.meet_step_deadlines(now, actions);
        self.meet_count_deadlines(now, actions);
        if let Breaker::Open { probe_at } = self.health.breaker()
            && now >= probe_at
        {
            self.health.start_probe();
        }
        self.recycle(now, actions);
        self.spawn(now, actions);
        self.dispatch(now, actions);
    }

    /// What is wrong with a message of the worker, if anything: it is a violation then.
    pub(crate) fn breach(&self, worker: WorkerId, message: &FromWorker) -> Option<String> {
        conduct::breach(self.workers.get(&worker)?.was_ready, message)
    }

    /// The worker takes steps.
    pub(crate) fn is_serving(&self, worker: WorkerId) -> bool {
        self.workers.get(&worker).is_some_and(|worker| worker.serving().is_some())
    }

    /// The end that `worker` gives `step` counts.
    pub(crate) fn is_running(&self, worker: WorkerId, step: StepId) -> bool {
        self.workers.get(&worker).is_some_and(Worker::is_believed)
            && matches!(
                self.steps.get(&step).map(|step| step.state),
                Some(StepState::Running { worker: runner, .. }) if runner == worker
            )
    }

    /// The parts of an answer that `worker` sends for `step` are to be passed on.
    pub(crate) fn is_streaming(&self, worker: WorkerId, step: StepId) -> bool {
        self.is_running(worker, step)
            && matches!(
                self.steps.get(&step).map(|step| step.state),
                Some(StepState::Running { is_streamed: true, .. })
            )
    }

    /// The step has not ended.
    pub(crate) fn holds(&self, step: StepId) -> bool {
        self.steps.contains_key(&step)
    }

    /// What it means that a worker ends a step as cancelled that nobody cancelled.
    pub(crate) fn unasked_cancel(&self) -> ModelError {
        if self.is_stopping {
            shutting_down()
        } else {
            ModelError::new(ErrorCode::GenerationFailed, "The worker cancelled the step by itself.")
        }
    }

    /// No worker is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.workers.iter().map(|(id, worker)| (*id, worker))
    }

    pub(crate) fn waiting_steps(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn breaker(&self) -> Breaker {
        self.health.breaker()
    }

    pub(crate) fn trusts_streaming(&self, now: Instant) -> bool {
        self.trust.allows(now)
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn last_exits(&self) -> impl Iterator<Item = &(WorkerId, Exit)> {
        self.last_exits.iter()
    }

    fn serving_mut(&mut self, worker: WorkerId) -> Option<&mut Serving> {
        self.workers.get_mut(&worker).and_then(Worker::serving_mut)
    }

    fn request(&mut self, step: StepId, stream: bool, now: Instant, actions: &mut Actions) {
        let refusal = if self.is_stopping {
            Some(shutting_down())
        } else if let Breaker::Open { probe_at } = self.health.breaker() {
            Some(self.unavailable(probe_at, now))
        } else if self.waiting.len() >= self.config.max_waiting_steps {
            let waiting = self.waiting.len();
            Some(ModelError::new(ErrorCode::Busy, format!("{waiting} steps wait for the model already.")))
        } else {
            None
        };
        if let Some(error) = refusal {
            actions.push(Action::Fail { step, error });
            return;
        }
        self.steps.insert(step, Step::new(stream));
        self.waiting.push_back(step);
    }

    fn abandon(&mut self, id: StepId, now: Instant, actions: &mut Actions) {
        let Some(step) = self.steps.get_mut(&id) else { return };
        match step.state {
            StepState::Waiting => {
                self.steps.remove(&id);
                self.waiting.retain(|waiting| *waiting != id);
            }
            StepState::Running { worker, .. } => {
                step.state = StepState::Cancelling { worker, until: now + self.config.cancel_timeout };
                actions.push(Action::Cancel { worker, step: id });
            }
            StepState::Cancelling { .. } => {}
        }
    }

    /// Nothing is wrong with the worker, which never heard of the step.
    fn refuse_step(&mut self, worker: WorkerId, id: StepId, error: ModelError, actions: &mut Actions) {
        if self.steps.get(&id).and_then(Step::worker) == Some(worker) {
            self.steps.remove(&id);
            if let Some(serving) = self.serving_mut(worker) {
                serving.steps.remove(&id);
            }
            actions.push(Action::Fail { step: id, error });
        }
    }

    fn ready(&mut self, worker: WorkerId, abilities: Abilities, now: Instant) {
        let Some(worker) = self.workers.get_mut(&worker) else { return };
        if let WorkerState::Starting { .. } = worker.state {
            worker.was_ready = true;
            worker.state = WorkerState::Serving(Serving {
                abilities,
                steps: BTreeSet::new(),
                liveness: Liveness::PingAt(now + self.config.ping_interval),
                must_recycle: false,
            });
        }
    }

    fn violated(&mut self, worker: WorkerId, reason: String, actions: &mut Actions) {
        if self.workers.get(&worker).is_some_and(Worker::counts) {
            self.counters.violations += 1;
            actions.push(Action::Report(PoolEvent::WorkerViolated { worker, reason: reason.clone() }));
            self.kill(worker, KillReason::Violation(reason), actions);
        }
    }

    fn part(&mut self, worker: WorkerId, id: StepId, growth: Growth, now: Instant, actions: &mut Actions) {
        let deadline = now + self.config.step_timeout;
        let Some(Step {
            state: StepState::Running { worker: runner, is_streamed, progress_until, answer_bytes },
            ..
        }) = self.steps.get_mut(&id)
        else {
            return;
        };
        if *runner != worker {
            return;
        }
        *answer_bytes = growth.after(*answer_bytes);
        if *answer_bytes > MAX_ANSWER_BYTES {
            self.violated(worker, too_long(), actions);
        } else if *is_streamed {
            // What nobody asked for is no sign that the step gets on.
            *progress_until = deadline;
        }
    }

    fn end_step(&mut self, worker: WorkerId, id: StepId, bytes: usize, actions: &mut Actions) {
        if self.steps.get(&id).and_then(Step::worker) != Some(worker)
            || !self.workers.get(&worker).is_some_and(Worker::is_believed)
        {
            return;
        }
        if bytes > MAX_ANSWER_BYTES && self.is_running(worker, id) {
            self.violated(worker, too_long(), actions);
            return;
        }
        let step = self.steps.remove(&id);
        self.counters.steps += 1;
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.finished_steps += 1;
            let is_worn = self.config.recycle_after_steps.is_some_and(|limit| worker.finished_steps >= limit);
            if let Some(serving) = worker.serving_mut() {
                serving.steps.remove(&id);
                serving.must_recycle |= is_worn;
            }
        }
        // A step that was cancelled proves that the worker listens, not that it can answer.
        if let Some(Step { state: StepState::Running { is_streamed, .. }, .. }) = step {
            if is_streamed {
                self.trust.streamed_well();
            }
            if self.health.finished_step() {
                actions.push(Action::Report(PoolEvent::BreakerClosed));
            }
        }
    }

    fn pong(&mut self, worker: WorkerId, now: Instant) {
        let next = Liveness::PingAt(now + self.config.ping_interval);
        if let Some(serving) = self.serving_mut(worker) {
            serving.liveness = next;
        }
    }

    fn closed(&mut self, worker: WorkerId, now: Instant) {
        let Some(worker) = self.workers.get_mut(&worker) else { return };
        if worker.counts() {
            // Its steps stay with it until its exit tells what became of it.
            worker.state = WorkerState::Leaving { stage: Leave::Closed, until: now + EXIT_AFTER_CLOSE };
        }
    }

    fn stop(&mut self, now: Instant, actions: &mut Actions) {
        self.is_stopping = true;
        self.fail_waiting(&shutting_down(), actions);
        self.give_up_counts(|_| true, actions);
        let ids: Vec<_> = self.workers.keys().copied().collect();
        for id in ids {
            match self.workers.get(&id).map(|worker| &worker.state) {
                Some(WorkerState::Starting { .. }) => self.kill(id, KillReason::Stop, actions),
                Some(WorkerState::Serving(_)) => self.leave(id, now, actions),
                _ => {}
            }
        }
    }

    fn fail_waiting(&mut self, error: &ModelError, actions: &mut Actions) {
        for step in self.waiting.drain(..) {
            self.steps.remove(&step);
            actions.push(Action::Fail { step, error: error.clone() });
        }
    }

    fn kill(&mut self, id: WorkerId, why: KillReason, actions: &mut Actions) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.state = WorkerState::Killed { why };
            actions.push(Action::Kill { worker: id });
        }
    }

    fn leave(&mut self, id: WorkerId, now: Instant, actions: &mut Actions) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.state = WorkerState::Leaving { stage: Leave::Asked, until: now + self.config.stop_grace };
            actions.push(Action::Shutdown { worker: id });
        }
    }

    fn unavailable(&self, probe_at: Instant, now: Instant) -> ModelError {
        let wait = probe_at.saturating_duration_since(now);
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let program = self.config.command.program.display();
        let last = self.last_exits.back().map_or_else(String::new, |(_, exit)| {
            format!(": the last one {}", exit.to_string().trim_end_matches('.'))
        });
        let message =
            format!("The workers of the model ({program}) keep dying{last}. Try again in {seconds} s.");
        let mut error = ModelError::new(ErrorCode::ModelUnavailable, message);
        error.data.insert("retryAfterSeconds".to_owned(), seconds.into());
        error
    }
}

fn shutting_down() -> ModelError {
    ModelError::new(ErrorCode::ModelUnavailable, "The model is being shut down.")
}

fn too_long() -> String {
    format!("its answer is longer than {MAX_ANSWER_BYTES} bytes")
}
