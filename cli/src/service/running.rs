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
/// How long workers may take to end, when the service has let go of its lock.
const WORKERS_TIME: Duration = Duration::from_secs(10);
/// How long a service that does not answer, or listens no more, may take to end in order, before it is killed.
const LAST_CHANCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// What becomes of a service that does not end when it is told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfItGoesOn {
    Fail,
    Kill,
}

/// What the service at this socket says of itself. `None` if none is there.
pub(crate) fn status(socket: &Path) -> Result<Option<Value>, Failure> {
    client::ask(socket, "service/status", &json!({}))
}

/// The process that serves at this socket, whether or not it answers.
pub(crate) fn process(socket: &Path) -> Option<Pid> {
    oam_service::process_at(socket).and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw)
}

/// Ends the service at this socket in good order, and waits for its end. Returns whether there was one.
pub(crate) fn stop(socket: &Path, if_it_goes_on: IfItGoesOn) -> Result<bool, Failure> {
    let (ending, time) = match status(socket) {
        Ok(Some(status)) => {
            let ending = Ending::of(socket, pid_of(socket, &status)?);
            ending.signal(Signal::SIGTERM)?;
            (ending, drain_of(&status).saturating_add(END_TIME))
        }
        // It listens no more: it has been told to end.
        Ok(None) => match process(socket) {
            Some(pid) if if_it_goes_on == IfItGoesOn::Kill => (Ending::of(socket, pid), LAST_CHANCE),
            Some(pid) => (Ending::of(socket, pid), END_TIME),
            None => return Ok(false),
        },
        Err(failure) => {
            let Some(pid) = process(socket) else { return Err(failure) };
            if if_it_goes_on == IfItGoesOn::Fail {
                return Err(Failure::io(format!("{failure}. Process {pid} serves there; {KILL_HINT}")));
            }
            let ending = Ending::of(socket, pid);
            ending.signal(Signal::SIGTERM)?;
            (ending, LAST_CHANCE)
        }
    };
    if ending.comes_within(time) {
        return Ok(true);
    }
    let pid = ending.pid;
    if if_it_goes_on == IfItGoesOn::Kill {
        ending.signal(Signal::SIGKILL)?;
        if ending.comes_within(END_TIME) {
            return Ok(true);
        }
        return Err(Failure::io(format!("process {pid} was killed and has not ended")));
    }
    Err(Failure::io(format!("process {pid} has not ended after {} s; {KILL_HINT}", time.as_secs())))
}

const KILL_HINT: &str = "`oam service stop --kill` ends it, whatever it does";

fn pid_of(socket: &Path, status: &Value) -> Result<Pid, Failure> {
    let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1);
    pid.map(Pid::from_raw)
        .ok_or_else(|| Failure::io(format!("what listens at {} does not tell its process", socket.display())))
}

fn drain_of(status: &Value) -> Duration {
    let drain = status["drainSeconds"].as_f64().and_then(|drain| Duration::try_from_secs_f64(drain).ok());
    drain.unwrap_or_default()
}

/// A service that is about to end.
struct Ending<'a> {
    socket: &'a Path,
    pid: Pid,
    /// It lets go of the lock when everything is on disk.
    has_lock: bool,
}

impl<'a> Ending<'a> {
    fn of(socket: &'a Path, pid: Pid) -> Self {
        Self { socket, pid, has_lock: process(socket) == Some(pid) }
    }

    /// That a process is gone already is no failure.
    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        match kill(self.pid, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(Failure::io(format!("process {} cannot be stopped: {error}", self.pid))),
        }
    }

    /// Waits for the end of the process. Where whoever started it does not look at its end, not every system tells it: then
    /// that its lock is free must do.
    fn comes_within(&self, time: Duration) -> bool {
        let begin = Instant::now();
        let mut released = None;
        while !has_ended(self.pid) {
            if released.is_none() && self.has_lock && process(self.socket) != Some(self.pid) {
                released = Some(Instant::now());
            }
            if released.is_some_and(|when| when.elapsed() > WORKERS_TIME) {
                return true;
            }
            if begin.elapsed() > time {
                return released.is_some();
            }
            thread::sleep(PAUSE);
        }
        true
    }
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
