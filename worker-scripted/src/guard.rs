//! The thread that inference cannot block. Where there is none, in a step of a script that takes no time, it plays the step
//! itself: waking another thread for it would cost more.

use std::{
    io::{ErrorKind, Read},
    os::{fd::AsFd, unix::net::UnixStream},
    process,
    sync::{Arc, atomic::Ordering},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oam_ipc::{FrameReader, FromWorker, LogLevel, Ready, ToWorker};

use crate::{complain, jobs::Jobs, output::Pace, request, step, strike::strike_counting, worker::Shared};

const CHUNK: usize = 64 << 10;

/// Reads the connection for as long as the process lives, which is no longer than the connection.
pub(crate) fn watch(mut stream: UnixStream, shared: &Arc<Shared>, jobs: &Jobs) -> ! {
    let mut frames = FrameReader::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        // Who sleeps in a read is also woken each time the other side reads; who polls is not.
        let _ = poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
        match stream.read(&mut chunk) {
            Ok(len) if len > 0 => frames.feed(&chunk[..len]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The supervisor is gone, in whatever way.
            _ => process::exit(0),
        }
        loop {
            match frames.next_message() {
                Ok(Some(message)) => obey(message, shared, jobs),
                Ok(None) => break shared.output.flush(),
                Err(error) => {
                    shared.output.flush();
                    complain(&error.to_string());
                    process::exit(1);
                }
            }
        }
    }
}

fn obey(message: ToWorker<'static>, shared: &Shared, jobs: &Jobs) {
    let answer = match message {
        ToWorker::Generate(request) => {
            return match shared.instant_model(&request) {
                Some(model) => step::play_instantly(shared.steps.begin(request), shared, model),
                None => jobs.add(shared.steps.begin(request)),
            };
        }
        ToWorker::Cancel { id } => return shared.steps.cancel(id),
        ToWorker::Shutdown { .. } => return shared.steps.close(&shared.output),
        ToWorker::Ping { .. } if shared.is_mute.load(Ordering::Relaxed) => return,
        ToWorker::Ping { n } => FromWorker::Pong { n },
        ToWorker::CountTokens(request) => {
            for fault in shared.faults.of_counting(&request::last_prompt(&request)) {
                if strike_counting(fault) {
                    return;
                }
            }
            FromWorker::Tokens { id: request.id, count: request::tokens(&request) }
        }
        ToWorker::Availability { id } => {
            let FromWorker::Ready(Ready { availability, .. }) = &shared.ready else { return };
            FromWorker::Availability { id: Some(id), availability: availability.clone() }
        }
        ToWorker::Prewarm { .. } => return,
        ToWorker::Unknown => FromWorker::Log {
            level: LogLevel::Warning,
            message: "ignored a message of an unknown type".into(),
        },
    };
    // None of these is too large to send.
    let _ = shared.output.send(&answer, Pace::Together);
}
