//! The connection to a worker: frames in both directions, each direction a task.
//!
//! Tokio's pipe types do the waiting, because they wait for one direction only, and reading and writing a connected
//! stream socket is no different.

use std::{
    io::{self, ErrorKind, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
};

use oam_ipc::{FrameReader, FromWorker};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::{Receiver, Sender},
    sync::mpsc,
};

use crate::{pool::Input, worker_id::WorkerId};

const READ_BUFFER_BYTES: usize = 64 << 10;
const FRAMES_AT_ONCE: usize = 64;

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

/// Writes frames until there will be no more, then closes the worker's input.
pub(crate) async fn write(socket: UnixStream, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    let mut batch = Vec::with_capacity(FRAMES_AT_ONCE);
    while frames.recv_many(&mut batch, FRAMES_AT_ONCE).await > 0 {
        let bytes = if batch.len() == 1 { batch.swap_remove(0) } else { batch.concat() };
        batch.clear();
        // A worker that is gone is noticed by whoever reads.
        if write_all(&socket, &bytes).await.is_err() {
            return;
        }
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
