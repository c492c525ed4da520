//! Every row of what supervision promises, on simulated time and without a process.

use std::time::{Duration, Instant};

use oam_agent::ErrorCode;
use oam_ipc::StepId;

use super::{
    Action, Core, Event,
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
        for action in self.core.handle(event, self.now) {
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
fn a_hang_of_each_kind_kills_the_worker_and_plays_the_step_again() {
    let second = Duration::from_secs(1);
    let quick = PoolConfig {
        ready_timeout: second,
        step_timeout: 20 * second,
        cancel_timeout: second,
        ping_interval: second,
        ping_timeout: second,
        ..config()
    };
    // Not ready.
    let mut pool = Simulation::new(quick.clone());
    pool.done.clear();
    pool.pass(second);
    assert_eq!((pool.killed(), pool.hangs()), (vec![FIRST], vec![HangCause::NotReady]));

    // No pong, although idle.
    let mut pool = Simulation::ready(quick.clone(), 1);
    pool.pass(2 * second);
    assert_eq!((pool.killed(), pool.hangs()), (vec![FIRST], vec![HangCause::NoPong]));

    // No progress, although it answers pings.
    let mut pool = Simulation::ready(quick.clone(), 1);
    pool.ask(1, false);
    pool.generated();
    for _ in 0..20 {
        pool.pass(second);
        pool.tell(Event::Pong { worker: FIRST });
    }
    assert_eq!((pool.killed(), pool.hangs()), (vec![FIRST], vec![HangCause::NoProgress]));
    pool.die(FIRST, "SIGKILL");
    pool.get_ready(1);
    assert_eq!(pool.generated(), [(SECOND, 1, false)]);

    // A cancel that is ignored.
    let mut pool = Simulation::ready(quick, 1);
    pool.ask(1, false);
    pool.generated();
    pool.tell(Event::StepAbandoned { step: StepId(1) });
    assert!(matches!(pool.done.last(), Some(Action::Cancel { worker: FIRST, .. })));
    pool.pass(second);
    assert_eq!((pool.killed(), pool.hangs()), (vec![FIRST], vec![HangCause::IgnoredCancel]));
    pool.die(FIRST, "SIGKILL");
    pool.get_ready(1);
    assert!(pool.generated().is_empty(), "a cancelled step is not played again");
}

#[test]
fn a_step_that_hangs_is_played_again_behind_those_that_did_not() {
    let patient = PoolConfig { ping_interval: Duration::from_hours(1), ..config() };
    let mut pool = Simulation::ready(patient, 3);
    pool.ask(1, false);
    pool.pass(Duration::from_mins(1));
    pool.ask(2, false);
    pool.ask(3, false);
    pool.generated();
    pool.pass(Duration::from_mins(1));
    assert_eq!(pool.hangs(), [HangCause::NoProgress]);
    pool.die(FIRST, "SIGKILL");
    pool.get_ready(3);
    for step in [2, 3, 1] {
        assert_eq!(pool.generated(), [(SECOND, step, false)]);
        pool.finish(SECOND, step);
    }
}

#[test]
fn a_step_that_makes_progress_is_no_hang_however_long_it_takes() {
    let second = Duration::from_secs(1);
    let mut pool = Simulation::ready(PoolConfig { step_timeout: 3 * second, ..config() }, 1);
    pool.ask(1, true);
    for _ in 0..100 {
        pool.pass(second);
        pool.tell(Event::Pong { worker: FIRST });
        pool.grow(FIRST, 1, Growth::By(10));
    }
    assert_eq!(pool.hangs(), []);
}

#[test]
fn restarts_are_delayed_and_then_the_breaker_opens() {
    let mut pool = Simulation::new(config());
    let mut restarts = Vec::new();
    for number in 1..=5 {
        pool.get_ready(1);
        pool.tell(Event::Violation { worker: WorkerId(number), reason: "garbage".into() });
        let died = pool.now;
        pool.die(WorkerId(number), "SIGKILL");
        while pool.spawned() == 0 {
            pool.now = pool.core.next_deadline().expect("a restart is planned");
            pool.tell(Event::Tick);
        }
        restarts.push(pool.now.duration_since(died).as_millis());
        pool.done.push(Action::Spawn { worker: WorkerId(number + 1) });
    }
    assert_eq!(restarts, [0, 100, 200, 400, 800]);
    pool.get_ready(1);
    pool.done.clear();
    pool.die(WorkerId(6), "SIGKILL");
    assert!(matches!(pool.core.breaker(), Breaker::Open { .. }));
    pool.ask(100, false);
    let (_, error) = pool.failed().pop().expect("steps fail at once");
    assert_eq!(error.code, ErrorCode::ModelUnavailable);
    assert!(error.data["retryAfterSeconds"].as_u64().is_some_and(|seconds| (1..=10).contains(&seconds)));
}

/// A pool whose breaker is open.
fn broken() -> Simulation {
    let mut pool = Simulation::new(PoolConfig { workers: 3, ..config() });
    for number in 1..=6 {
        pool.pass(Duration::from_secs(4));
        pool.tell(Event::Exited { worker: WorkerId(number), exit: killed_by("SIGILL") });
    }
    assert!(matches!(pool.core.breaker(), Breaker::Open { .. }));
    pool
}

#[test]
fn one_probe_at_a_time_closes_the_breaker_with_its_first_finished_step() {
    let mut pool = broken();
    let left: Vec<_> = pool.core.workers().map(|(id, _)| id).collect();
    for worker in left {
        pool.tell(Event::Exited { worker, exit: killed_by("SIGILL") });
    }
    pool.done.clear();
    pool.pass(Duration::from_secs(10));
    assert_eq!(pool.core.breaker(), Breaker::HalfOpen);
    let probe = pool.get_ready(4);
    assert_eq!(probe.len(), 1);
    pool.ask(1, false);
    pool.ask(2, false);
    assert_eq!(pool.generated(), [(probe[0], 1, false)], "one step at a time");
    pool.finish(probe[0], 1);
    assert_eq!(pool.core.breaker(), Breaker::Closed);
    assert!(pool.reports.contains(&PoolEvent::BreakerClosed));
    assert_eq!(pool.spawned(), 2, "the other workers come back");
}

#[test]
fn each_time_that_the_breaker_opens_the_pause_is_told() {
    let mut pool = broken();
    let left: Vec<_> = pool.core.workers().map(|(id, _)| id).collect();
    for worker in left {
        pool.tell(Event::Exited { worker, exit: killed_by("SIGILL") });
    }
    pool.pass(Duration::from_secs(10));
    let (probe, _) = pool.core.workers().next().expect("a probe");
    pool.die(probe, "SIGILL");
    let pauses: Vec<_> = pool
        .reports
        .iter()
        .filter_map(|report| match report {
            PoolEvent::BreakerOpened { retry_after } => Some(retry_after.as_millis()),
            _ => None,
        })
        .collect();
    assert_eq!(pauses, [1600, 3200, 6400, 10_000], "two that were left, then the probe");
}

#[test]
fn requests_that_kill_workers_do_not_close_the_model_to_others() {
    let mut pool = Simulation::ready(config(), 1);
    for step in 1..=4 {
        pool.ask(step, false);
        while pool.failed().is_empty() {
            let (worker, ..) = pool.generated()[0];
            pool.die(worker, "SIGSEGV");
            pool.pass(Duration::from_secs(1));
            pool.get_ready(1);
        }
        assert_eq!(pool.core.breaker(), Breaker::Closed, "after step {step}");
    }
    pool.ask(5, false);
    for _ in 0..2 {
        let (worker, ..) = pool.generated()[0];
        pool.die(worker, "SIGSEGV");
        pool.pass(Duration::from_millis(900));
        pool.get_ready(1);
    }
    assert!(matches!(pool.core.breaker(), Breaker::Open { .. }), "a model that dies of everything");
}

#[test]
fn a_worker_that_cannot_be_started_counts_as_dead() {
    let mut pool = Simulation::new(config());
    pool.ask(1, false);
    for number in 1..=6 {
        let exit = Exit { cause: ExitCause::NotStarted("No such file".into()), ..killed_by("") };
        pool.tell(Event::Exited { worker: WorkerId(number), exit });
        pool.pass(Duration::from_secs(4));
    }
    let (_, error) = pool.failed().remove(0);
    assert_eq!(error.code, ErrorCode::ModelUnavailable);
    assert!(error.message.contains("could not be started: No such file"), "{}", error.message);
}

#[test]
fn a_worker_that_breaks_the_protocol_is_killed() {
    let mut pool = Simulation::ready(config(), 1);
    pool.tell(Event::Violation { worker: FIRST, reason: "garbage".into() });
    assert_eq!(pool.killed(), [FIRST]);
    assert_eq!(pool.core.counters().violations, 1);
}

#[test]
fn errors_say_why_workers_were_killed() {
    let mut pool = Simulation::new(config());
    pool.ask(1, false);
    for number in 1..=6 {
        let worker = WorkerId(number);
        pool.tell(Event::Violation { worker, reason: "it speaks version 99".into() });
        pool.tell(Event::Exited { worker, exit: Exit { was_ready: false, ..killed_by("SIGKILL") } });
        pool.pass(Duration::from_secs(1));
    }
    let (_, error) = pool.failed().remove(0);
    assert_eq!(error.code, ErrorCode::ModelUnavailable);
    let told = "was killed by SIGKILL after 1.0 s, before it was ready (it speaks version 99)";
    assert!(error.message.contains(told), "{}", error.message);

    let patient = PoolConfig { ping_interval: Duration::from_hours(1), ..config() };
    let mut pool = Simulation::ready(PoolConfig { max_step_crashes: 1, ..patient }, 1);
    pool.ask(1, false);
    pool.pass(Duration::from_mins(2));
    pool.die(FIRST, "SIGKILL");
    let (_, error) = pool.failed().remove(0);
    assert!(error.message.ends_with("the last one hung (no progress) and was killed."), "{}", error.message);
    assert_eq!(error.data["reason"], "hang");
}

#[test]
fn a_worker_that_closes_its_socket_but_lingers_is_killed() {
    let mut pool = Simulation::ready(config(), 1);
    pool.tell(Event::Closed { worker: FIRST });
    assert!(pool.killed().is_empty());
    pool.pass(Duration::from_secs(1));
    assert_eq!(pool.killed(), [FIRST]);
}

#[test]
fn what_a_worker_says_of_a_step_it_does_not_play_is_ignored() {
    let mut pool = Simulation::ready(PoolConfig { workers: 2, ..config() }, 1);
    pool.ask(1, false);
    assert!(pool.core.is_running(FIRST, StepId(1)));
    assert!(!pool.core.is_running(SECOND, StepId(1)));
    pool.finish(SECOND, 1);
    pool.finish(FIRST, 77);
    assert!(pool.core.is_running(FIRST, StepId(1)));
    pool.finish(FIRST, 1);
    pool.finish(FIRST, 1);
    assert_eq!(pool.core.counters().steps, 1, "a second end does not count");
}

#[test]
fn a_worn_worker_goes_only_when_another_is_ready_and_it_is_idle() {
    let mut pool = Simulation::ready(PoolConfig { recycle_after_steps: Some(2), ..config() }, 1);
    for step in 1..=2 {
        pool.ask(step, false);
        pool.finish(FIRST, step);
    }
    assert!(!pool.done.iter().any(|action| matches!(action, Action::Shutdown { .. })));
    assert_eq!(pool.get_ready(1), [SECOND], "its successor is started first");
    assert!(pool.done.iter().any(|action| matches!(action, Action::Shutdown { worker: FIRST })));
    pool.die(FIRST, "SIGTERM");
    assert!(pool.core.counters().crashes.is_empty(), "that was no crash");
    pool.ask(3, false);
    assert_eq!(pool.generated().last(), Some(&(SECOND, 3, false)));
}

#[test]
fn stopping_asks_then_terminates_then_kills_and_fails_what_waits() {
    let mut pool = Simulation::ready(config(), 1);
    pool.ask(1, false);
    pool.ask(2, false);
    pool.done.clear();
    pool.tell(Event::Stop);
    assert_eq!(pool.failed()[0].0, 2);
    assert!(matches!(pool.done.remove(0), Action::Shutdown { worker: FIRST }));
    pool.pass(Duration::from_secs(1));
    assert!(matches!(pool.done.remove(0), Action::Terminate { worker: FIRST }));
    pool.pass(Duration::from_secs(1));
    assert_eq!(pool.killed(), [FIRST]);
    pool.tell(Event::Exited { worker: FIRST, exit: killed_by("SIGKILL") });
    assert_eq!(pool.failed()[0].0, 1);
    assert!(pool.core.is_empty());
    pool.ask(3, false);
    assert_eq!(pool.failed()[0].1.code, ErrorCode::ModelUnavailable);
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

#[test]
fn parts_that_nobody_asked_for_are_no_progress() {
    let second = Duration::from_secs(1);
    let mut pool = Simulation::ready(PoolConfig { step_timeout: 3 * second, ..config() }, 1);
    pool.ask(1, false);
    for _ in 0..3 {
        pool.grow(FIRST, 1, Growth::By(10));
        assert!(!pool.core.is_streaming(FIRST, StepId(1)));
        pool.pass(second);
        pool.tell(Event::Pong { worker: FIRST });
    }
    assert_eq!(pool.hangs(), [HangCause::NoProgress]);
}

#[test]
fn an_answer_that_is_too_long_is_a_violation_and_not_believed() {
    for stream in [true, false] {
        let mut pool = Simulation::ready(config(), 1);
        pool.ask(1, stream);
        pool.grow(FIRST, 1, Growth::By(MAX_ANSWER_BYTES));
        pool.grow(FIRST, 1, Growth::To(MAX_ANSWER_BYTES / 2));
        pool.grow(FIRST, 1, Growth::By(MAX_ANSWER_BYTES / 2));
        assert_eq!(pool.killed(), []);
        pool.grow(FIRST, 1, Growth::By(1));
        assert_eq!((pool.killed(), pool.core.counters().violations), (vec![FIRST], 1));
        pool.finish(FIRST, 1);
        assert!(pool.core.holds(StepId(1)) && !pool.core.is_running(FIRST, StepId(1)));
        pool.die(FIRST, "SIGKILL");
        pool.get_ready(1);
        assert_eq!(pool.generated().last(), Some(&(SECOND, 1, false)));

        pool.tell(Event::StepEnded { worker: SECOND, step: StepId(1), bytes: MAX_ANSWER_BYTES + 1 });
        assert_eq!(pool.killed(), [SECOND]);
        assert!(pool.core.holds(StepId(1)));
    }
}

#[test]
fn a_request_that_breaks_the_protocol_each_time_says_so() {
    let mut pool = Simulation::ready(PoolConfig { max_step_crashes: 2, ..config() }, 1);
    pool.ask(1, false);
    for _ in 0..2 {
        let (worker, ..) = pool.generated()[0];
        pool.tell(Event::Violation { worker, reason: "garbage".into() });
        pool.die(worker, "SIGKILL");
        pool.get_ready(1);
    }
    let (_, error) = pool.failed().remove(0);
    assert_eq!(
        error.message,
        "This request cost 2 workers, one after the other, and is given up; the last one broke the protocol \
         (garbage) and was killed."
    );
    assert_eq!(error.data["reason"], "violation");
}

#[test]
fn a_worker_that_is_killed_while_it_starts_because_the_pool_stops_has_not_died() {
    let mut pool = Simulation::new(config());
    pool.tell(Event::Stop);
    assert_eq!(pool.killed(), [FIRST]);
    pool.tell(Event::Exited { worker: FIRST, exit: killed_by("SIGKILL") });
    assert!(pool.reports.is_empty() && pool.core.counters().crashes.is_empty());
}

#[test]
fn tokens_are_counted_by_an_idle_worker_or_not_at_all() {
    let mut pool = Simulation::ready(PoolConfig { spare: true, ..config() }, 1);
    pool.ask(1, false);
    pool.count(10);
    assert_eq!(pool.counted(), (vec![(SECOND, 10)], vec![]), "the other one plays a step");

    let mut pool = Simulation::ready(config(), 1);
    pool.ask(1, false);
    pool.count(10);
    assert_eq!(pool.counted(), (vec![], vec![10]));

    let mut pool = Simulation::new(config());
    pool.get_ready_with(Abilities { counts_tokens: false, ..abilities(1) });
    pool.count(10);
    assert_eq!(pool.counted(), (vec![], vec![10]));
}

#[test]
fn a_worker_that_leaves_a_count_unanswered_is_not_asked_again() {
    let mut pool = Simulation::ready(config(), 1);
    pool.count(10);
    pool.tell(Event::CountEnded { worker: FIRST, count: StepId(10) });
    pool.count(11);
    assert_eq!(pool.counted(), (vec![(FIRST, 10), (FIRST, 11)], vec![]));
    pool.pass(Duration::from_secs(2));
    assert_eq!(pool.counted(), (vec![], vec![11]));
    pool.count(12);
    assert_eq!(pool.counted(), (vec![], vec![12]));
    assert!(pool.killed().is_empty());
}

#[test]
fn no_step_is_blamed_for_a_count_that_kills_its_worker() {
    let mut pool = Simulation::ready(PoolConfig { max_step_crashes: 1, ..config() }, 1);
    pool.count(10);
    pool.ask(1, false);
    assert_eq!(pool.generated(), [(FIRST, 1, false)]);
    pool.counted();
    pool.die(FIRST, "SIGSEGV");
    assert_eq!(pool.counted(), (vec![], vec![10]), "whoever asked estimates");
    assert!(pool.failed().is_empty());

    // Now the step is a suspect: it is not sent where a count could be to blame.
    pool.tell(Event::Ready { worker: SECOND, abilities: abilities(1) });
    assert_eq!(pool.generated(), [(SECOND, 1, false)]);
    pool.count(11);
    assert_eq!(pool.counted(), (vec![], vec![11]));
    pool.die(SECOND, "SIGSEGV");
    assert_eq!(pool.failed()[0].0, 1);
}

#[test]
fn a_suspect_waits_for_a_count_to_end() {
    let mut pool = Simulation::ready(PoolConfig { workers: 2, ..config() }, 2);
    pool.count(10);
    assert_eq!(pool.counted().0, [(SECOND, 10)]);
    pool.ask(1, false);
    assert_eq!(pool.generated(), [(FIRST, 1, false)], "steps like a worker that does not count better");
    pool.die(FIRST, "SIGSEGV");
    assert!(pool.generated().is_empty());
    pool.tell(Event::CountEnded { worker: SECOND, count: StepId(10) });
    assert_eq!(pool.generated(), [(SECOND, 1, false)]);
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
