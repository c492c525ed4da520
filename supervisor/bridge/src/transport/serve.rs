//! Serving one connection over a pair of streams, from its first line to its end.
//!
//! Reading and writing run side by side in one task. Reading never waits for writing; it only slows down
//! while very much is unwritten, so that a client that sends faster than it reads gets a chance to catch up
//! before its outbox overflows. Everything that can end a connection is listed in [`End`], and [`serve`] is
//! where it is decided.

use std::{
    fmt,
    future::{Future, pending},
    io::{self, ErrorKind},
    pin::pin,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
    task::yield_now,
    time::{sleep, timeout},
};

use super::lines::{Line, LineSplitter, MAX_LINE_BYTES};
use crate::outbox::{OVERFLOW_GRACE, Outbox, OutboxConsumer};

/// As much as a pipe holds.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// How often a client that has very much to read is looked at, before the next line is taken from it.
const PAUSE: Duration = Duration::from_millis(1);

/// The time that the last messages have to leave after a stop signal.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// What stands behind a transport.
pub trait Connection: Send + Sync {
    /// Takes one line, without its newline. Must not block; answers go to the outbox.
    fn receive(&self, line: &[u8]);

    /// A line of more than `limit` bytes came, which is lost.
    fn oversized_line(&self, limit: usize);

    /// Resolves when every request received so far that is owed an answer has it in the outbox. No time
    /// limit.
    fn idle(&self) -> impl Future<Output = ()> + Send;

    /// Cancels all work; resolves when the cancelled requests have their answers in the outbox, or after a
    /// bounded time.
    fn shut_down(&self) -> impl Future<Output = ()> + Send;

    /// Resolves when a `shutdown` request has been served: its answer, if it wants one, is in the outbox.
    fn ended(&self) -> impl Future<Output = ()> + Send;
}

/// The system or the user asks the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM, or what stands for it.
    Terminate,
    /// SIGINT, Ctrl-C.
    Interrupt,
}

/// How a connection ended.
///
/// After the first three, all work is done or cancelled. The others end at once and cancel nothing: the
/// caller drops what is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The input ended, and what had been asked was answered.
    EndOfInput,
    /// The client asked for it with `shutdown`, or the host closed the outbox.
    Shutdown,
    /// A signal asked for it. The answers of the cancelled requests were written if the client took them in
    /// time.
    Stopped(StopSignal),
    /// Nobody reads the output any more.
    OutputClosed,
    /// The output cannot be written (a full disk, for example).
    OutputFailed,
    /// The input cannot be read.
    InputFailed,
    /// The client did not read until the outbox overflowed.
    Overflowed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndOfInput => "end of input",
            Self::Shutdown => "shutdown",
            Self::Stopped(StopSignal::Terminate) => "SIGTERM",
            Self::Stopped(StopSignal::Interrupt) => "SIGINT",
            Self::OutputClosed => "output closed",
            Self::OutputFailed => "output failed",
            Self::InputFailed => "input failed",
            Self::Overflowed => "unread output overflowed",
        })
    }
}

impl End {
    /// The exit code of a process that served just this connection. A client that is gone is no failure of
    /// ours; an interrupt has the shell's customary code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::EndOfInput | Self::Shutdown | Self::OutputClosed | Self::Stopped(StopSignal::Terminate) => {
                0
            }
            Self::Stopped(StopSignal::Interrupt) => 130,
            Self::OutputFailed | Self::InputFailed | Self::Overflowed => 1,
        }
    }
}

/// Serves `connection` until it ends.
///
/// `output_closed` resolves when the reader of the output is known to be gone, which a write may tell only
/// much later. `stop` brings stop signals; the first begins an orderly end, the second ends at once.
pub async fn serve(
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send,
    messages: OutboxConsumer,
    connection: &impl Connection,
    output_closed: impl Future<Output = ()> + Send,
    stop: &mut mpsc::Receiver<StopSignal>,
) -> End {
    let overflowed = messages.overflowed();
    let end = tokio::select! {
        biased;
        () = overflowed => End::Overflowed,
        end = run(reader, writer, messages, connection, stop) => end,
        () = output_closed => End::OutputClosed,
    };
    tracing::info!(%end, "the connection ended");
    end
}

/// The course of a connection whose client reads what it is sent.
async fn run(
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send,
    messages: OutboxConsumer,
    connection: &impl Connection,
    stop: &mut mpsc::Receiver<StopSignal>,
) -> End {
    let outbox = messages.outbox();
    let mut writing = pin!(write_messages(writer, messages));
    // In this order, so that answers leave in the same poll in which their requests came.
    let end = tokio::select! {
        biased;
        end = serve_requests(reader, connection, &outbox) => end,
        failure = &mut writing => return failure.unwrap_or(End::Shutdown),
        signal = next_signal(stop) => End::Stopped(signal),
    };
    if !matches!(end, End::EndOfInput | End::Shutdown | End::Stopped(_)) {
        return end;
    }
    let farewell = async {
        if end != End::Shutdown {
            connection.shut_down().await;
        }
        outbox.close();
        match end {
            End::Stopped(_) => sleep(FLUSH_TIME).await,
            // A slow reader, say a pager, gets all the time it wants.
            _ => pending().await,
        }
    };
    tokio::select! {
        biased;
        failure = &mut writing => return failure.unwrap_or(end),
        () = farewell => tracing::warn!("the client did not take its last messages"),
        _ = next_signal(stop) => {}
    }
    end
}

/// Receives lines until there are no more to receive, and waits for the answers they are owed.
async fn serve_requests(
    reader: impl AsyncRead + Unpin + Send,
    connection: &impl Connection,
    outbox: &Outbox,
) -> End {
    let until_answered = async {
        match read_lines(reader, connection, outbox).await {
            Ok(()) => {
                connection.idle().await;
                End::EndOfInput
            }
            Err(error) if is_disconnect(&error) => End::OutputClosed,
            Err(error) => {
                tracing::error!(%error, "the input cannot be read");
                End::InputFailed
            }
        }
    };
    tokio::select! {
        biased;
        () = connection.ended() => End::Shutdown,
        end = until_answered => end,
    }
}

async fn read_lines(
    mut reader: impl AsyncRead + Unpin,
    connection: &impl Connection,
    outbox: &Outbox,
) -> io::Result<()> {
    let take = |line: Line<'_>| match line {
        Line::Complete(line) => connection.receive(line),
        Line::Oversized => connection.oversized_line(MAX_LINE_BYTES),
    };
    let mut splitter = LineSplitter::new(MAX_LINE_BYTES);
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            splitter.finish(take);
            return Ok(());
        }
        let mut taken = 0;
        while taken < count {
            taken += splitter.feed_while(&buffer[taken..count], |line| {
                take(line);
                !outbox.is_heavy()
            });
            if outbox.is_heavy() {
                let_client_catch_up(outbox).await;
            }
        }
        if count == buffer.len() {
            // There is more to read at once; whoever has been given work comes first.
            yield_now().await;
        }
    }
}

/// Waits while very much is unwritten and the client takes it. From a client that does not read at all, lines are
/// still taken in, slowly.
async fn let_client_catch_up(outbox: &Outbox) {
    while outbox.is_heavy() {
        let before = outbox.unwritten();
        sleep(PAUSE).await;
        if outbox.unwritten() >= before {
            return;
        }
    }
}

/// Writes messages until there will be no more, which is `None`, or until they cannot be delivered.
async fn write_messages(mut writer: impl AsyncWrite + Unpin, mut messages: OutboxConsumer) -> Option<End> {
    while let Some(batch) = messages.next_batch().await {
        let written = async {
            let mut rest = &*batch;
            while !rest.is_empty() {
                let Some(count) = write_some(&mut writer, rest, &mut messages).await? else {
                    return Ok(false);
                };
                if count == 0 {
                    return Err(ErrorKind::WriteZero.into());
                }
                rest = &rest[count..];
                messages.note_written(count);
            }
            writer.flush().await?;
            Ok(true)
        };
        match written.await {
            Ok(true) => messages.recycle(batch),
            Ok(false) => return Some(End::Overflowed),
            Err(error) if is_disconnect(&error) => return Some(End::OutputClosed),
            Err(error) => {
                tracing::error!(%error, "the output cannot be written");
                return Some(End::OutputFailed);
            }
        }
    }
    messages.is_overflowed().then_some(End::Overflowed)
}

/// Writes as much of `bytes` as the client takes at once; `None` when it takes nothing and is given up.
async fn write_some(
    writer: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    messages: &mut OutboxConsumer,
) -> io::Result<Option<usize>> {
    let mut writing = pin!(writer.write(bytes));
    loop {
        // It looks at the write first, so time in which nobody got round to writing does not count.
        match timeout(OVERFLOW_GRACE, &mut writing).await {
            Ok(written) => return written.map(Some),
            Err(_) if messages.outbox().note_stuck() => return Ok(None),
            Err(_) => {}
        }
    }
}

fn is_disconnect(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

async fn next_signal(stop: &mut mpsc::Receiver<StopSignal>) -> StopSignal {
    match stop.recv().await {
        Some(signal) => signal,
        None => pending().await,
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
