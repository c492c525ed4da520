//! What follows from waiting too long.

use std::time::Instant;

use super::{
    Action, Actions, Core,
    health::Breaker,
    step::{Step, StepState},
    worker::{Leave, Liveness, Worker, WorkerState},
};
use crate::{
    exit::KillReason,
    status::{HangCause, PoolEvent},
    worker_id::WorkerId,
};

impl Core {
    /// When [`Event::Tick`](super::Event::Tick) is due, if nothing else happens before.
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
        let counts = self.counts.values().map(|count| count.until);
        workers.chain(counts).chain(steps.filter_map(Step::deadline)).chain(probe).chain(spawn).min()
    }

    pub(super) fn meet_worker_deadlines(&mut self, now: Instant, actions: &mut Actions) {
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
                    self.kill(id, KillReason::Stop, actions);
                }
                WorkerState::Leaving { stage: Leave::Closed, .. } => {
                    self.hang(id, HangCause::Lingered, actions);
                }
                WorkerState::Killed { .. } => {}
            }
        }
    }

    pub(super) fn meet_step_deadlines(&mut self, now: Instant, actions: &mut Actions) {
        if self.steps_checked_until.is_some_and(|until| now < until) {
            return;
        }
        // What is set from now on is due no earlier.
        let mut until = now + self.config.step_timeout.min(self.config.cancel_timeout);
        let mut late = Vec::new();
        for step in self.steps.values() {
            let (worker, deadline, cause) = match step.state {
                StepState::Waiting => continue,
                StepState::Running { worker, progress_until, .. } => {
                    (worker, progress_until, HangCause::NoProgress)
                }
                StepState::Cancelling { worker, until } => (worker, until, HangCause::IgnoredCancel),
            };
            until = until.min(deadline);
            if now >= deadline {
                late.push((worker, cause));
            }
        }
        self.steps_checked_until = Some(until);
        for (worker, cause) in late {
            if self.workers.get(&worker).is_some_and(Worker::counts) {
                self.hang(worker, cause, actions);
            }
        }
    }

    fn hang(&mut self, worker: WorkerId, cause: HangCause, actions: &mut Actions) {
        self.counters.hangs += 1;
        actions.push(Action::Report(PoolEvent::WorkerHung { worker, cause }));
        self.kill(worker, KillReason::Hang(cause), actions);
    }
}
