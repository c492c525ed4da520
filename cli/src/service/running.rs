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
    while !has_ended(pid) {
        if Instant::now() > deadline {
            return Err(Failure::io(format!("process {pid} has not ended after {} s", END_TIME.as_secs())));
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Also if whoever started it has not looked at its end yet, or never will: in a container often nobody does.
fn has_ended(pid: Pid) -> bool {
    kill(pid, None) == Err(Errno::ESRCH) || is_zombie(pid)
}

#[cfg(target_os = "linux")]
fn is_zombie(pid: Pid) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    // The state comes after the name, which stands in parentheses and may hold everything.
    let name_end = stat.iter().rposition(|byte| *byte == b')').unwrap_or_default();
    stat[name_end..].starts_with(b") Z")
}

#[cfg(not(target_os = "linux"))]
fn is_zombie(_: Pid) -> bool {
    false
}
