//! What counts as a hang, and what does not.

use super::*;

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
fn a_worker_that_closes_its_socket_but_lingers_is_killed() {
    let mut pool = Simulation::ready(config(), 1);
    pool.tell(Event::Closed { worker: FIRST });
    assert!(pool.killed().is_empty());
    pool.pass(Duration::from_secs(1));
    assert_eq!(pool.killed(), [FIRST]);
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
