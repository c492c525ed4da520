//! Counting tokens. A count may crash or block its worker as a step may, so it goes to a worker that plays no step; if
//! steps come to that worker meanwhile, none of them is to blame for what happens to it.

use std::{
    cmp::Reverse,
    time::{Duration, Instant},
};

use oam_ipc::StepId;

use super::{Action, Actions, Core, health::Breaker};
use crate::worker_id::WorkerId;

/// An answer that takes longer is not worth waiting for: whoever asked estimates.
const COUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// A count that a worker has been asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) worker: WorkerId,
    pub(super) until: Instant,
}

impl Core {
    pub(super) fn request_count(&mut self, id: StepId, now: Instant, actions: &mut Actions) {
        match self.counter() {
            Some(worker) => {
                self.counts.insert(id, Count { worker, until: now + COUNT_TIMEOUT });
                actions.push(Action::Count { worker, count: id });
            }
            None => actions.push(Action::GiveUpCount { count: id }),
        }
    }

    /// The worker's answer to the count is waited for.
    pub(crate) fn is_asked_to_count(&self, worker: WorkerId, id: StepId) -> bool {
        self.counts.get(&id).is_some_and(|count| count.worker == worker)
    }

    pub(super) fn end_count(&mut self, worker: WorkerId, id: StepId) {
        if self.is_asked_to_count(worker, id) {
            self.counts.remove(&id);
        }
    }

    /// A worker that leaves a count unanswered is not asked for another one.
    pub(super) fn meet_count_deadlines(&mut self, now: Instant, actions: &mut Actions) {
        let late: Vec<_> =
            self.counts.values().filter(|count| now >= count.until).map(|count| count.worker).collect();
        for worker in late {
            if let Some(serving) = self.serving_mut(worker) {
                serving.abilities.counts_tokens = false;
            }
        }
        self.give_up_counts(|count| now >= count.until, actions);
    }

    /// Returns whether there were such counts.
    pub(super) fn give_up_counts(
        &mut self,
        is_meant: impl Fn(&Count) -> bool,
        actions: &mut Actions,
    ) -> bool {
        let given_up: Vec<_> =
            self.counts.extract_if(.., |_, count| is_meant(count)).map(|(id, _)| id).collect();
        let were_some = !given_up.is_empty();
        actions.extend(given_up.into_iter().map(|count| Action::GiveUpCount { count }));
        were_some
    }

    pub(super) fn is_counting(&self, worker: WorkerId) -> bool {
        self.counts.values().any(|count| count.worker == worker)
    }

    /// The worker to count: idle, the one that steps come to last. A probe is for steps.
    fn counter(&self) -> Option<WorkerId> {
        if self.health.breaker() != Breaker::Closed {
            return None;
        }
        let idle = self.workers.iter().filter(|(_, worker)| {
            worker.serving().is_some_and(|serving| {
                serving.abilities.counts_tokens && serving.steps.is_empty() && !serving.must_recycle
            })
        });
        idle.map(|(id, _)| *id).max_by_key(|id| (Reverse(self.is_counting(*id)), *id))
    }
}
