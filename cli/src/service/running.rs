//! A service that runs, whoever started it: what it says of itself, and ending it.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::client;
use crate::failure::Failure;

/// How long a service may take to end. It drains for less, unless it was told otherwise.
const END_TIME: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);

/// What the service at this socket says of itself. `None` if none is there.
pub(crate) fn status(socket: &Path) -> Result<Option<Value>, Failure> {
    client::ask(socket, "service/status", &json!({}))
}

/// Ends the service at this socket in good order, and waits for its end. Returns whether there was one.
pub(crate) fn stop(socket: &Path) -> Result<bool, Failure> {
    let Some(status) = status(socket)? else { return Ok(false) };
    let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1);
    let pid = pid.ok_or_else(|| {
        Failure::io(format!("what listens at {} does not tell its process", socket.display()))
    })?;
    let pid = Pid::from_raw(pid);
    kill(pid, Signal::SIGTERM)
        .map_err(|error| Failure::io(format!("process {pid} cannot be stopped: {error}")))?;
    let deadline = Instant::now() + END_TIME;
    while kill(pid, None) != Err(Errno::ESRCH) {
        if Instant::now() > deadline {
            return Err(Failure::io(format!("process {pid} has not ended after {} s", END_TIME.as_secs())));
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}
