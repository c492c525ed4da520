//! Every row of what supervision promises, on simulated time and without a process.

mod breaker;
mod counting;
mod ends;
mod hangs;
mod violations;

use std::time::{Duration, Instant};

use oam_agent::ErrorCode;
use oam_ipc::StepId;

use super::{
    Action, Actions, Core, Event,
    health::Breaker,
    step::{Growth, MAX_ANSWER_BYTES},
    worker::Abilities,
};
use crate::{
    config::{PoolConfig, StreamingPolicy, WorkerCommand},
    exit::{Exit, ExitCause},
    status::{HangCause, PoolEvent},
    worker_id::WorkerId,
};

/// A pool whose workers do what the test says.
struct Simulation {
    core: Core,
    now: Instant,
    /// What was to be done since the last look, reports left out.
    done: Vec<Action>,
    reports: Vec<PoolEvent>,
}

fn config() -> PoolConfig {
    let command = WorkerCommand { program: "worker".into(), arguments: Vec::new() };
    PoolConfig { spare: false, ..PoolConfig::new(command) }
}

fn killed_by(signal: &str) -> Exit {
    Exit {
        cause: ExitCause::Signal(signal.to_owned()),
        uptime: Duration::from_secs(1),
        was_ready: true,
        why_killed: None,
        stderr: Vec::new(),
    }
}

/// Of a worker that can do all there is.
fn abilities(parallel_steps: usize) -> Abilities {
    Abilities { parallel_steps, streams: true, counts_tokens: true }
}

impl Simulation {
    fn new(config: PoolConfig) -> Self {
        let mut simulation =
            Self { core: Core::new(config), now: Instant::now(), done: Vec::new(), reports: Vec::new() };
        simulation.tell(Event::Tick);
        simulation
    }

    /// A pool whose first workers are ready.
    fn ready(config: PoolConfig, parallel_steps: usize) -> Self {
        let mut simulation = Self::new(config);
        simulation.get_ready(parallel_steps);
        simulation.done.clear();
        simulation
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Actions::new();
        self.core.handle(event, self.now, &mut actions);
        for action in actions {
            match action {
                Action::Report(report) => self.reports.push(report),
                action => self.done.push(action),
            }
        }
    }

    /// Lets every worker that was started get ready. Returns them.
    fn get_ready(&mut self, parallel_steps: usize) -> Vec<WorkerId> {
        self.get_ready_with(abilities(parallel_steps))
    }

    fn get_ready_with(&mut self, abilities: Abilities) -> Vec<WorkerId> {
        let started = self.take(|action| match action {
            Action::Spawn { worker } => Some(*worker),
            _ => None,
        });
        for worker in &started {
            self.tell(Event::Ready { worker: *worker, abilities });
        }
        started
    }

    /// Lets time pass, deadline by deadline.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(deadline) = self.core.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.tell(Event::Tick);
        }
        self.now = end;
    }

    fn ask(&mut self, step: u64, stream: bool) {
        self.tell(Event::StepRequested { step: StepId(step), stream });
    }

    fn take<T>(&mut self, mut wanted: impl FnMut(&Action) -> Option<T>) -> Vec<T> {
        let mut taken = Vec::new();
        self.done.retain(|action| match wanted(action) {
            Some(value) => {
                taken.push(value);
                false
            }
            None => true,
        });
        taken
    }

    /// The steps sent to workers since the last look: `(worker, step, streamed)`.
    fn generated(&mut self) -> Vec<(WorkerId, u64, bool)> {
        self.take(|action| match action {
            Action::Generate { worker, step, stream } => Some((*worker, step.0, *stream)),
            _ => None,
        })
    }

    fn spawned(&mut self) -> usize {
        self.take(|action| matches!(action, Action::Spawn { .. }).then_some(())).len()
    }

    fn killed(&mut self) -> Vec<WorkerId> {
        self.take(|action| match action {
            Action::Kill { worker } => Some(*worker),
            _ => None,
        })
    }

    fn failed(&mut self) -> Vec<(u64, oam_agent::ModelError)> {
        self.take(|action| match action {
            Action::Fail { step, error } => Some((step.0, error.clone())),
            _ => None,
        })
    }

    fn die(&mut self, worker: WorkerId, signal: &str) {
        self.tell(Event::Closed { worker });
        self.tell(Event::Exited { worker, exit: killed_by(signal) });
    }

    fn finish(&mut self, worker: WorkerId, step: u64) {
        self.tell(Event::StepEnded { worker, step: StepId(step), bytes: 10 });
    }

    fn grow(&mut self, worker: WorkerId, step: u64, growth: Growth) {
        self.tell(Event::Part { worker, step: StepId(step), growth });
    }

    fn count(&mut self, count: u64) {
        self.tell(Event::CountRequested { count: StepId(count) });
    }

    /// The counts sent to workers since the last look, and those that were given up.
    fn counted(&mut self) -> (Vec<(WorkerId, u64)>, Vec<u64>) {
        let sent = self.take(|action| match action {
            Action::Count { worker, count } => Some((*worker, count.0)),
            _ => None,
        });
        let given_up = self.take(|action| match action {
            Action::GiveUpCount { count } => Some(count.0),
            _ => None,
        });
        (sent, given_up)
    }

    fn hangs(&self) -> Vec<HangCause> {
        self.reports
            .iter()
            .filter_map(|report| match report {
                PoolEvent::WorkerHung { cause, .. } => Some(*cause),
                _ => None,
            })
            .collect()
    }
}

const FIRST: WorkerId = WorkerId(1);
const SECOND: WorkerId = WorkerId(2);

#[test]
fn a_step_waits_for_a_worker_and_is_sent_to_it() {
    let mut pool = Simulation::new(config());
    pool.ask(1, true);
    assert!(pool.generated().is_empty());
    pool.get_ready(1);
    assert_eq!(pool.generated(), [(FIRST, 1, true)]);
}

#[test]
fn a_worker_gets_no_more_steps_at_once_than_it_takes() {
    let mut pool = Simulation::ready(config(), 2);
    (1..=3).for_each(|step| pool.ask(step, false));
    assert_eq!(pool.generated(), [(FIRST, 1, false), (FIRST, 2, false)]);
    pool.finish(FIRST, 1);
    assert_eq!(pool.generated(), [(FIRST, 3, false)]);
}

#[test]
fn the_spare_takes_over_at_once_and_is_replaced() {
    let mut pool = Simulation::ready(PoolConfig { spare: true, ..config() }, 1);
    pool.ask(1, true);
    assert_eq!(pool.generated(), [(FIRST, 1, true)]);
    pool.die(FIRST, "SIGSEGV");
    assert_eq!(pool.generated(), [(SECOND, 1, false)], "played again, not streamed");
    assert_eq!(pool.spawned(), 1);
}

#[test]
fn the_spare_takes_no_step_while_nobody_died() {
    let mut pool = Simulation::ready(PoolConfig { spare: true, ..config() }, 1);
    pool.ask(1, false);
    pool.ask(2, false);
    assert_eq!(pool.generated(), [(FIRST, 1, false)]);
}

#[test]
fn a_step_that_crashes_its_worker_again_and_again_fails_for_good() {
    let mut pool = Simulation::ready(config(), 1);
    pool.ask(1, false);
    for _ in 0..3 {
        let (worker, ..) = pool.generated()[0];
        pool.die(worker, "SIGABRT");
        pool.pass(Duration::from_secs(1));
        pool.get_ready(1);
    }
    let (step, error) = pool.failed().remove(0);
    assert_eq!((step, error.code, error.is_final), (1, ErrorCode::GenerationFailed, true));
    assert_eq!(
        serde_json::json!(error.data),
        serde_json::json!({"workerCrashes": 3, "reason": "crash", "signal": "SIGABRT"})
    );
    pool.ask(2, false);
    assert_eq!(pool.generated().len(), 1, "nobody else is affected");
    assert_eq!(pool.core.counters().quarantined, 1);
}

#[test]
fn of_several_steps_the_guilty_one_is_found_and_the_innocent_pay_once() {
    let mut pool = Simulation::ready(config(), 4);
    (1..=3).for_each(|step| pool.ask(step, false));
    assert_eq!(pool.generated().len(), 3);
    pool.die(FIRST, "SIGSEGV");
    // Step 2 is the guilty one: it kills whatever worker it is on.
    let mut finished = Vec::new();
    let mut crashes = 0;
    for _ in 0..8 {
        pool.pass(Duration::from_secs(1));
        pool.get_ready(4);
        let sent = pool.generated();
        assert!(sent.len() <= 1, "suspects are alone: {sent:?}");
        match sent.first() {
            Some((worker, 2, _)) => {
                crashes += 1;
                pool.die(*worker, "SIGSEGV");
            }
            Some((worker, step, _)) => {
                pool.finish(*worker, *step);
                finished.push(*step);
            }
            None => {}
        }
    }
    assert_eq!((finished.as_slice(), crashes), ([1, 3].as_slice(), 3));
    assert_eq!(pool.failed()[0].0, 2);
}

#[test]
fn a_crash_while_streaming_stops_streaming_for_a_while() {
    let mut pool = Simulation::ready(PoolConfig { ping_interval: Duration::from_hours(1), ..config() }, 1);
    pool.ask(1, true);
    pool.generated();
    pool.die(FIRST, "SIGTRAP");
    let worker = pool.get_ready(1)[0];
    pool.finish(worker, 1);
    pool.generated();
    pool.ask(2, true);
    assert_eq!(pool.generated(), [(worker, 2, false)]);
    pool.finish(worker, 2);
    pool.pass(Duration::from_secs(31));
    pool.ask(3, true);
    assert!(pool.generated()[0].2);
}

#[test]
fn streaming_can_be_forced_on_or_off() {
    for (streaming, is_streamed) in [(StreamingPolicy::Always, true), (StreamingPolicy::Never, false)] {
        let mut pool = Simulation::ready(PoolConfig { streaming, ..config() }, 1);
        pool.ask(1, true);
        assert_eq!(pool.generated(), [(FIRST, 1, is_streamed)]);
    }
}

#[test]
fn too_many_waiting_steps_are_refused() {
    let mut pool = Simulation::new(PoolConfig { max_waiting_steps: 2, ..config() });
    (1..=3).for_each(|step| pool.ask(step, false));
    assert_eq!(pool.failed()[0].1.code, ErrorCode::Busy);
}

#[test]
fn a_step_that_cannot_be_sent_fails_and_harms_nobody() {
    let mut pool = Simulation::ready(config(), 1);
    pool.ask(1, false);
    pool.ask(2, false);
    pool.generated();
    let error = oam_agent::ModelError::new(ErrorCode::ContextSizeExceeded, "too large");
    pool.tell(Event::StepUnsendable { worker: FIRST, step: StepId(1), error });
    assert_eq!(pool.failed()[0].1.code, ErrorCode::ContextSizeExceeded);
    assert_eq!(pool.generated(), [(FIRST, 2, false)]);
    assert!(pool.killed().is_empty());
}

#[test]
fn a_worker_that_does_not_stream_is_not_asked_to() {
    let mut pool = Simulation::new(config());
    pool.get_ready_with(Abilities { streams: false, ..abilities(1) });
    pool.ask(1, true);
    assert_eq!(pool.generated(), [(FIRST, 1, false)]);
}

proptest::proptest! {
    /// Whatever workers do and in whatever order, every step ends once: finished, failed, or abandoned.
    #[test]
    fn every_step_ends_exactly_once(choices in proptest::collection::vec(0_u8..=255, 1..300)) {
        let mut pool = Simulation::new(PoolConfig { workers: 2, spare: true, ..config() });
        let mut open = std::collections::BTreeSet::new();
        let mut asked = 0;
        for choice in choices {
            let workers: Vec<_> = pool.core.workers().map(|(id, _)| id).collect();
            let worker = workers.get(usize::from(choice / 16) % workers.len().max(1)).copied();
            match (choice % 8, worker) {
                (0, _) => { asked += 1; open.insert(asked); pool.ask(asked, choice > 128); }
                (1, Some(worker)) => pool.tell(Event::Ready { worker, abilities: abilities(3) }),
                (2, Some(worker)) => pool.die(worker, "SIGSEGV"),
                (3, Some(worker)) => {
                    let running = open.iter().copied().find(|step| pool.core.is_running(worker, StepId(*step)));
                    if let Some(step) = running { pool.finish(worker, step); open.remove(&step); }
                }
                (4, Some(worker)) => pool.tell(Event::Pong { worker }),
                (5, _) => pool.pass(Duration::from_secs(u64::from(choice / 8))),
                (6, _) => if let Some(step) = open.pop_first() {
                    pool.tell(Event::StepAbandoned { step: StepId(step) });
                },
                (7, Some(worker)) => pool.tell(Event::Closed { worker }),
                _ => {}
            }
            for (step, _) in pool.failed() {
                proptest::prop_assert!(open.remove(&step), "step {step} ended twice");
            }
        }
        pool.tell(Event::Stop);
        let workers: Vec<_> = pool.core.workers().map(|(id, _)| id).collect();
        for worker in workers { pool.die(worker, "SIGKILL"); }
        for (step, _) in pool.failed() {
            proptest::prop_assert!(open.remove(&step), "step {step} ended twice");
        }
        proptest::prop_assert!(open.is_empty(), "these never ended: {open:?}");
        proptest::prop_assert!(pool.core.is_empty() && pool.core.next_deadline().is_none());
    }
}
