//! A worker's process: how it is started, watched and ended. The only place that starts processes.
//!
//! The worker inherits one end of a socket pair as its descriptor 0 and nothing else: every other descriptor is
//! close-on-exec, so a worker cannot keep its siblings' sockets open. It runs in its own process group, with a
//! cleaned environment. No code runs between fork and exec, so starting one costs the same from a large host as
//! from a small one. One task owns the child and awaits it; nobody else may signal it, so a signal can never hit
//! another process that got the same number.
//!
//! A worker that is gone leaves nothing behind: its group is killed with it, and what is heard on its pipes after that,
//! from a process that left the group, is not listened to.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io::{self, PipeReader},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    net::unix::pipe::Receiver,
    sync::mpsc,
    task::JoinHandle,
};

use crate::{
    child::Child,
    config::WorkerCommand,
    exit::{Exit, ExitCause},
    spawn::{Streams, out_of_the_way},
    worker_id::WorkerId,
};

/// Variables that a worker inherits. Everything else stays here.
const INHERITED: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
/// Variables with this prefix are meant for workers.
const WORKER_PREFIX: &str = "OAM_WORKER_";

const KEPT_STDERR_LINES: usize = 20;
const LONGEST_LOG_LINE: u64 = 4096;
/// How long the last lines of a dead worker may take to arrive.
const STDERR_GRACE: Duration = Duration::from_millis(50);

/// Making a socket pair close-on-exec takes two steps on some systems; a process started in between would inherit it.
static SPAWNING: Mutex<()> = Mutex::new(());

/// A started process.
pub(crate) struct Process {
    /// The connection, for writing; it never blocks.
    pub(crate) writing: UnixStream,
    /// The same, for reading.
    pub(crate) reading: Receiver,
    pub(crate) pid: u32,
    /// Signals for the process and its group.
    pub(crate) signals: mpsc::UnboundedSender<Signal>,
    /// Resolves when the process has been reaped.
    pub(crate) exit: JoinHandle<Exit>,
}

/// Starts a worker. Fails with the reason in words.
pub(crate) fn spawn(id: WorkerId, command: &WorkerCommand) -> Result<Process, String> {
    adopt(id, start(id, command).map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

fn adopt(id: WorkerId, started: Started) -> io::Result<Process> {
    let Started { writing, child, output, error } = started;
    let reading = Receiver::from_owned_fd_unchecked(writing.try_clone()?.into())?;
    let pid = child.id();
    let tail = Arc::new(Mutex::new(VecDeque::new()));
    let [output, error] = [output, error].map(|pipe| Receiver::from_owned_fd(pipe.into()));
    let logs = vec![
        tokio::spawn(log_lines(id, error?, Some(Arc::clone(&tail)))),
        tokio::spawn(log_lines(id, output?, None)),
    ];
    let (signals, inbox) = mpsc::unbounded_channel();
    let exit = tokio::spawn(reap(child, pid, inbox, tail, logs));
    Ok(Process { writing, reading, pid, signals, exit })
}

struct Started {
    writing: UnixStream,
    child: Child,
    output: PipeReader,
    error: PipeReader,
}

fn start(id: WorkerId, command: &WorkerCommand) -> io::Result<Started> {
    let _one_at_a_time = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
    let (writing, input) = UnixStream::pair()?;
    let writing = UnixStream::from(out_of_the_way(writing.into())?);
    writing.set_nonblocking(true)?;
    let (output, output_end) = io::pipe()?;
    let (error, error_end) = io::pipe()?;
    let [output, error] = [output, error].map(|pipe| Ok::<_, io::Error>(out_of_the_way(pipe.into())?.into()));
    let (output, error) = (output?, error?);
    let streams = Streams { input: input.into(), output: output_end.into(), error: error_end.into() };
    let environment = std::env::vars_os().filter(|(name, _)| is_inherited(name));
    let pid = crate::spawn::spawn(command, environment, streams)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", command.program.display())))?;
    Ok(Started { writing, child: Child::watch(id, pid)?, output, error })
}

fn is_inherited(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with(WORKER_PREFIX))
}

/// Owns the child until it is gone.
async fn reap(
    mut child: Child,
    pid: u32,
    mut signals: mpsc::UnboundedReceiver<Signal>,
    tail: Arc<Mutex<VecDeque<String>>>,
    logs: Vec<JoinHandle<()>>,
) -> Exit {
    let started = Instant::now();
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            Some(signal) = signals.recv() => signal_worker(pid, signal),
        }
    };
    kill_group_of_reaped(pid);
    for mut log in logs {
        // Somebody else may hold the pipe open; the last words are worth no more than a short wait.
        if tokio::time::timeout(STDERR_GRACE, &mut log).await.is_err() {
            log.abort();
        }
    }
    Exit {
        cause: status.map_or(ExitCause::Unknown, ExitCause::of),
        uptime: started.elapsed(),
        was_ready: false,
        why_killed: None,
        stderr: tail.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect(),
    }
}

/// Signals a worker that has not been reaped, and its group. A worker may have left its group.
fn signal_worker(pid: u32, signal: Signal) {
    let Ok(pid) = i32::try_from(pid).map(Pid::from_raw) else { return };
    // It may have gone this very moment, and so may its group.
    let _ = killpg(pid, signal);
    if let Err(error) = kill(pid, signal) {
        tracing::debug!(%pid, %signal, %error, "a worker could not be signalled");
    }
}

/// Ends what a worker has left behind in its group. To be called right behind the reaping: while the group has members
/// nobody else gets its number, and if it has none, somebody else would need to have got it, and made it a group, since
/// that moment.
fn kill_group_of_reaped(pid: u32) {
    if let Ok(group) = i32::try_from(pid) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// Puts what a worker prints into the log, line by line, and keeps the last lines.
async fn log_lines(id: WorkerId, output: impl AsyncRead + Unpin, tail: Option<Arc<Mutex<VecDeque<String>>>>) {
    use tokio::io::AsyncReadExt;
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut lines).take(LONGEST_LOG_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        tracing::debug!(worker = %id, "{text}");
        if let Some(tail) = &tail {
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == KEPT_STDERR_LINES {
                tail.pop_front();
            }
            tail.push_back(text.to_owned());
        }
        // A worker that floods its log must not keep the thread from everything else.
        tokio::task::coop::consume_budget().await;
    }
}

/// The resident memory of a process in bytes, where the system tells it cheaply.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * u64::try_from(page).ok()?)
}
