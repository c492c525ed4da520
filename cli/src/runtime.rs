//! Running a command that waits for a model, and ending it in order when it is interrupted.

use std::{
    future::Future,
    pin::pin,
    process::ExitCode,
    task::{Context, Waker},
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{failure::Failure, tools};

/// Interrupted by SIGINT, as a shell tells it.
pub(crate) const INTERRUPTED: u8 = 128 + 2;
/// The same of SIGTERM.
const TERMINATED: u8 = 128 + 15;

/// How a command ended.
pub(crate) enum End<T> {
    Done(T),
    /// By SIGINT or SIGTERM; the command has been dropped, and with it the turn that it waited for.
    Interrupted(ExitCode),
}

impl<T> End<T> {
    /// The end of a command that found out itself that it is interrupted.
    pub(crate) fn interrupted() -> Self {
        Self::Interrupted(ExitCode::from(INTERRUPTED))
    }
}

/// The interruptions (SIGINT, Ctrl-C) of a command that can go on after one.
#[derive(Debug)]
pub(crate) struct Interrupts(Signal);

impl Interrupts {
    /// Waits for one, or tells of one that has come since the last time.
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Forgets one that has come: what it was meant for is over.
    pub(crate) fn forget(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while pin!(self.next()).poll(&mut context).is_ready() {}
    }
}

/// Runs `command` on a runtime of one thread, until it is done or a signal ends it. Signals are heard from the moment
/// before `command` starts.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<End<T>, Failure> {
    run_with_interrupts(async |mut interrupts| {
        tokio::select! {
            biased;
            () = interrupts.next() => Ok(End::interrupted()),
            done = command => done.map(End::Done),
        }
    })
}

/// Runs `command` in the same way, except that it hears of interruptions itself and decides what they end. SIGTERM ends
/// it.
pub(crate) fn run_with_interrupts<T>(
    command: impl AsyncFnOnce(Interrupts) -> Result<End<T>, Failure>,
) -> Result<End<T>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(format!("cannot start: {error}")))?;
    let end = runtime.block_on(async {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::io(format!("cannot hear signals: {error}")));
        let interrupts = Interrupts(listen(SignalKind::interrupt())?);
        let mut terminate = listen(SignalKind::terminate())?;
        let end = tokio::select! {
            biased;
            Some(()) = terminate.recv() => Ok(End::Interrupted(ExitCode::from(TERMINATED))),
            end = command(interrupts) => end,
        };
        let mut interrupts = Interrupts(listen(SignalKind::interrupt())?);
        tokio::select! {
            biased;
            // A second signal means now: the end of the runtime kills what is left.
            () = interrupts.next() => {}
            Some(()) = terminate.recv() => {}
            // Tools that nobody waits for any more have a moment to end in order.
            () = tools::all_ended() => {}
        }
        end
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    end
}
