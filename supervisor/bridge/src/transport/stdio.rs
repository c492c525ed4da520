//! The transport of `oam stdio`: one message a line on standard input and output.
//!
//! [`take_stdio`] moves the protocol away from the well-known descriptors, so that whatever a library prints
//! ends up on standard error, and a child process or a stray read cannot take a message. Pipes and sockets
//! are awaited; anything else (a file, a terminal) is read and written by threads.

use std::{
    convert::Infallible,
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

/// Serves `connection` on the process's own input and output until it ends. SIGTERM and SIGINT end it in an
/// orderly way; the second signal at once.
///
/// A terminal is read by a thread of the runtime that cannot be interrupted: leave the process with
/// [`std::process::exit`], or the runtime with `shutdown_background`, not by dropping the runtime.
pub async fn serve(
    handles: StdioHandles,
    messages: OutboxConsumer,
    connection: &impl Connection,
) -> io::Result<End> {
    let StdioHandles { input, output } = handles;
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
    let terminate = signal(SignalKind::terminate())?;
    let interrupt = signal(SignalKind::interrupt())?;
    let (signals, mut stop) = mpsc::channel(2);
    tokio::select! {
        biased;
        end = serve_streams(reader, writer, messages, connection, output_closed, &mut stop) => Ok(end),
        never = forward_signals(terminate, interrupt, signals) => match never {},
    }
}

async fn forward_signals(
    mut terminate: Signal,
    mut interrupt: Signal,
    stop: mpsc::Sender<StopSignal>,
) -> Infallible {
    loop {
        let signal = tokio::select! {
            Some(()) = terminate.recv() => StopSignal::Terminate,
            Some(()) = interrupt.recv() => StopSignal::Interrupt,
            else => pending().await,
        };
        // More than two signals waiting make no difference.
        let _ = stop.try_send(signal);
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
