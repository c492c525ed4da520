//! Who works: how many workers there are, which of them goes, and which one plays a step.

use std::time::Instant;

use super::{
    Action, Actions, Core,
    health::Breaker,
    step::{Step, StepState},
    worker::{Serving, Worker},
};
use crate::{status::PoolEvent, worker_id::WorkerId};

impl Core {
    /// Lets worn workers go, each only when another one is ready to take its place.
    pub(super) fn recycle(&mut self, now: Instant, actions: &mut Actions) {
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

    pub(super) fn missing_workers(&self) -> usize {
        let wanted = match self.health.breaker() {
            _ if self.is_stopping => 0,
            Breaker::Closed => self.config.wanted_workers(),
            Breaker::HalfOpen => 1,
            Breaker::Open { .. } => 0,
        };
        let present = self.workers.values().filter(|worker| worker.holds_its_place()).count();
        wanted.saturating_sub(present)
    }

    pub(super) fn spawn(&mut self, now: Instant, actions: &mut Actions) {
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

    pub(super) fn dispatch(&mut self, now: Instant, actions: &mut Actions) {
        while let Some(&id) = self.waiting.front() {
            let Some(step) = self.steps.get(&id) else {
                self.waiting.pop_front();
                continue;
            };
            // Strictly in order: a step that must be alone is not overtaken for ever.
            let Some(worker) = self.worker_for(step) else { return };
            self.waiting.pop_front();
            let can_stream = self
                .workers
                .get(&worker)
                .and_then(Worker::serving)
                .is_some_and(|serving| serving.abilities.streams);
            let is_streamed = step.wants_stream && !step.is_replay && can_stream && self.trust.allows(now);
            let progress_until = now + self.config.step_timeout;
            if let Some(step) = self.steps.get_mut(&id) {
                step.state = StepState::Running { worker, is_streamed, progress_until, answer_bytes: 0 };
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
        // A suspect is alone, so it would be the first one.
        let hosts_suspect = |serving: &Serving| {
            let first = serving.steps.first().and_then(|step| self.steps.get(step));
            first.is_some_and(|step| step.is_suspect)
        };
        if !step.is_suspect {
            let shared = usable().find(|(_, serving)| {
                (1..serving.abilities.parallel_steps).contains(&serving.steps.len())
                    && !hosts_suspect(serving)
            });
            if let Some((id, _)) = shared {
                return Some(id);
            }
        }
        if busy >= self.config.workers.max(1) {
            return None;
        }
        let idle = || usable().filter(|(_, serving)| serving.steps.is_empty()).map(|(id, _)| id);
        let mut alone = idle().filter(|id| !self.is_counting(*id));
        let alone = if step.is_replay { alone.next_back() } else { alone.next() };
        // A suspect waits until no count could be to blame for its next crash; others only like it better so.
        if step.is_suspect { alone } else { alone.or_else(|| idle().next()) }
    }
}
