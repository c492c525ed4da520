//! What stands between a socket and hyper, and lets requests through one at a time.
//!
//! A request's head is held back until it is complete and checked, and what follows a request until that is answered. So this
//! server's own rules and error messages hold for heads and chunks, a request has a time limit as a whole, and the end of a
//! connection is seen while a request is handled, whatever the client sent ahead.

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::{
    config::HttpLimits,
    deadline::Deadline,
    framing::Framing,
    head::{self, Head, head_too_large},
};
use crate::ApiError;

/// Bytes taken from the socket at a time.
const PIECE: usize = 16 * 1024;
/// How much a client may send ahead of an answer before its connection is no longer read.
const MOST_AHEAD: usize = 64 * 1024;

/// What the handler of a request and the gate tell each other.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    is_answered: AtomicBool,
    is_last: AtomicBool,
}

impl Exchange {
    /// The last byte of the response is in hyper's hands.
    pub(super) fn set_answered(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    fn take_answered(&self) -> bool {
        self.is_answered.swap(false, Ordering::Relaxed)
    }

    /// Whether the client has closed its side behind this request.
    pub(super) fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Relaxed)
    }
}

/// A socket whose bytes go through the checks.
#[derive(Debug)]
pub(super) struct Gate<S> {
    socket: S,
    phase: Phase,
    /// What was read. hyper gets the first `released` bytes.
    input: BytesMut,
    released: usize,
    /// Up to here there is no end of a head.
    scanned: usize,
    has_ended: bool,
    /// It has ended before a request was handled.
    is_half_closed: bool,
    rejection: Option<ApiError>,
    exchange: Arc<Exchange>,
    delivery: Deadline,
    stall: Deadline,
    limits: HttpLimits,
}

#[derive(Debug)]
enum Phase {
    /// A head is waited for, or incomplete.
    Head,
    /// The head is through, and this is how far the body has come.
    Body(Framing),
    /// The request is through and not yet answered.
    Handling,
    /// Nothing more gets through.
    Closed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Gate<S> {
    pub(super) fn new(socket: S, exchange: Arc<Exchange>, limits: HttpLimits) -> Self {
        let mut delivery = Deadline::default();
        delivery.set(limits.request_time);
        Self {
            socket,
            phase: Phase::Head,
            input: BytesMut::new(),
            released: 0,
            scanned: 0,
            has_ended: false,
            is_half_closed: false,
            rejection: None,
            exchange,
            delivery,
            stall: Deadline::default(),
            limits,
        }
    }

    /// Waits for the first bytes of the client. `false`: there are none.
    pub(super) async fn open(&mut self) -> bool {
        if poll_fn(|context| self.poll_fill(context)).await.is_err() || self.has_ended {
            return false;
        }
        // The first read happens before the system was asked about the socket, so it cannot see an end that came along.
        tokio::task::yield_now().await;
        true
    }

    /// Why a head was not let through, once hyper is done with the connection.
    pub(super) fn take_rejection(&mut self) -> Option<ApiError> {
        self.rejection.take()
    }

    /// Sends `bytes`, past hyper.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Closes the writing side, and reads and forgets for at most `time` what still comes: a client whose bytes are refused
    /// would see a reset instead of the answer.
    pub(super) async fn linger(&mut self, time: Duration) {
        if self.socket.shutdown().await.is_err() || self.has_ended {
            return;
        }
        let drain = async {
            let mut space = [0; 4096];
            while matches!(self.socket.read(&mut space).await, Ok(1..)) {}
        };
        let _ = tokio::time::timeout(time, drain).await;
    }

    /// Reads on until there are bytes for hyper. `Ok(false)`: there will be none.
    fn poll_released(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            if self.released > 0 {
                return Poll::Ready(Ok(true));
            }
            let is_through = match self.phase {
                Phase::Head => self.pass_head(),
                Phase::Body(_) => self.pass_body()?,
                Phase::Handling if self.is_half_closed => return Poll::Pending,
                Phase::Handling => return self.poll_end(context).map_ok(|()| false),
                Phase::Closed => return Poll::Ready(Ok(false)),
            };
            if matches!(self.phase, Phase::Handling) {
                self.delivery.clear();
                self.look_for_half_close(context)?;
            }
            if is_through {
                continue;
            }
            if self.has_ended {
                self.phase = Phase::Closed;
            } else {
                ready!(self.poll_fill(context))?;
            }
        }
    }

    /// Whether something changed; otherwise more bytes are needed.
    fn pass_head(&mut self) -> bool {
        self.skip_blank_lines();
        match self.examine_head() {
            Ok(None) => false,
            Ok(Some(Head { length, mut body })) => {
                // hyper takes both in one read. A mistake in chunks is the body's, so those go behind.
                self.released = length + body.take_counted(&self.input[length..]);
                self.scanned = 0;
                self.phase = if body.is_complete() { Phase::Handling } else { Phase::Body(body) };
                true
            }
            Err(error) => {
                self.rejection = Some(error);
                self.phase = Phase::Closed;
                true
            }
        }
    }

    fn skip_blank_lines(&mut self) {
        loop {
            match *self.input {
                [b'\r', b'\n', ..] => self.input.advance(2),
                [b'\n', ..] => self.input.advance(1),
                _ => return,
            }
        }
    }

    /// A head that comes in small pieces is parsed twice only: at its first piece, since what is no HTTP may never have a
    /// blank line, and when it is complete.
    fn examine_head(&mut self) -> Result<Option<Head>, ApiError> {
        if self.input.is_empty() {
            return Ok(None);
        }
        let end = end_of_head(&self.input, self.scanned);
        let is_first_piece = self.scanned == 0;
        self.scanned = self.input.len();
        if end.unwrap_or(self.input.len()) > self.limits.largest_head {
            return Err(head_too_large(self.limits.largest_head));
        }
        if end.is_none() && !is_first_piece {
            return Ok(None);
        }
        head::examine(&self.input, self.limits.largest_body)
    }

    fn pass_body(&mut self) -> io::Result<bool> {
        let Phase::Body(framing) = &mut self.phase else { return Ok(false) };
        let taken =
            framing.take(&self.input).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if framing.is_complete() {
            self.phase = Phase::Handling;
        }
        self.released = taken;
        Ok(taken > 0)
    }

    /// A client that has closed its side when its request is complete gets its answer. One that closes it later has given up.
    fn look_for_half_close(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Poll::Ready(read) = self.poll_end(context) {
            read?;
            self.is_half_closed = true;
            self.exchange.is_last.store(self.input.len() == self.released, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads ahead; ready at the end.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.has_ended {
            if self.input.len() - self.released >= MOST_AHEAD {
                return Poll::Pending;
            }
            ready!(self.poll_fill(context))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes a piece from the socket, or notes its end.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [MaybeUninit::<u8>::uninit(); PIECE];
        let mut piece = ReadBuf::uninit(&mut space);
        if Pin::new(&mut self.socket).poll_read(context, &mut piece)?.is_pending() {
            ready!(self.delivery.poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let piece = piece.filled();
        if piece.is_empty() {
            self.has_ended = true;
        } else if matches!(self.phase, Phase::Head) && self.input.is_empty() {
            self.delivery.set(self.limits.request_time);
        }
        self.input.extend_from_slice(piece);
        Poll::Ready(Ok(()))
    }

    /// The client has got all of an answer, as far as this side knows.
    fn await_next_request(&mut self, context: &mut Context<'_>) {
        self.phase = Phase::Head;
        self.delivery.set(self.limits.request_time);
        let _ = self.delivery.poll(context);
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        if !self.input.is_empty() || self.has_ended {
            context.waker().wake_by_ref();
        }
    }

    fn watch_stall<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall.clear();
            return written;
        }
        if !self.stall.is_set() {
            self.stall.set(self.limits.request_time);
        }
        ready!(self.stall.poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Where the first head in `bytes` ends, of which `scanned` bytes have none.
fn end_of_head(bytes: &[u8], scanned: usize) -> Option<usize> {
    let start = scanned.saturating_sub(3);
    let ends = memchr::memchr_iter(b'\n', &bytes[start..]).map(|index| start + index + 1);
    ends.into_iter().find_map(|line| match bytes[line..] {
        [b'\n', ..] => Some(line + 1),
        [b'\r', b'\n', ..] => Some(line + 2),
        _ => None,
    })
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Read for Gate<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut target: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let gate = self.get_mut();
        if ready!(gate.poll_released(context))? {
            let count = gate.released.min(target.remaining());
            target.put_slice(&gate.input[..count]);
            gate.input.advance(count);
            gate.released -= count;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> hyper::rt::Write for Gate<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch_stall(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch_stall(context, written)
    }

    /// hyper calls this when it has written all it has. If that was the end of an answer, the next request may come.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        if matches!(self.phase, Phase::Handling) && self.exchange.take_answered() {
            self.await_next_request(context);
        }
        Poll::Ready(Ok(()))
    }

    /// Closing is [`linger`](Gate::linger)'s.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
