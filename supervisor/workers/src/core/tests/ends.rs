//! Workers that are asked to exit.

use super::*;

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
fn a_worker_that_is_killed_while_it_starts_because_the_pool_stops_has_not_died() {
    let mut pool = Simulation::new(config());
    pool.tell(Event::Stop);
    assert_eq!(pool.killed(), [FIRST]);
    pool.tell(Event::Exited { worker: FIRST, exit: killed_by("SIGKILL") });
    assert!(pool.reports.is_empty() && pool.core.counters().crashes.is_empty());
}
