//! Running a command that waits for a model, and ending it in order when it is interrupted.

use std::{future::Future, process::ExitCode};

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// What a shell tells of a process that a signal ended.
const SIGNALLED: u8 = 128;
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// How a command ended.
pub(crate) enum End<T> {
    Done(T),
    /// By SIGINT or SIGTERM; the command has been dropped, and with it the turn that it waited for.
    Interrupted(ExitCode),
}

/// Runs `command` on a runtime of one thread, until it is done or a signal ends it. Signals are heard from the moment
/// before `command` starts.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<End<T>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(format!("cannot start: {error}")))?;
    let end = runtime.block_on(async {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::io(format!("cannot hear signals: {error}")));
        let (mut interrupt, mut terminate) =
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        tokio::select! {
            biased;
            Some(()) = interrupt.recv() => Ok(End::Interrupted(ExitCode::from(SIGNALLED + SIGINT))),
            Some(()) = terminate.recv() => Ok(End::Interrupted(ExitCode::from(SIGNALLED + SIGTERM))),
            done = command => done.map(End::Done),
        }
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    end
}
