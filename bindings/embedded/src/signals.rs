//! Threads that take no signals.
//!
//! A signal for the process may be handled by any thread that does not block it, and a handler of the host should run on
//! threads of the host. SIGPIPE is blocked with the others: where a host leaves it at its default, a write to a worker
//! that has just died would end the host. Workers begin with an empty mask all the same.
//!
//! The thread of the callbacks blocks less, because code of the host runs on it: runtimes with a garbage collector stop
//! such threads by signals of their own.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Left alone: they tell of a fault in the very thread, and crash reporters want to hear of it, or belong to profilers.
const FAULTS: [Signal; 8] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
    Signal::SIGABRT,
    Signal::SIGPROF,
];

/// What is sent to a process from outside, or on behalf of all of it.
const FOR_THE_PROCESS: [Signal; 12] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGPIPE,
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGCHLD,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGWINCH,
];

/// Runs `spawn`, whose threads inherit a mask that blocks signals from their first instruction on.
pub(crate) fn blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let mut mask = SigSet::all();
    for fault in FAULTS {
        mask.remove(fault);
    }
    with(&mask, spawn)
}

/// The same for a thread that runs code of the host.
pub(crate) fn blocked_for_callbacks<T>(spawn: impl FnOnce() -> T) -> T {
    with(&SigSet::from_iter(FOR_THE_PROCESS), spawn)
}

fn with<T>(mask: &SigSet, spawn: impl FnOnce() -> T) -> T {
    let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let spawned = spawn();
    if let Ok(before) = before {
        // It worked the other way round.
        let _ = before.thread_set_mask();
    }
    spawned
}
