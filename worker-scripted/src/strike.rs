//! Going wrong.

use std::{
    future, hint,
    io::{self, Write},
    iter, mem, process,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill, raise},
    unistd::{Pid, getpgid, getppid, setpgid},
};
use oam_ipc::{FromWorker, MAX_ANSWER_BYTES, MAX_FRAME_BYTES, Outcome, StepId, TokenUsage, encode};

use crate::{complain, fault::FaultKind, output::Pace, step::Performance, worker::Shared};

/// Does to the process what a fault of its start does.
pub(crate) fn strike_start(fault: FaultKind, shared: &Shared) {
    name(fault);
    match fault {
        FaultKind::DieBeforeReady => {
            complain("cannot load the model: it does not exist");
            process::exit(1);
        }
        // Its connection still ends it.
        FaultKind::NoReady => loop {
            thread::park();
        },
        FaultKind::Mute => shared.is_mute.store(true, Ordering::Relaxed),
        FaultKind::EarlyPong => {
            // It is small.
            let _ = shared.output.send(&FromWorker::Pong { n: 1 }, Pace::AtOnce);
        }
        // What `ready` says is not said here.
        _ => {}
    }
}

/// Does what a fault does when tokens are to be counted. Returns whether the question stays unanswered.
pub(crate) fn strike_counting(fault: FaultKind) -> bool {
    name(fault);
    if fault == FaultKind::CrashCounting {
        process::abort();
    }
    true
}

/// Does to a step, or in it, what a fault does. Returns if the step goes on.
pub(crate) async fn strike(fault: FaultKind, step: &mut Performance<'_>) {
    name(fault);
    let shared = step.shared;
    match fault {
        FaultKind::Abort | FaultKind::CrashStreaming => process::abort(),
        FaultKind::Segv => die_of(Signal::SIGSEGV),
        FaultKind::Kill => {
            // Nothing comes of an error: this process may always signal itself.
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
        FaultKind::Exit0 => process::exit(0),
        FaultKind::Exit1 => process::exit(1),
        FaultKind::Hang => future::pending().await,
        FaultKind::Spin => {
            while !step.cancel.is_cancelled() {
                hint::spin_loop();
            }
            future::pending::<()>().await;
        }
        FaultKind::HangIgnoringCancel => loop {
            thread::sleep(Duration::from_hours(1));
        },
        FaultKind::Mute => shared.is_mute.store(true, Ordering::Relaxed),
        FaultKind::HalfFrame => {
            let mut frame = Vec::new();
            if encode(&FromWorker::Delta { id: step.id, text: "half a frame".into() }, &mut frame).is_ok() {
                shared.output.write(&frame[..frame.len() / 2]);
            }
            process::abort();
        }
        FaultKind::Garbage => shared.output.write(&[[0, 0, 0, 16].as_slice(), &[0xc1; 16]].concat()),
        FaultKind::Oversized => {
            let len = u32::try_from(MAX_FRAME_BYTES + 1).unwrap_or(u32::MAX);
            shared.output.write(&len.to_be_bytes());
        }
        FaultKind::SlowDrip => step.pace = Pace::Dripping,
        FaultKind::DoubleFinish => step.ends = 2,
        FaultKind::StrayEvents => {
            let id = StepId(u64::MAX - step.id.0);
            let outcome = Outcome::Text { text: "stray".into() };
            for message in [
                FromWorker::Delta { id, text: "stray".into() },
                FromWorker::Reset { id, text: "stray".into() },
                FromWorker::Partial { id, value: "stray".into() },
                FromWorker::Finished { id, outcome, usage: TokenUsage::default() },
            ] {
                step.say(&message);
            }
        }
        // What nobody looks at would not even be allocated by an optimised build.
        FaultKind::Leak => mem::forget(hint::black_box(vec![1_u8; 64 << 20])),
        FaultKind::FloodStderr => {
            let line = "The flood is coming, line by line, until nobody hears anything else any more.\n";
            let flood: String = iter::repeat_n(line, (16 << 20) / line.len()).collect();
            let _ = io::stderr().write_all(flood.as_bytes());
        }
        FaultKind::PrintStdout => {
            let _ = writeln!(
                io::stdout(),
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"not the protocol"}}}}"#
            );
        }
        FaultKind::LeaveGroup => {
            // The group of the parent: a process of this session, so nothing comes of an error.
            let _ = getpgid(Some(getppid())).and_then(|group| setpgid(Pid::from_raw(0), group));
            loop {
                thread::sleep(Duration::from_hours(1));
            }
        }
        FaultKind::Runaway => {
            while !step.cancel.is_cancelled() {
                step.say(&FromWorker::Delta { id: step.id, text: "and so on ".repeat(200) });
                thread::sleep(Duration::from_micros(500));
            }
        }
        FaultKind::NoCalls => end_wrongly(step, Outcome::ToolCalls { calls: Vec::new() }).await,
        FaultKind::LongAnswer => {
            end_wrongly(step, Outcome::Text { text: "x".repeat(MAX_ANSWER_BYTES + 1) }).await;
        }
        FaultKind::ReadyAgain => step.say(&shared.ready),
        // Faults of the start and of counting: a step never draws them.
        FaultKind::EarlyPong
        | FaultKind::BadVersion
        | FaultKind::NoReady
        | FaultKind::DieBeforeReady
        | FaultKind::CrashCounting
        | FaultKind::SkipCounting => {}
    }
}

/// Ends the step as no supervisor lets pass, and says nothing more in it.
async fn end_wrongly(step: &Performance<'_>, outcome: Outcome) {
    step.say(&FromWorker::Finished { id: step.id, outcome, usage: TokenUsage::default() });
    future::pending::<()>().await;
}

/// Dies of a signal. A handler may be there for it that gives way when the signal comes again.
fn die_of(signal: Signal) -> ! {
    for _ in 0..3 {
        let _ = raise(signal);
    }
    process::abort()
}

fn name(fault: FaultKind) {
    complain(&format!("going wrong: {}", fault.name()));
}
