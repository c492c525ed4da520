//! The connection to a worker: frames in both directions.
//!
//! Tokio's pipe types do the waiting, because they wait for one direction only, and reading and writing a connected
//! stream socket is no different.

use std::{
    io::{self, ErrorKind, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use oam_ipc::{FrameReader, FromWorker};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::{Receiver, Sender},
    sync::mpsc,
};

use crate::{pool::Input, worker_id::WorkerId};

const READ_BUFFER_BYTES: usize = 64 << 10;

/// Reads what the worker says until it stops speaking, or stops making sense.
pub(crate) async fn read(worker: WorkerId, mut socket: Receiver, pool: mpsc::Sender<Input>) {
    let mut frames = FrameReader::<FromWorker>::new();
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        let count = match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        frames.feed(&buffer[..count]);
        loop {
            let input = match frames.next_message() {
                Ok(Some(message)) => Input::Message { worker, message },
                Ok(None) => break,
                Err(error) => {
                    let _ = pool.send(Input::Violation { worker, reason: error.to_string() }).await;
                    return;
                }
            };
            if pool.send(input).await.is_err() {
                return;
            }
        }
    }
    let _ = pool.send(Input::Closed { worker }).await;
}

/// The writing half. Dropped, it closes the worker's input, once everything is written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    socket: Arc<UnixStream>,
    /// What there was no room for yet.
    queue: mpsc::UnboundedSender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
}

impl Outgoing {
    /// For a socket that never blocks. On the current runtime.
    pub(crate) fn new(socket: UnixStream) -> Self {
        let socket = Arc::new(socket);
        let queued = Arc::new(AtomicUsize::new(0));
        let (queue, frames) = mpsc::unbounded_channel();
        tokio::spawn(write_queued(Arc::clone(&socket), frames, Arc::clone(&queued)));
        Self { socket, queue, queued }
    }

    /// Writes a frame, at once if there is room. A worker that is gone is noticed by whoever reads.
    pub(crate) fn send(&self, frame: Vec<u8>) {
        if self.queued.load(Ordering::Acquire) > 0 {
            self.enqueue(frame);
            return;
        }
        match (&*self.socket).write(&frame) {
            Ok(written) if written == frame.len() => {}
            Ok(written) => self.enqueue(frame[written..].to_vec()),
            // Whatever else is wrong is wrong then, too.
            Err(_) => self.enqueue(frame),
        }
    }

    fn enqueue(&self, bytes: Vec<u8>) {
        self.queued.fetch_add(1, Ordering::Release);
        let _ = self.queue.send(bytes);
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
