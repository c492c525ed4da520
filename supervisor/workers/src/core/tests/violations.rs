//! Workers that do not keep to the protocol.

use super::*;

#[test]
fn a_worker_that_breaks_the_protocol_is_killed() {
    let mut pool = Simulation::ready(config(), 1);
    pool.tell(Event::Violation { worker: FIRST, reason: "garbage".into() });
    assert_eq!(pool.killed(), [FIRST]);
    assert_eq!(pool.core.counters().violations, 1);
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
