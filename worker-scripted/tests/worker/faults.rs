//! What each fault looks like from outside.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use nix::sys::signal::Signal;
use oam_ipc::{DecodeError, FromWorker, Generate, Outcome, ReadError, StepId, ToWorker};

use crate::process::{Worker, code_of, delta, step, streamed, text_of};

fn assert_died_of(status: ExitStatus, signal: Signal) {
    assert_eq!(status.signal(), Some(signal as i32), "{status}");
}

fn decode_error(worker: &mut Worker) -> DecodeError {
    match worker.try_hear() {
        Err(ReadError::Decode(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_dies_in_the_middle_of_an_answer() {
    for (fault, signal) in [("abort", Signal::SIGABRT), ("segv", Signal::SIGSEGV), ("kill", Signal::SIGKILL)]
    {
        let mut worker = Worker::ready(&["--fault", fault]);
        worker.ask(streamed(1, "Hello."));
        assert_eq!(worker.hear(), delta(1, "You "));
        assert!(matches!(worker.try_hear(), Ok(None) | Err(ReadError::Io(_))), "{fault}");
        assert_died_of(worker.exit(), signal);
        assert!(worker.printed().1.starts_with("oam-worker-scripted: going wrong: "));
    }
}

#[test]
fn a_worker_dies_before_or_after_all_it_says() {
    for (fault, pieces) in [("kill:at=start", 0), ("kill:at=end", 3), ("crash-streaming", 2)] {
        let mut worker = Worker::ready(&["--fault", fault]);
        worker.ask(streamed(1, "Hello."));
        let all = ["You ", "say: ", "Hello."].map(|piece| delta(1, piece));
        assert_eq!(worker.hear_all(pieces), all[..pieces], "{fault}");
        assert!(matches!(worker.try_hear(), Ok(None) | Err(ReadError::Io(_))));
        assert!(worker.exit().signal().is_some());
    }
}

#[test]
fn a_crash_that_needs_streaming_leaves_other_steps_alone() {
    let mut worker = Worker::ready(&["--fault", "crash-streaming", "--fault", "kill:stream"]);
    worker.ask(step(1, "Hello."));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
}

#[test]
fn a_crash_that_needs_a_streamed_answer_leaves_rounds_of_tool_calls_alone() {
    let mut worker = Worker::ready(&["--fault", "crash-streaming"]);
    let script = r#"oam-script: [{"toolCalls": [{"name": "wave"}]}]"#;
    worker.ask(Generate { instructions: Some(script.into()), ..streamed(1, "Hello.") });
    let end = worker.hear();
    assert!(matches!(&end, FromWorker::Finished { outcome: Outcome::ToolCalls { .. }, .. }), "{end:?}");
    worker.ask(streamed(2, "Hello."));
    assert_eq!(worker.hear_all(2), ["You ", "say: "].map(|piece| delta(2, piece)));
    assert_died_of(worker.exit(), Signal::SIGABRT);
}

#[test]
fn a_worker_exits_although_it_should_not() {
    for (fault, code) in [("exit0", 0), ("exit1", 1)] {
        let mut worker = Worker::ready(&["--fault", fault]);
        worker.ask(step(1, "Hello."));
        assert_eq!(worker.exit().code(), Some(code));
    }
}

#[test]
fn faults_may_come_from_the_environment() {
    let mut worker = Worker::start_with(&[("OAM_WORKER_FAULTS", "hang:word=calm, exit1:step=2")], &[]);
    worker.hear_ready();
    worker.ask(step(1, "Hello."));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
    worker.ask(step(2, "Hello."));
    assert_eq!(worker.exit().code(), Some(1));
}

#[test]
fn pings_are_answered_while_a_step_hangs() {
    for fault in ["hang", "spin", "hang-ignoring-cancel"] {
        let mut worker = Worker::ready(&["--fault", fault]);
        worker.ask(streamed(1, "Hello."));
        assert_eq!(worker.hear(), delta(1, "You "));
        worker.assert_alive();
        worker.say(&ToWorker::Cancel { id: StepId(1) });
        if fault == "hang-ignoring-cancel" {
            worker.assert_alive();
        } else {
            assert_eq!(code_of(worker.hear()), "cancelled");
        }
    }
}

#[test]
fn a_mute_worker_goes_on_but_answers_no_pings() {
    for fault in ["mute", "mute:step=1"] {
        let mut worker = Worker::ready(&["--fault", fault]);
        worker.ask(step(1, "Hello."));
        assert_eq!(text_of(worker.hear()), "You say: Hello.");
        worker.say(&ToWorker::Ping { n: 1 });
        worker.ask(step(2, "Again."));
        assert_eq!(text_of(worker.hear()), "You say: Again.");
    }
}

#[test]
fn half_a_frame_is_the_last_thing_that_is_heard() {
    let mut worker = Worker::ready(&["--fault", "half-frame"]);
    worker.ask(step(1, "Hello."));
    assert_eq!(decode_error(&mut worker), DecodeError::Truncated);
    assert_died_of(worker.exit(), Signal::SIGABRT);
}

#[test]
fn bytes_that_are_no_frame_come_before_the_answer() {
    let mut worker = Worker::ready(&["--fault", "garbage"]);
    worker.ask(step(1, "Hello."));
    assert!(matches!(decode_error(&mut worker), DecodeError::Malformed { .. }));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");

    let mut worker = Worker::ready(&["--fault", "oversized"]);
    worker.ask(step(1, "Hello."));
    assert!(matches!(decode_error(&mut worker), DecodeError::TooLarge { .. }));
}

#[test]
fn a_dripping_worker_says_everything_in_the_end() {
    let mut worker = Worker::ready(&["--fault", "slow-drip"]);
    worker.ask(streamed(1, "Hello."));
    assert_eq!(worker.hear_all(3), ["You ", "say: ", "Hello."].map(|piece| delta(1, piece)));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
}

#[test]
fn a_step_may_end_twice() {
    let mut worker = Worker::ready(&["--fault", "double-finish"]);
    worker.ask(step(1, "Hello."));
    for _ in 0..2 {
        assert_eq!(text_of(worker.hear()), "You say: Hello.");
    }
    worker.assert_alive();
}

#[test]
fn something_is_said_in_a_step_that_does_not_exist() {
    let mut worker = Worker::ready(&["--fault", "stray-events"]);
    worker.ask(step(1, "Hello."));
    for stray in worker.hear_all(4) {
        let (FromWorker::Delta { id, .. }
        | FromWorker::Reset { id, .. }
        | FromWorker::Partial { id, .. }
        | FromWorker::Finished { id, .. }) = stray
        else {
            panic!("{stray:?}")
        };
        assert_eq!(id, StepId(u64::MAX - 1));
    }
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
}

#[test]
#[cfg(target_os = "linux")]
fn a_leaking_worker_grows_with_every_step() {
    let mut worker = Worker::ready(&["--fault", "leak"]);
    let before = worker.resident_bytes();
    for id in 1..=2 {
        worker.ask(step(id, "Hello."));
        worker.hear();
    }
    assert!(worker.resident_bytes() - before >= 2 * (64 << 20));
}

#[test]
fn what_is_printed_disturbs_nothing() {
    let mut worker = Worker::ready(&["--fault", "flood-stderr", "--fault", "print-stdout"]);
    let flood = worker.drain_stderr();
    worker.ask(step(1, "Hello."));
    assert_eq!(text_of(worker.hear()), "You say: Hello.");
    worker.hang_up();
    assert_eq!(worker.exit().code(), Some(0));
    assert!(flood.join().unwrap() > 16_000_000);
}

#[test]
fn a_start_goes_wrong() {
    let mut worker = Worker::start(&["--fault", "bad-version"]);
    assert_eq!(worker.hear_ready().protocol, 99);

    let mut worker = Worker::start(&["--fault", "die-before-ready"]);
    assert_eq!(worker.try_hear().unwrap(), None);
    assert_eq!(worker.exit().code(), Some(1));
    assert!(worker.printed().1.ends_with("cannot load the model: it does not exist\n"));

    let mut worker = Worker::start(&["--fault", "no-ready"]);
    // It lives, and answers, and is never ready.
    worker.assert_alive();
}

#[test]
fn a_fault_that_happens_once_spares_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let fault = format!("kill:once={}", folder.path().join("killed").display());
    let mut first = Worker::ready(&["--fault", &fault]);
    first.ask(step(1, "Hello."));
    assert_died_of(first.exit(), Signal::SIGKILL);
    let mut second = Worker::ready(&["--fault", &fault]);
    second.ask(step(1, "Hello."));
    assert_eq!(text_of(second.hear()), "You say: Hello.");
}
