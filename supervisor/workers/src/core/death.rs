//! What follows from the end of a worker: its steps are played again or given up, and somebody may be to blame.

use std::time::Instant;

use oam_agent::{ErrorCode, ModelError};
use oam_ipc::StepId;

use super::{
    Action, Actions, Core, KEPT_EXITS,
    health::{Breaker, Culprit},
    shutting_down,
    step::{Step, StepState},
    worker::WorkerState,
};
use crate::{
    exit::{Exit, ExitCause, KillReason},
    status::PoolEvent,
    worker_id::WorkerId,
};

impl Core {
    pub(super) fn exited(&mut self, id: WorkerId, mut exit: Exit, now: Instant, actions: &mut Actions) {
        let Some(worker) = self.workers.remove(&id) else { return };
        exit.was_ready = worker.was_ready;
        let was_asked = worker.was_asked_to_exit();
        if let WorkerState::Killed { why } = worker.state {
            exit.why_killed = Some(why);
        }
        if self.last_exits.len() == KEPT_EXITS {
            self.last_exits.pop_front();
        }
        self.last_exits.push_back((id, exit.clone()));
        let was_counting = self.give_up_counts(|count| count.worker == id, actions);
        let mut steps: Vec<_> =
            self.steps.iter().filter(|(_, step)| step.worker() == Some(id)).map(|(id, _)| *id).collect();
        // If it was killed because one of them hung, the others should not wait for that one to hang again.
        steps.sort_by_key(|step| self.is_late(*step, now));
        if was_asked {
            for step in steps.into_iter().rev() {
                self.interrupt(step, false, id, &exit, actions);
            }
        } else {
            let was_alone = steps.len() == 1 && !was_counting;
            self.died(id, &exit, &steps, was_alone, now, actions);
        }
    }

    fn died(
        &mut self,
        id: WorkerId,
        exit: &Exit,
        steps: &[StepId],
        was_alone: bool,
        now: Instant,
        actions: &mut Actions,
    ) {
        let cause = match &exit.cause {
            ExitCause::Code(code) => format!("exit {code}"),
            ExitCause::Signal(name) => name.clone(),
            ExitCause::NotStarted(_) => "not started".to_owned(),
            ExitCause::Unknown => "unknown".to_owned(),
        };
        *self.counters.crashes.entry(cause).or_default() += 1;
        actions.push(Action::Report(PoolEvent::WorkerDied {
            worker: id,
            exit: exit.clone(),
            steps: steps.len(),
        }));
        let mut was_streaming = false;
        let mut culprit = None;
        for step in steps.iter().rev() {
            let step = self.interrupt(*step, was_alone, id, exit, actions);
            was_streaming |= step.was_streaming;
            culprit = culprit.or(step.culprit);
        }
        if was_streaming {
            self.trust.died_streaming(now);
        }
        let opened_for = self.health.died(now, culprit);
        if let Some(retry_after) = opened_for {
            actions.push(Action::Report(PoolEvent::BreakerOpened { retry_after }));
        }
        if let Breaker::Open { probe_at } = self.health.breaker() {
            let error = self.unavailable(probe_at, now);
            self.fail_waiting(&error, actions);
        }
    }

    /// The step's worker is gone.
    fn interrupt(
        &mut self,
        id: StepId,
        was_alone: bool,
        worker: WorkerId,
        exit: &Exit,
        actions: &mut Actions,
    ) -> Interruption {
        let Some(step) = self.steps.get_mut(&id) else { return Interruption::default() };
        let StepState::Running { is_streamed, .. } = step.state else {
            self.steps.remove(&id);
            return Interruption::default();
        };
        step.state = StepState::Waiting;
        step.is_replay = true;
        step.is_suspect = true;
        step.crashes += u32::from(was_alone);
        let crashes = step.crashes;
        let is_given_up = crashes >= self.config.max_step_crashes;
        if self.is_stopping {
            self.steps.remove(&id);
            actions.push(Action::Fail { step: id, error: shutting_down() });
        } else if is_given_up {
            self.steps.remove(&id);
            self.counters.quarantined += 1;
            actions.push(Action::Report(PoolEvent::StepQuarantined { worker, crashes }));
            actions.push(Action::Fail { step: id, error: quarantined(crashes, exit) });
        } else {
            self.waiting.push_front(id);
            self.counters.replays += 1;
            actions.push(Action::Report(PoolEvent::StepReplayed { worker, crashes }));
            actions.push(Action::Interrupted { step: id, why: format!("worker {worker} {exit}") });
        }
        let culprit = was_alone.then_some(Culprit { step: id, is_given_up });
        Interruption { was_streaming: is_streamed, culprit }
    }

    fn is_late(&self, step: StepId, now: Instant) -> bool {
        self.steps.get(&step).and_then(Step::deadline).is_some_and(|deadline| now >= deadline)
    }
}

/// What is known of a step whose worker is gone.
#[derive(Default)]
struct Interruption {
    was_streaming: bool,
    /// Set if the step was alone.
    culprit: Option<Culprit>,
}

fn quarantined(crashes: u32, exit: &Exit) -> ModelError {
    let last = match &exit.why_killed {
        Some(KillReason::Hang(cause)) => format!("hung ({}) and was killed", cause.as_str()),
        Some(KillReason::Violation(reason)) => format!("broke the protocol ({reason}) and was killed"),
        Some(KillReason::Stop) | None => format!("{}", exit.cause),
    };
    let message = if crashes == 1 {
        format!("This request cost a worker, and is given up; the worker {last}.")
    } else {
        format!(
            "This request cost {crashes} workers, one after the other, and is given up; the last one {last}."
        )
    };
    let mut error = ModelError::new(ErrorCode::GenerationFailed, message);
    error.is_final = true;
    error.data.insert("workerCrashes".to_owned(), crashes.into());
    error.data.insert("reason".to_owned(), exit.reason().into());
    if let Some(signal) = exit.cause.signal() {
        error.data.insert("signal".to_owned(), signal.into());
    }
    error
}
