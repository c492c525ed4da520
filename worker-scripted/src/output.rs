//! What goes to the supervisor: whole frames, from any thread.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    process,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use oam_ipc::{EncodeError, FromWorker, encode};

/// The pause between the bytes of a drip.
const DRIP: Duration = Duration::from_millis(2);

/// Frames that wait for others are written when they are this many bytes.
const MOST_WAITING: usize = 64 << 10;

/// The writing half of the connection.
#[derive(Debug)]
pub(crate) struct Output {
    connection: Mutex<Connection>,
}

#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    /// Frames that wait for others, to be written with them.
    waiting: Vec<u8>,
}

/// How fast a frame is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    /// With the frames that follow it, when [`Output::flush`] says that none do.
    Together,
    Dripping,
}

impl Output {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { connection: Mutex::new(Connection { stream, waiting: Vec::new() }) }
    }

    /// Writes a message. Fails only if no supervisor would read it.
    pub(crate) fn send(&self, message: &FromWorker, pace: Pace) -> Result<(), EncodeError> {
        let mut frame = Vec::new();
        encode(message, &mut frame)?;
        let mut connection = self.lock();
        connection.waiting.append(&mut frame);
        match pace {
            Pace::Together if connection.waiting.len() < MOST_WAITING => {}
            Pace::Together | Pace::AtOnce => connection.flush(),
            Pace::Dripping => connection.drip(),
        }
        Ok(())
    }

    /// Writes what waits for more.
    pub(crate) fn flush(&self) {
        self.lock().flush();
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&self, bytes: &[u8]) {
        write(&mut self.lock().stream, bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn flush(&mut self) {
        write(&mut self.stream, &self.waiting);
        self.waiting.clear();
        self.waiting.shrink_to(MOST_WAITING);
    }

    fn drip(&mut self) {
        for byte in self.waiting.drain(..) {
            write(&mut self.stream, &[byte]);
            thread::sleep(DRIP);
        }
    }
}

/// A connection that cannot be written to has no supervisor at its other end, and then a worker has no reason to be.
fn write(stream: &mut UnixStream, bytes: &[u8]) {
    if stream.write_all(bytes).is_err() {
        process::exit(0);
    }
}
