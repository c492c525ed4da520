//! The transport of `oam stdio`: one message a line on standard input and output.
//!
//! [`take_stdio`] moves the protocol away from the well-known descriptors, so that whatever a library prints
//! ends up on standard error, and a child process or a stray read cannot take a message. Pipes and sockets
//! are awaited; anything else (a file, a terminal) is read and written by threads.

use std::{
    convert::Infallible,
    fmt,
    fs::File,
    future::{Future, pending},
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
};

use nix::unistd::{dup2_stdin, dup2_stdout};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::unix::pipe::{Receiver, Sender},
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use super::{
    pollable::{NonBlocking, is_pollable, reader_gone},
    serve::{Connection, End, StopSignal, serve as serve_streams},
};
use crate::outbox::OutboxConsumer;

/// The descriptors that carry the protocol.
#[derive(Debug)]
pub struct StdioHandles {
    /// Where lines come from.
    pub input: OwnedFd,
    /// Where messages go.
    pub output: OwnedFd,
}

impl StdioHandles {
    /// Opens both on the current runtime. A terminal or a file is read by a thread of the runtime that cannot be
    /// interrupted: see [`serve`].
    pub fn open(self) -> io::Result<StdioStreams> {
        let Self { input, output } = self;
        let mut modes = Vec::new();
        let reader: Box<dyn AsyncRead + Send + Unpin> = if is_pollable(&input)? {
            modes.push(NonBlocking::set(&input)?);
            Box::new(Receiver::from_owned_fd_unchecked(input)?)
        } else {
            Box::new(tokio::fs::File::from_std(input.into()))
        };
        let mut output_closed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(pending());
        let writer: Box<dyn AsyncWrite + Send + Unpin> = if is_pollable(&output)? {
            modes.push(NonBlocking::set(&output)?);
            output_closed = Box::pin(reader_gone(output.try_clone()?)?);
            Box::new(Sender::from_owned_fd_unchecked(output)?)
        } else {
            Box::new(tokio::fs::File::from_std(output.into()))
        };
        Ok(StdioStreams { reader, writer, output_closed, _modes: modes })
    }
}

/// The descriptors that carry the protocol, as streams. What pipes and sockets were set to is put back when this is dropped.
pub struct StdioStreams {
    /// Where lines come from.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Where messages go.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Resolves when it is known that nobody reads what is written any more, which a write may tell only much later.
    pub output_closed: Pin<Box<dyn Future<Output = ()> + Send>>,
    _modes: Vec<NonBlocking>,
}

impl fmt::Debug for StdioStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioStreams").finish_non_exhaustive()
    }
}

/// Takes standard input and output for the protocol alone. From here on the process reads nothing from
/// descriptor 0, and what it writes to descriptor 1 goes to standard error.
pub fn take_stdio() -> io::Result<StdioHandles> {
    let handles = StdioHandles {
        input: io::stdin().as_fd().try_clone_to_owned()?,
        output: io::stdout().as_fd().try_clone_to_owned()?,
    };
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok(handles)
}

/// SIGTERM and SIGINT, heard from the moment this is made; until then they kill the process.
///
/// Made before anything is started, it keeps a signal that comes early for whoever can end things in order.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    /// One that has come and that nobody has taken.
    waiting: Option<StopSignal>,
    taken: usize,
}

impl StopSignals {
    /// Starts listening, on the current runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            waiting: None,
            taken: 0,
        })
    }

    /// Resolves when a signal has come. It stays there for [`serve`].
    pub async fn arrived(&mut self) {
        if self.waiting.is_none() {
            self.waiting = Some(self.hear().await);
        }
    }

    /// Resolves when two signals have come since the start: now everything must end at once.
    pub async fn insisted(&mut self) {
        while self.taken < 2 {
            self.take().await;
        }
    }

    /// Waits for the next signal, which is taken by that.
    pub async fn take(&mut self) -> StopSignal {
        let signal = match self.waiting.take() {
            Some(signal) => signal,
            None => self.hear().await,
        };
        self.taken += 1;
        signal
    }

    async fn hear(&mut self) -> StopSignal {
        tokio::select! {
            biased;
            Some(()) = self.terminate.recv() => StopSignal::Terminate,
            Some(()) = self.interrupt.recv() => StopSignal::Interrupt,
            else => pending().await,
        }
    }
}

/// Serves `connection` on the process's own input and output until it ends. The first signal ends it in an
/// orderly way; the second at once.
///
/// A terminal is read by a thread of the runtime that cannot be interrupted: leave the process with
/// [`std::process::exit`], or the runtime with `shutdown_background`, not by dropping the runtime.
pub async fn serve(
    handles: StdioHandles,
    messages: OutboxConsumer,
    connection: &impl Connection,
    signals: &mut StopSignals,
) -> io::Result<End> {
    let StdioStreams { reader, writer, output_closed, _modes } = handles.open()?;
    let (forward, mut stop) = mpsc::channel(2);
    tokio::select! {
        biased;
        end = serve_streams(reader, writer, messages, connection, output_closed, &mut stop) => Ok(end),
        never = forward_signals(signals, forward) => match never {},
    }
}

async fn forward_signals(signals: &mut StopSignals, stop: mpsc::Sender<StopSignal>) -> Infallible {
    loop {
        // More than two signals waiting make no difference.
        let _ = stop.try_send(signals.take().await);
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
