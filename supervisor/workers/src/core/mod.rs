//! The decisions of the pool, without any process, clock or channel.
//!
//! [`Core::handle`] takes what happened and the time, and returns what is to be done; [`Core::next_deadline`] tells
//! when time alone will make something happen. Everything that supervision promises (docs/OPERATIONS.md) is decided
//! here and can be tested without waiting: [`worker`] is the life of a worker, [`step`] that of a step, [`health`]
//! the delays and the breaker, [`trust`] whether answers are streamed.

pub(crate) mod health;
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
use oam_ipc::StepId;

use self::{
    health::{Breaker, Health},
    step::{Step, StepState},
    trust::StreamingTrust,
    worker::{Leave, Liveness, Serving, Worker, WorkerState},
};
use crate::{
    config::PoolConfig,
    exit::{Exit, ExitCause},
    status::{Counters, HangCause, PoolEvent},
    worker_id::WorkerId,
};

const KEPT_EXITS: usize = 8;
/// How long a worker that closed its socket has to exit by itself.
const EXIT_AFTER_CLOSE: Duration = Duration::from_millis(100);

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A step is asked for.
    StepRequested { step: StepId, stream: bool },
    /// Nobody waits for the step any more.
    StepAbandoned { step: StepId },
    /// The worker said `ready`, with a protocol version that fits.
    Ready { worker: WorkerId, parallel_steps: u32 },
    /// The worker broke the protocol; the text says how.
    Violation { worker: WorkerId, reason: String },
    /// The worker sent a part of the step's answer.
    Progress { worker: WorkerId, step: StepId },
    /// The worker ended the step, well or with an error of the model.
    StepEnded { worker: WorkerId, step: StepId },
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
    health: Health,
    trust: StreamingTrust,
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
            health: Health::default(),
            trust,
            counters: Counters::default(),
            last_exits: VecDeque::with_capacity(KEPT_EXITS),
            last_worker: 0,
            is_stopping: false,
        }
    }

    /// Takes note of what happened and decides what follows.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Actions {
        let mut actions = Actions::new();
        match event {
            Event::StepRequested { step, stream } => self.request(step, stream, now, &mut actions),
            Event::StepAbandoned { step } => self.abandon(step, now, &mut actions),
            Event::Ready { worker, parallel_steps } => self.ready(worker, parallel_steps, now),
            Event::Violation { worker, reason } => self.violated(worker, reason, &mut actions),
            Event::Progress { worker, step } => self.progress(worker, step, now),
            Event::StepEnded { worker, step } => self.end_step(worker, step, &mut actions),
            Event::Pong { worker } => self.pong(worker, now),
            Event::Closed { worker } => self.closed(worker, now),
            Event::Exited { worker, exit } => self.exited(worker, exit, now, &mut actions),
            Event::TooLarge { worker } => {
                if let Some(serving) = self.serving_mut(worker) {
                    serving.must_recycle = true;
                }
            }
            Event::Tick => {}
            Event::Stop => self.stop(now, &mut actions),
        }
        self.meet_worker_deadlines(now, &mut actions);
        self.meet_step_deadlines(now, &mut actions);
        if let Breaker::Open { probe_at } = self.health.breaker()
            && now >= probe_at
        {
            self.health.start_probe();
        }
        self.recycle(now, &mut actions);
        self.spawn(now, &mut actions);
        self.dispatch(now, &mut actions);
        actions
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let probe = match self.health.breaker() {
            Breaker::Open { probe_at } if !self.is_stopping => Some(probe_at),
            _ => None,
        };
        let spawn = self.health.not_before().filter(|_| self.missing_workers() > 0);
        let workers = self.workers.values().filter_map(Worker::deadline);
        // A step on a worker that is on its way out waits for the exit alone.
        let listens = |worker| self.workers.get(&worker).is_some_and(Worker::counts);
        let steps = self.steps.values().filter(|step| step.worker().is_some_and(listens));
        workers.chain(steps.filter_map(Step::deadline)).chain(probe).chain(spawn).min()
    }

    /// Whether what `worker` says about `step` is to be passed on.
    pub(crate) fn is_running(&self, worker: WorkerId, step: StepId) -> bool {
        matches!(
            self.steps.get(&step).map(|step| step.state),
            Some(StepState::Running { worker: runner, .. }) if runner == worker
        )
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

    fn ready(&mut self, worker: WorkerId, parallel_steps: u32, now: Instant) {
        let Some(worker) = self.workers.get_mut(&worker) else { return };
        if let WorkerState::Starting { .. } = worker.state {
            worker.state = WorkerState::Serving(Serving {
                parallel_steps: usize::try_from(parallel_steps).unwrap_or(usize::MAX).max(1),
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
            self.kill(worker, reason, actions);
        }
    }

    fn progress(&mut self, worker: WorkerId, step: StepId, now: Instant) {
        let deadline = now + self.config.step_timeout;
        if let Some(Step { state: StepState::Running { worker: runner, progress_until, .. }, .. }) =
            self.steps.get_mut(&step)
            && *runner == worker
        {
            *progress_until = deadline;
        }
    }

    fn end_step(&mut self, worker: WorkerId, id: StepId, actions: &mut Actions) {
        if self.steps.get(&id).and_then(Step::worker) != Some(worker) {
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

    fn exited(&mut self, id: WorkerId, mut exit: Exit, now: Instant, actions: &mut Actions) {
        let Some(worker) = self.workers.remove(&id) else { return };
        let was_asked =
            matches!(worker.state, WorkerState::Leaving { stage: Leave::Asked | Leave::Terminated, .. });
        if let WorkerState::Killed { why } = worker.state {
            exit.why_killed = Some(why);
        }
        if self.last_exits.len() == KEPT_EXITS {
            self.last_exits.pop_front();
        }
        self.last_exits.push_back((id, exit.clone()));
        let mut steps: Vec<_> =
            self.steps.iter().filter(|(_, step)| step.worker() == Some(id)).map(|(id, _)| *id).collect();
        // If it was killed because one of them hung, the others should not wait for that one to hang again.
        steps.sort_by_key(|step| self.is_late(*step, now));
        if !was_asked || !steps.is_empty() {
            self.died(id, &exit, &steps, now, actions);
        }
    }

    fn died(&mut self, id: WorkerId, exit: &Exit, steps: &[StepId], now: Instant, actions: &mut Actions) {
        let cause = match &exit.cause {
            ExitCause::Code(code) => format!("exit {code}"),
            ExitCause::Signal(name) => name.clone(),
            ExitCause::NotStarted(_) => "not started".to_owned(),
        };
        *self.counters.crashes.entry(cause).or_default() += 1;
        actions.push(Action::Report(PoolEvent::WorkerDied {
            worker: id,
            exit: exit.clone(),
            steps: steps.len(),
        }));
        let opened = self.health.died(now);
        let was_alone = steps.len() == 1;
        let mut was_streaming = false;
        for step in steps.iter().rev() {
            was_streaming |= self.interrupt(*step, was_alone, exit, actions);
        }
        if was_streaming {
            self.trust.died_streaming(now);
        }
        if let Breaker::Open { probe_at } = self.health.breaker() {
            if opened {
                let retry_after = probe_at.saturating_duration_since(now);
                actions.push(Action::Report(PoolEvent::BreakerOpened { retry_after }));
            }
            let error = self.unavailable(probe_at, now);
            self.fail_waiting(&error, actions);
        }
    }

    /// The step's worker died. Returns whether the step was being streamed.
    fn interrupt(&mut self, id: StepId, was_alone: bool, exit: &Exit, actions: &mut Actions) -> bool {
        let Some(step) = self.steps.get_mut(&id) else { return false };
        let StepState::Running { is_streamed, .. } = step.state else {
            self.steps.remove(&id);
            return false;
        };
        step.state = StepState::Waiting;
        step.is_replay = true;
        step.is_suspect = true;
        step.crashes += u32::from(was_alone);
        let crashes = step.crashes;
        if self.is_stopping {
            self.steps.remove(&id);
            actions.push(Action::Fail { step: id, error: shutting_down() });
        } else if crashes >= self.config.max_step_crashes {
            self.steps.remove(&id);
            self.counters.quarantined += 1;
            actions.push(Action::Report(PoolEvent::StepQuarantined { crashes }));
            actions.push(Action::Fail { step: id, error: quarantined(crashes, exit) });
        } else {
            self.waiting.push_front(id);
            self.counters.replays += 1;
            actions.push(Action::Report(PoolEvent::StepReplayed { crashes }));
        }
        is_streamed
    }

    fn stop(&mut self, now: Instant, actions: &mut Actions) {
        self.is_stopping = true;
        self.fail_waiting(&shutting_down(), actions);
        let ids: Vec<_> = self.workers.keys().copied().collect();
        for id in ids {
            match self.workers.get(&id).map(|worker| &worker.state) {
                Some(WorkerState::Starting { .. }) => self.kill(id, "the pool stops".to_owned(), actions),
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

    fn unavailable(&self, probe_at: Instant, now: Instant) -> ModelError {
        let wait = probe_at.saturating_duration_since(now);
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let program = self.config.command.program.display();
        let last =
            self.last_exits.back().map_or_else(String::new, |(_, exit)| format!(": the last one {exit}"));
        let message =
            format!("The workers of the model ({program}) keep dying{last}. Try again in {seconds} s.");
        let mut error = ModelError::new(ErrorCode::ModelUnavailable, message);
        error.data.insert("retryAfterSeconds".to_owned(), seconds.into());
        error
    }

    fn meet_worker_deadlines(&mut self, now: Instant, actions: &mut Actions) {
        let due: Vec<_> = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.deadline().is_some_and(|deadline| now >= deadline))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let (ping_timeout, grace) = (self.config.ping_timeout, self.config.stop_grace);
            let Some(worker) = self.workers.get_mut(&id) else { continue };
            match &mut worker.state {
                WorkerState::Starting { .. } => self.hang(id, HangCause::NotReady, actions),
                WorkerState::Serving(serving) => match serving.liveness {
                    Liveness::PingAt(_) => {
                        serving.liveness = Liveness::PongUntil(now + ping_timeout);
                        actions.push(Action::Ping { worker: id });
                    }
                    Liveness::PongUntil(_) => self.hang(id, HangCause::NoPong, actions),
                },
                WorkerState::Leaving { stage: stage @ Leave::Asked, until } => {
                    *stage = Leave::Terminated;
                    *until = now + grace;
                    actions.push(Action::Terminate { worker: id });
                }
                WorkerState::Leaving { stage: Leave::Terminated, .. } => {
                    self.kill(id, "it did not stop".to_owned(), actions);
                }
                WorkerState::Leaving { stage: Leave::Closed, .. } => {
                    self.hang(id, HangCause::Lingered, actions);
                }
                WorkerState::Killed { .. } => {}
            }
        }
    }

    fn meet_step_deadlines(&mut self, now: Instant, actions: &mut Actions) {
        let late: Vec<_> = self
            .steps
            .values()
            .filter(|step| step.deadline().is_some_and(|deadline| now >= deadline))
            .filter_map(|step| match step.state {
                StepState::Waiting => None,
                StepState::Running { worker, .. } => Some((worker, HangCause::NoProgress)),
                StepState::Cancelling { worker, .. } => Some((worker, HangCause::IgnoredCancel)),
            })
            .collect();
        for (worker, cause) in late {
            if self.workers.get(&worker).is_some_and(Worker::counts) {
                self.hang(worker, cause, actions);
            }
        }
    }

    fn is_late(&self, step: StepId, now: Instant) -> bool {
        self.steps.get(&step).and_then(Step::deadline).is_some_and(|deadline| now >= deadline)
    }

    fn hang(&mut self, worker: WorkerId, cause: HangCause, actions: &mut Actions) {
        self.counters.hangs += 1;
        actions.push(Action::Report(PoolEvent::WorkerHung { worker, cause }));
        self.kill(worker, cause.as_str().to_owned(), actions);
    }

    fn kill(&mut self, id: WorkerId, why: String, actions: &mut Actions) {
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

    /// Lets worn workers go, each only when another one is ready to take its place.
    fn recycle(&mut self, now: Instant, actions: &mut Actions) {
        let is_worn = |worker: &Worker| worker.serving().is_some_and(|serving| serving.must_recycle);
        let fresh =
            self.workers.values().filter(|worker| worker.serving().is_some() && !is_worn(worker)).count();
        if fresh == 0 {
            return;
        }
        let idle = self.workers.iter().find(|(_, worker)| is_worn(worker) && worker.is_idle());
        if let Some(id) = idle.map(|(id, _)| *id) {
            self.counters.recycled += 1;
            actions.push(Action::Report(PoolEvent::WorkerRecycled { worker: id }));
            self.leave(id, now, actions);
        }
    }

    fn missing_workers(&self) -> usize {
        let wanted = match self.health.breaker() {
            _ if self.is_stopping => 0,
            Breaker::Closed => self.config.wanted_workers(),
            Breaker::HalfOpen => 1,
            Breaker::Open { .. } => 0,
        };
        let present = self.workers.values().filter(|worker| worker.holds_its_place()).count();
        wanted.saturating_sub(present)
    }

    fn spawn(&mut self, now: Instant, actions: &mut Actions) {
        if self.health.not_before().is_some_and(|at| now < at) {
            return;
        }
        for _ in 0..self.missing_workers() {
            self.last_worker += 1;
            let id = WorkerId(self.last_worker);
            self.workers.insert(id, Worker::starting(now, now + self.config.ready_timeout));
            self.counters.started += 1;
            actions.push(Action::Spawn { worker: id });
        }
    }

    fn dispatch(&mut self, now: Instant, actions: &mut Actions) {
        while let Some(&id) = self.waiting.front() {
            let Some(step) = self.steps.get(&id) else {
                self.waiting.pop_front();
                continue;
            };
            // Strictly in order: a step that must be alone is not overtaken for ever.
            let Some(worker) = self.worker_for(step) else { return };
            self.waiting.pop_front();
            let is_streamed = step.wants_stream && !step.is_replay && self.trust.allows(now);
            let progress_until = now + self.config.step_timeout;
            if let Some(step) = self.steps.get_mut(&id) {
                step.state = StepState::Running { worker, is_streamed, progress_until };
            }
            if let Some(serving) = self.serving_mut(worker) {
                serving.steps.insert(id);
            }
            actions.push(Action::Generate { worker, step: id, stream: is_streamed });
        }
    }

    /// The worker that can take the step now. Of the workers that are ready, one stays free to take over.
    fn worker_for(&self, step: &Step) -> Option<WorkerId> {
        let usable = || {
            self.workers
                .iter()
                .filter_map(|(id, worker)| Some((*id, worker.serving()?)))
                .filter(|(_, serving)| !serving.must_recycle)
        };
        let busy = usable().filter(|(_, serving)| !serving.steps.is_empty()).count();
        if self.health.breaker() != Breaker::Closed && busy > 0 {
            return None;
        }
        let hosts_suspect = |serving: &Serving| {
            serving.steps.iter().any(|step| self.steps.get(step).is_some_and(|step| step.is_suspect))
        };
        if !step.is_suspect {
            let shared = usable().find(|(_, serving)| {
                (1..serving.parallel_steps).contains(&serving.steps.len()) && !hosts_suspect(serving)
            });
            if let Some((id, _)) = shared {
                return Some(id);
            }
        }
        if busy >= self.config.workers.max(1) {
            return None;
        }
        let mut idle = usable().filter(|(_, serving)| serving.steps.is_empty()).map(|(id, _)| id);
        if step.is_replay { idle.next_back() } else { idle.next() }
    }
}

fn shutting_down() -> ModelError {
    ModelError::new(ErrorCode::ModelUnavailable, "The model is being shut down.")
}

fn quarantined(crashes: u32, exit: &Exit) -> ModelError {
    let why = exit.why_killed.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    let message =
        format!("The model crashed {crashes} times on this request; the last worker {}{why}.", exit.cause);
    let mut error = ModelError::new(ErrorCode::GenerationFailed, message);
    error.is_final = true;
    error.data.insert("workerCrashes".to_owned(), crashes.into());
    if let Some(signal) = exit.cause.signal() {
        error.data.insert("signal".to_owned(), signal.into());
    }
    error
}
