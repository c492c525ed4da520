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

/// The writing half of the connection.
#[derive(Debug)]
pub(crate) struct Output {
    stream: Mutex<UnixStream>,
}

/// How fast a frame is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    AtOnce,
    Dripping,
}

impl Output {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream: Mutex::new(stream) }
    }

    /// Writes a message. Fails only if no supervisor would read it.
    pub(crate) fn send(&self, message: &FromWorker, pace: Pace) -> Result<(), EncodeError> {
        let mut frame = Vec::new();
        encode(message, &mut frame)?;
        match pace {
            Pace::AtOnce => self.write(&frame),
            Pace::Dripping => {
                let mut stream = self.lock();
                for byte in frame {
                    write(&mut stream, &[byte]);
                    thread::sleep(DRIP);
                }
            }
        }
        Ok(())
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&self, bytes: &[u8]) {
        write(&mut self.lock(), bytes);
    }

    fn lock(&self) -> MutexGuard<'_, UnixStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that cannot be written to has no supervisor at its other end, and then a worker has no reason to be.
fn write(stream: &mut UnixStream, bytes: &[u8]) {
    if stream.write_all(bytes).is_err() {
        process::exit(0);
    }
}
