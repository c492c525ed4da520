//! Pauses between starts, and the breaker.

use super::*;

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
    assert!(error.message.ends_with("the worker hung (no progress) and was killed."), "{}", error.message);
    assert_eq!(error.data["reason"], "hang");
}
