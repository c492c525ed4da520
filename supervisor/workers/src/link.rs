//! The connection to a worker: frames in both directions.
//!
//! Tokio's pipe types do the waiting, because they wait for one direction only, and reading and writing a connected
//! stream socket is no different.

use std::{
    io::{self, ErrorKind, Write},
    mem,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use oam_ipc::{EncodeError, FrameReader, FromWorker, ToWorker, encode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::{Receiver, Sender},
    sync::mpsc,
    task::{AbortHandle, coop},
};
use tokio_util::sync::CancellationToken;

use crate::{exchange::Input, worker_id::WorkerId};

const READ_BUFFER_BYTES: usize = 64 << 10;

/// Reads what the worker says until it stops speaking, or stops making sense.
///
/// Once the process is `gone`, what it has said until then is read and nothing else: a process that it left behind may
/// hold the connection, and does not speak for it.
pub(crate) async fn read(
    worker: WorkerId,
    socket: Receiver,
    gone: CancellationToken,
    pool: mpsc::Sender<Input>,
) {
    let end = match read_messages(worker, socket, &gone, &pool).await {
        Ok(()) => Input::Closed { worker },
        Err(reason) => Input::Violation { worker, reason },
    };
    let _ = pool.send(end).await;
}

/// The error is a violation.
async fn read_messages(
    worker: WorkerId,
    mut socket: Receiver,
    gone: &CancellationToken,
    pool: &mpsc::Sender<Input>,
) -> Result<(), String> {
    let mut frames = FrameReader::<FromWorker>::new();
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        let read = if gone.is_cancelled() {
            // Without the runtime, which may not have heard yet that there is something to read.
            nix::unistd::read(&socket, &mut buffer).map_err(io::Error::from)
        } else {
            tokio::select! {
                read = socket.read(&mut buffer) => read,
                () = gone.cancelled() => continue,
            }
        };
        match read {
            Ok(0) | Err(_) => return Ok(()),
            Ok(count) => frames.feed(&buffer[..count]),
        }
        while let Some(message) = frames.next_message().map_err(|error| error.to_string())? {
            if pool.send(Input::Message { worker, message }).await.is_err() {
                return Ok(());
            }
        }
        coop::consume_budget().await;
    }
}

/// Frames are written when they are this many bytes, whatever follows.
const MOST_GATHERED: usize = 32 << 10;

/// The writing half: gathers frames, and writes them together. Dropped, it closes the worker's input, once everything is
/// written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    socket: Arc<UnixStream>,
    gathered: Vec<u8>,
    /// Something has been said since somebody looked.
    has_grown: bool,
    /// What there was no room for yet.
    queue: mpsc::UnboundedSender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    writer: AbortHandle,
}

impl Outgoing {
    /// For a socket that never blocks. On the current runtime.
    pub(crate) fn new(socket: UnixStream) -> Self {
        let socket = Arc::new(socket);
        let queued = Arc::new(AtomicUsize::new(0));
        let (queue, frames) = mpsc::unbounded_channel();
        let writer = tokio::spawn(write_queued(Arc::clone(&socket), frames, Arc::clone(&queued)));
        Self { socket, gathered: Vec::new(), has_grown: false, queue, queued, writer: writer.abort_handle() }
    }

    /// Ends the writing of what is still to be written, for a process that is gone.
    pub(crate) fn writer(&self) -> AbortHandle {
        self.writer.clone()
    }

    /// Says something, at the latest with the next [`flush`](Self::flush). Fails only if no worker would read it.
    pub(crate) fn send(&mut self, message: &ToWorker<'_>) -> Result<(), EncodeError> {
        encode(message, &mut self.gathered)?;
        self.has_grown = true;
        if self.gathered.len() >= MOST_GATHERED {
            self.flush();
        }
        Ok(())
    }

    /// Whether something has been said since this was asked last.
    pub(crate) fn take_growth(&mut self) -> bool {
        mem::take(&mut self.has_grown)
    }

    /// Writes what is gathered, at once if there is room. A worker that is gone is noticed by whoever reads.
    pub(crate) fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let is_behind = self.queued.load(Ordering::Acquire) > 0;
        // Whatever is wrong is wrong later, too.
        let written = if is_behind { 0 } else { (&*self.socket).write(&self.gathered).unwrap_or(0) };
        if written == self.gathered.len() {
            self.gathered.clear();
            self.gathered.shrink_to(MOST_GATHERED);
        } else {
            let mut rest = mem::take(&mut self.gathered);
            rest.drain(..written);
            self.queued.fetch_add(1, Ordering::Release);
            let _ = self.queue.send(rest);
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.flush();
    }
}

async fn write_queued(
    socket: Arc<UnixStream>,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    queued: Arc<AtomicUsize>,
) {
    while let Some(bytes) = queue.recv().await {
        if write_all(&socket, &bytes).await.is_err() {
            return;
        }
        queued.fetch_sub(1, Ordering::Release);
    }
    // The reading half is open still.
    let _ = socket.shutdown(Shutdown::Write);
}

/// Waits for room only when there is none: who waits for it all the time is woken by each read of the other side.
async fn write_all(mut socket: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Sender::from_owned_fd_unchecked(socket.try_clone()?.into())?.write_all(bytes).await;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[tokio::test]
    async fn what_is_said_is_written_together() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let messages = [ToWorker::Ping { n: 1 }, ToWorker::Ping { n: 2 }];
        let mut outgoing = Outgoing::new(ours);
        for message in &messages {
            outgoing.send(message).unwrap();
        }
        let mut buffer = [0; 1024];
        assert_eq!(theirs.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        outgoing.flush();
        let count = theirs.read(&mut buffer).unwrap();
        let mut frames = FrameReader::<ToWorker>::new();
        frames.feed(&buffer[..count]);
        for message in messages {
            assert_eq!(frames.next_message().unwrap(), Some(message));
        }
    }

    #[tokio::test]
    async fn much_is_written_without_waiting_for_more() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut outgoing = Outgoing::new(ours);
        outgoing.send(&ToWorker::Prewarm { instructions: Some("x".repeat(MOST_GATHERED)) }).unwrap();
        assert_ne!(theirs.read(&mut [0; 1024]).unwrap(), 0);
    }
}
