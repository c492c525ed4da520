//! Running a command that waits for a model, and ending it in order when it is interrupted or told to end.
//!
//! Tools lead process groups of their own, so a signal that ends `oam` would leave them running: each one that people and
//! systems end programs with is heard ([`ending`]), also while the command is held up ([`watch`]).

mod ending;
mod watch;

use std::{
    future::Future,
    io,
    num::NonZeroUsize,
    pin::pin,
    process::ExitCode,
    task::{Context, Waker},
};

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{failure::Failure, tools};
pub(crate) use ending::INTERRUPTED;
use ending::{EndSignal, EndSignals};
use watch::Attention;

/// How a command ended.
pub(crate) enum End<T> {
    Done(T),
    /// By a signal; the command has been dropped, and with it the turn that it waited for.
    Interrupted(ExitCode),
}

impl<T> End<T> {
    /// The end of a command that found out itself that it is interrupted.
    pub(crate) fn interrupted() -> Self {
        Self::Interrupted(EndSignal::Interrupt.exit_code().into())
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

/// The signals that end a server, in the server's own hands: the first asks it to stop, another one means now.
#[derive(Debug)]
pub(crate) struct StopSignals(EndSignals);

impl StopSignals {
    /// Waits for one, or tells of one that has come since the last time.
    pub(crate) async fn next(&mut self) {
        self.0.next().await;
    }
}

/// Runs `command` on a runtime of its own, until it is done or a signal ends it. Signals are heard from the moment before
/// `command` starts.
pub(crate) fn run<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<End<T>, Failure> {
    run_with_interrupts(async |mut interrupts| {
        tokio::select! {
            biased;
            () = interrupts.next() => Ok(End::interrupted()),
            done = command => done.map(End::Done),
        }
    })
}

/// Runs `command` in the same way, except that it hears of interruptions itself and decides what they end. Other signals
/// end it.
pub(crate) fn run_with_interrupts<T>(
    command: impl AsyncFnOnce(Interrupts) -> Result<End<T>, Failure>,
) -> Result<End<T>, Failure> {
    // Beside the command's thread there is one that keeps tools to their time limits while the command is held up.
    run_on(Builder::new_multi_thread().worker_threads(1), || {
        let interrupts = signal(SignalKind::interrupt()).map(Interrupts).map_err(cannot("hear signals"))?;
        let mut signals = EndSignals::listen().map_err(cannot("hear signals"))?;
        Ok(async move {
            tokio::select! {
                biased;
                signal = signals.next() => Ok(End::Interrupted(signal.exit_code().into())),
                end = command(interrupts) => end,
            }
        })
    })
}

/// Runs a server on a runtime of its own, with so many threads for requests. It hears signals itself, also those that end
/// other commands at once.
pub(crate) fn run_server(
    threads: NonZeroUsize,
    server: impl AsyncFnOnce(StopSignals) -> Result<(), Failure>,
) -> Result<(), Failure> {
    run_on(Builder::new_multi_thread().worker_threads(threads.get()), || {
        let signals = EndSignals::listen_to_all().map(StopSignals).map_err(cannot("hear signals"))?;
        Ok(server(signals))
    })
}

/// Runs what `begin` returns on this runtime, paying attention, and gives tools that it leaves a moment to end. `begin` begins
/// to hear signals: before others do, so that none is lost.
fn run_on<T, F: Future<Output = Result<T, Failure>>>(
    runtime: &mut Builder,
    begin: impl FnOnce() -> Result<F, Failure>,
) -> Result<T, Failure> {
    let runtime = runtime.enable_all().build().map_err(cannot("start"))?;
    let end = runtime.block_on(async {
        let command = begin()?;
        let mut attention = Attention::watch().map_err(cannot("hear signals"))?;
        let end = tokio::select! {
            biased;
            never = attention.pay() => match never {},
            end = command => end,
        };
        let mut signals = EndSignals::listen_to_all().map_err(cannot("hear signals"))?;
        tokio::select! {
            biased;
            // Another signal means now: the end of the runtime kills what is left.
            _ = signals.next() => {}
            never = attention.pay() => match never {},
            // Tools that nobody waits for any more have a moment to end in order.
            () = tools::all_ended() => {}
        }
        end
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    end
}

fn cannot(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::io(format!("cannot {what}: {error}"))
}
