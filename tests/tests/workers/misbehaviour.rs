//! Workers that do not keep to the protocol, or talk where nobody should hear it.

use oam_ipc::{FromWorker, LogLevel};
use oam_tests::{
    pool::{types, until, workers},
    script::text,
};
use serde_json::json;

#[test]
fn a_worker_that_makes_no_sense_is_killed_and_its_step_played_again() {
    for fault in ["garbage", "oversized", "no-calls", "long-answer", "ready-again"] {
        let mut pool = workers().fault_once(fault, "word=boom").with_events().start();
        pool.play("a", [text("The gate is shut.")]);
        let (result, _) = pool.streamed("a", "boom");
        assert_eq!(result["text"], "The gate is shut.", "{fault}");
        assert!(pool.event("workerViolated")["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
        assert_eq!(pool.event_types(), ["workerViolated", "workerDied", "stepReplayed"], "{fault}");
        assert_eq!(pool.counter("violations"), 1);
    }
}

#[test]
fn a_worker_that_speaks_before_it_is_ready_is_replaced() {
    let mut pool = workers().fault_once("early-pong", "").flags(&["--no-spare"]).start();
    pool.open("a", json!({}));
    assert_eq!(pool.turn("a", "Hello")["text"], "You say: Hello");
    assert_eq!(pool.counter("violations"), 1);
    let exit = pool.status()["lastExits"][0]["exit"].as_str().unwrap().to_owned();
    assert!(exit.contains("before it was ready (it said `pong` before `ready`)"), "{exit}");
}

#[test]
fn an_answer_without_end_is_cut_off_and_nobody_else_waits_for_it() {
    for stream in [true, false] {
        let mut pool = workers().fault("runaway:word=boom").flags(&["--workers", "2"]).start();
        pool.open("a", json!({}));
        pool.open("b", json!({}));
        let turn = pool.start_turn_with("a", "boom", json!({"stream": stream}));
        assert_eq!(pool.turn("b", "Hello")["text"], "You say: Hello");
        let error = pool.wait_fails(&turn);
        assert_eq!((&error.data["reason"], &error.data["workerCrashes"]), (&json!("violation"), &json!(3)));
        assert!(error.message.contains("its answer is longer than 1048576 bytes"), "{}", error.message);
        // The first time it was streamed, if it was to be; what was sent in the replays was not heard.
        let heard = pool.events(&turn).last().map_or(0, |event| event["text"].as_str().unwrap_or("").len());
        assert!(heard <= 1 << 20, "{heard}");
        assert_eq!(heard > 0, stream);
    }
}

#[test]
fn a_worker_that_cannot_stream_is_not_asked_to() {
    let mut pool = workers().worker_args(&["--no-streaming"]).start();
    pool.play("a", [json!({"text": "The gate is shut.", "chunks": 3})]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result["text"], "The gate is shut.");
    assert_eq!(types(&events), ["modelStep", "text"], "as a whole");
}

#[test]
fn a_request_too_large_for_a_frame_fails_at_once_and_kills_nobody() {
    let mut pool = workers().start();
    pool.play("a", [text("one"), text("two")]);
    for _ in 0..2 {
        pool.turn("a", &"x".repeat(24 << 20));
    }
    let turn = pool.start_turn("a", &"x".repeat(24 << 20));
    let error = pool.wait_fails(&turn);
    assert_eq!(error.name, "context_size_exceeded");
    assert!(error.message.contains("is over the limit of 67108864"), "{}", error.message);
    let counters = pool.status()["counters"].clone();
    assert_eq!((&counters["crashes"], &counters["started"]), (&json!({}), &json!(2)));
}

#[test]
fn half_a_frame_is_a_death() {
    let mut pool = workers().fault("half-frame:stream").start();
    pool.play("a", [text("The gate is shut.")]);
    assert_eq!(pool.streamed("a", "x").0["text"], "The gate is shut.");
    let status = pool.status();
    assert_eq!(status["counters"]["crashes"], json!({"SIGABRT": 1}));
    assert_eq!(status["counters"]["violations"], 0);
}

#[test]
fn what_is_said_twice_or_of_steps_that_do_not_exist_changes_nothing() {
    for fault in ["double-finish", "stray-events"] {
        let mut pool = workers().fault(fault).start();
        pool.play("a", (0..5).map(|index| text(&format!("answer {index}"))));
        for index in 0..5 {
            let text = format!("answer {index}");
            let result = if index % 2 == 0 { pool.turn("a", "x") } else { pool.streamed("a", "x").0 };
            assert_eq!(result["text"], text, "{fault}");
        }
        let status = pool.status();
        assert_eq!(status["counters"]["steps"], 5, "{fault}");
        assert_eq!(status["counters"]["crashes"], json!({}), "{fault}");
    }
}

#[test]
fn a_worker_that_writes_byte_by_byte_is_understood() {
    let mut pool = workers().fault("slow-drip").start();
    pool.play("a", [json!({"text": "The gate is shut.", "chunks": 3})]);
    assert_eq!(pool.streamed("a", "x").0["text"], "The gate is shut.");
    assert_eq!(pool.crashes(), json!({}));
}

#[test]
fn what_a_worker_prints_reaches_the_log_and_never_our_output() {
    let mut pool = workers().fault("print-stdout").flags(&["--log-level", "debug"]).start();
    // The client checks every line of the output.
    pool.play("a", [text("one"), text("two")]);
    pool.turn("a", "x");
    pool.streamed("a", "y");
    pool.ok("shutdown", json!({}));
    assert!(pool.wait_exit().success());
    assert!(pool.stderr().contains("not the protocol"), "{}", pool.stderr());
}

#[test]
fn a_flood_on_standard_error_blocks_nobody_and_is_not_kept() {
    for level in ["warning", "debug"] {
        let mut pool = workers()
            .fault("flood-stderr")
            .fault_once("abort", "word=boom")
            .flags(&["--log-level", level])
            .start();
        pool.play("a", [text("one"), text("two")]);
        assert_eq!(pool.turn("a", "x")["text"], "one");
        assert_eq!(pool.turn("a", "boom")["text"], "two");
        let exits = pool.status()["lastExits"].clone();
        let kept = exits[0]["stderr"].as_array().unwrap();
        assert!((1..=50).contains(&kept.len()), "the last words are kept, the flood is not");
        assert!(kept.last().unwrap().as_str().unwrap().contains("going wrong: abort"), "{kept:?}");
    }
}

#[test]
fn a_worker_nobody_reads_the_log_of_is_not_blocked() {
    // Standard error of the program itself is a pipe that is full.
    let setup = workers().fault("flood-stderr").flags(&["--log-level", "debug"]);
    let mut pool = setup.start();
    pool.play("a", (0..3).map(|index| text(&format!("{index}"))));
    for index in 0..3 {
        assert_eq!(pool.turn("a", "x")["text"], format!("{index}"));
    }
    assert_eq!(pool.crashes(), json!({}));
}

#[test]
fn whatever_a_worker_logs_is_one_line_of_bounded_length() {
    let message = format!("mark\n[oam stdio] error: forged\tworker=w9 \u{1b}[2J{}", "x".repeat(1 << 20));
    let mut frame = Vec::new();
    oam_ipc::encode(&FromWorker::Log { level: LogLevel::Warning, message }, &mut frame).unwrap();
    let setup = workers();
    let path = setup.path("frame");
    std::fs::write(&path, frame).unwrap();
    let script = "cat \"$0\" >&0; exec sleep 1000";
    let setup = setup.program(&["/bin/sh", "-c", script, path.to_str().unwrap()]);
    let pool = setup.flags(&["--no-spare"]).start();
    until("the line is there", || pool.stderr().contains("worker=w1"));
    let log = pool.stderr();
    let line = log.lines().next().unwrap();
    let start = r"[oam stdio] warning: mark\n[oam stdio] error: forged\tworker=w9 \u{1b}[2Jxxx";
    assert!(line.starts_with(start) && line.len() < 5000, "{} bytes: {}", line.len(), &line[..100]);
    assert!(
        line.contains("x… (and ") && line.ends_with(" bytes)\tworker=w1"),
        "{}",
        &line[line.len() - 50..]
    );
}
