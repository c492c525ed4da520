//! A service that runs, whoever started it: what it says of itself, and ending it.

use std::{
    fs,
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

/// How long a service may take to end when its turns have.
const END_TIME: Duration = Duration::from_secs(50);
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
    let drain = status["drainSeconds"].as_f64().and_then(|drain| Duration::try_from_secs_f64(drain).ok());
    let limit = END_TIME.saturating_add(drain.unwrap_or_default());
    let begin = Instant::now();
    while !has_ended(pid) {
        if begin.elapsed() > limit {
            return Err(Failure::io(format!("process {pid} has not ended after {} s", limit.as_secs())));
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Whether the process is gone, or nobody has asked yet how it ended: in a container there may be nobody who does.
fn has_ended(pid: Pid) -> bool {
    let is_left = || {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which may contain anything.
        status.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
    };
    kill(pid, None) == Err(Errno::ESRCH) || is_left()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use nix::sys::wait::{Id, WaitPidFlag, waitid};

    use super::*;

    #[test]
    fn a_process_that_nobody_waits_for_has_ended_too() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_raw(child.id().try_into().unwrap());
        assert!(!has_ended(pid));
        drop(child.stdin.take());
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert!(has_ended(pid));
        child.wait().unwrap();
        assert!(has_ended(pid));
    }
}
