//! Steps that crash whatever plays them: found, given up for good, and nobody else pays for them.

use oam_tests::{
    pool::{until, workers},
    script::text,
};
use serde_json::json;

#[test]
fn a_step_that_crashes_three_workers_fails_and_the_session_goes_on() {
    let mut pool = workers().fault("segv:word=boom").with_events().start();
    pool.play_with("a", [text("one"), text("two")], json!({"options": {"maxAttempts": 5}}));
    assert_eq!(pool.turn("a", "x")["text"], "one");
    let turn = pool.start_turn("a", "boom");
    let error = pool.wait_fails(&turn);
    assert_eq!((error.code, error.name.as_str()), (-32012, "generation_failed"));
    assert_eq!(
        *error.data,
        json!({"code": "generation_failed", "workerCrashes": 3, "reason": "crash", "signal": "SIGSEGV"})
    );
    assert!(error.message.contains("SIGSEGV"), "{}", error.message);
    let status = pool.status();
    assert_eq!(status["counters"]["crashes"], json!({"SIGSEGV": 3}), "the verdict is final: {status}");
    assert_eq!((&status["counters"]["quarantined"], &status["counters"]["replays"]), (&json!(1), &json!(2)));
    let [first, last] = [0, 2].map(|exit| status["lastExits"][exit]["worker"].clone());
    assert_eq!(pool.event("stepReplayed"), json!({"type": "stepReplayed", "worker": first, "crashes": 1}));
    assert_eq!(
        pool.event("stepQuarantined"),
        json!({"type": "stepQuarantined", "worker": last, "crashes": 3})
    );
    for words in [
        &*format!(
            "a step was played again, because worker {} was killed by SIGSEGV",
            first.as_str().unwrap()
        ),
        "This request cost 3 workers, one after the other, and is given up; the last one was killed by SIGSEGV.",
    ] {
        let line = format!("warning: session \"a\", requestId {turn}: {words}");
        until(&line, || pool.stderr().contains(&line));
    }

    assert_eq!(pool.turn("a", "y")["text"], "two");
    let prompts: Vec<_> = pool.entries("a").iter().filter(|entry| entry["role"] == "user").cloned().collect();
    assert_eq!(prompts.len(), 2, "the turn that failed left no trace");
}

#[test]
fn how_many_crashes_are_enough_can_be_said() {
    for (limit, crashes) in [("1", 1), ("2", 2), ("4", 4)] {
        let mut pool = workers().fault("exit1:word=boom").flags(&["--max-step-crashes", limit]).start();
        pool.open("a", json!({}));
        let turn = pool.start_turn("a", "boom");
        let error = pool.wait_fails(&turn);
        assert_eq!(
            *error.data,
            json!({"code": "generation_failed", "workerCrashes": crashes, "reason": "crash"}),
            "no signal"
        );
        assert_eq!(pool.crashes(), json!({"exit 1": crashes}));
    }
}

#[test]
fn of_several_steps_in_flight_the_guilty_one_is_found_and_the_others_pay_once() {
    // The first of four crashes after a while, the last at once; meanwhile the others are at work.
    for (fault, position) in [("abort:word=boom", 0), ("abort:word=boom+at=start", 3)] {
        let mut pool = workers().worker_args(&["--parallel", "4"]).fault(fault).with_events().start();
        let mut sessions = vec!["a", "b", "c"];
        sessions.insert(position, "guilty");
        for session in &sessions {
            let delay = if *session == "guilty" { 300 } else { 900 };
            pool.play(session, [json!({"text": format!("{session} speaks"), "delayMs": delay})]);
        }
        pool.when_ready(2);
        let prompt = |session: &str| if session == "guilty" { "boom" } else { "x" };
        let turns: Vec<_> =
            sessions.iter().map(|session| (*session, pool.start_turn(session, prompt(session)))).collect();
        for (session, turn) in &turns {
            if *session == "guilty" {
                let error = pool.wait_fails(turn);
                assert_eq!(error.data["workerCrashes"], 3, "only those count for which it was alone");
                assert_eq!(error.data["signal"], "SIGABRT");
            } else {
                assert_eq!(pool.wait_ok(turn)["text"], format!("{session} speaks"));
            }
        }
        let together = pool.event("workerDied")["steps"].as_u64().unwrap();
        assert!(together > 1, "they ran side by side");
        let status = pool.status();
        assert_eq!(status["counters"]["crashes"], json!({"SIGABRT": 4}), "{status}");
        // All that were in flight once, and the guilty one after each of its crashes but the last.
        assert_eq!(status["counters"]["replays"], together + 2, "{status}");
    }
}

#[test]
fn two_requests_that_kill_workers_one_after_the_other_close_the_model_to_nobody() {
    let mut pool = workers().fault("abort:word=boom").start();
    for session in ["a", "b", "c"] {
        pool.open(session, json!({}));
    }
    let guilty = ["a", "b"].map(|session| pool.start_turn(session, "boom"));
    let innocent = pool.start_turn("c", "Hello");
    for turn in &guilty {
        assert_eq!(pool.wait_fails(turn).data["workerCrashes"], 3);
    }
    assert_eq!(pool.wait_ok(&innocent)["text"], "You say: Hello");
    assert_eq!(pool.status()["breaker"], "closed");
}

#[test]
fn turns_of_others_are_answered_while_one_crashes_again_and_again() {
    let mut pool = workers().fault("abort:word=boom").flags(&["--workers", "2"]).start();
    for session in ["a", "b", "c", "guilty"] {
        pool.open(session, json!({}));
    }
    for _ in 0..3 {
        let guilty = pool.start_turn("guilty", "boom");
        let turns: Vec<_> = ["a", "b", "c"].map(|session| pool.start_turn(session, "Hello")).into();
        for turn in &turns {
            assert_eq!(pool.wait_ok(turn)["text"], "You say: Hello");
        }
        assert_eq!(pool.wait_fails(&guilty).data["workerCrashes"], 3);
        // A step that ends well tells that it is not the workers' fault.
        pool.turn("a", "Hello");
    }
    assert_eq!(pool.counter("quarantined"), 3);
}
