//! Counting tokens.

use super::*;

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
