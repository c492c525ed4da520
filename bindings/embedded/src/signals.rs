//! Threads that take no signals.
//!
//! A signal for the process may be handled by any thread that does not block it, and a handler of the host should run on
//! threads of the host. SIGPIPE is blocked with the others: where a host leaves it at its default, a write to a worker
//! that has just died would end the host. Workers begin with an empty mask all the same.

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

/// Runs `spawn`, whose threads inherit a mask that blocks signals from their first instruction on.
pub(crate) fn blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let mut mask = SigSet::all();
    for fault in FAULTS {
        mask.remove(fault);
    }
    let before = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let spawned = spawn();
    if let Ok(before) = before {
        // It worked the other way round.
        let _ = before.thread_set_mask();
    }
    spawned
}
