//! The connection to a worker: frames in both directions, each direction a task.

use oam_ipc::{FrameReader, FromWorker};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::mpsc,
};

use crate::{pool::Input, worker_id::WorkerId};

const READ_BUFFER_BYTES: usize = 64 << 10;
const FRAMES_AT_ONCE: usize = 64;

/// Reads what the worker says until it stops speaking, or stops making sense.
pub(crate) async fn read(worker: WorkerId, mut socket: OwnedReadHalf, pool: mpsc::Sender<Input>) {
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
pub(crate) async fn write(mut socket: OwnedWriteHalf, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    let mut batch = Vec::with_capacity(FRAMES_AT_ONCE);
    while frames.recv_many(&mut batch, FRAMES_AT_ONCE).await > 0 {
        let bytes = if batch.len() == 1 { batch.swap_remove(0) } else { batch.concat() };
        batch.clear();
        // A worker that is gone is noticed by whoever reads.
        if socket.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
