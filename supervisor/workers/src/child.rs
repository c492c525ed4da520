//! A child process that is waited for on a thread of its own.
//!
//! This may run in the process of a game, and what a signal does there is the game's to decide. So nothing here needs
//! SIGCHLD: no handler is installed, and the game may ignore that signal, or have a handler that reaps every child it
//! finds. Then the exit status is lost, but not that there was an exit.
//!
//! The thread only looks; the process keeps its number until its owner reaps it, so that a signal can never hit another
//! process that got the same number.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use rustix::{
    io::Errno,
    process::{WaitId, WaitIdOptions, WaitOptions, waitid, waitpid},
};
use tokio::sync::oneshot;

use crate::worker_id::WorkerId;

/// It does nothing but wait.
const STACK_BYTES: usize = 64 << 10;

/// A process that leads a group of its own. Dropped, it is killed, and reaped as soon as it is gone.
pub(crate) struct Child {
    pid: Pid,
    gone: oneshot::Receiver<()>,
    reaper: Arc<Mutex<Reaper>>,
}

/// Who reaps the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaper {
    /// Whoever holds the [`Child`].
    Holder,
    /// The thread, as nobody else is there.
    Thread,
    /// Nobody any more.
    Done,
}

fn lock(reaper: &Mutex<Reaper>) -> MutexGuard<'_, Reaper> {
    reaper.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Child {
    /// Takes over a process that was just started. It is killed if it cannot be waited for.
    pub(crate) fn watch(id: WorkerId, pid: Pid) -> io::Result<Self> {
        let reaper = Arc::new(Mutex::new(Reaper::Holder));
        let (tell, gone) = oneshot::channel();
        let child = Self { pid, gone, reaper };
        let reaper = Arc::clone(&child.reaper);
        let watch = move || {
            wait_without_reaping(pid);
            let mut reaper = lock(&reaper);
            if *reaper == Reaper::Thread {
                // A status that somebody else has taken is of no use to anyone here.
                let _ = reap(pid, WaitOptions::empty());
                *reaper = Reaper::Done;
            }
            drop(reaper);
            let _ = tell.send(());
        };
        let name = format!("oam-worker-{id}");
        if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(watch) {
            *lock(&child.reaper) = Reaper::Done;
            let _ = kill(pid, Signal::SIGKILL);
            let _ = reap(pid, WaitOptions::empty());
            return Err(error);
        }
        Ok(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw().cast_unsigned()
    }

    /// Waits for the end of the process and reaps it. Fails when somebody else has reaped it: there was an end, but it is
    /// not known which. The future may be dropped and this be called again until it has returned once.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // The thread ends without a word only if it panics.
        let _ = (&mut self.gone).await;
        *lock(&self.reaper) = Reaper::Done;
        let status = reap(self.pid, WaitOptions::empty())?;
        status.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut reaper = lock(&self.reaper);
        if *reaper != Reaper::Holder {
            return;
        }
        let _ = killpg(self.pid, Signal::SIGKILL);
        let _ = kill(self.pid, Signal::SIGKILL);
        // The thread may have seen the end already; it then looks no more.
        *reaper = match reap(self.pid, WaitOptions::NOHANG) {
            Ok(None) => Reaper::Thread,
            Ok(Some(_)) | Err(_) => Reaper::Done,
        };
    }
}

fn raw(pid: Pid) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid.as_raw())
}

/// Takes the exit status of a process that has ended; `None` if it has not.
fn reap(pid: Pid, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
    loop {
        match waitpid(raw(pid), options) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(status) => return Ok(status.map(|(_, status)| ExitStatus::from_raw(status.as_raw()))),
        }
    }
}

/// Returns when the process has ended, also if somebody else reaps it.
fn wait_without_reaping(pid: Pid) {
    let Some(pid) = raw(pid) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
}

#[cfg(test)]
mod tests {
    use std::{fs::File, path::PathBuf};

    use super::*;
    use crate::{
        config::WorkerCommand,
        spawn::{Streams, spawn},
    };

    fn child(script: &str) -> Child {
        let null = || File::options().read(true).write(true).open("/dev/null").unwrap().into();
        let streams = Streams { input: null(), output: null(), error: null() };
        let command =
            WorkerCommand { program: PathBuf::from("sh"), arguments: vec!["-c".into(), script.into()] };
        Child::watch(WorkerId(1), spawn(&command, std::iter::empty(), streams).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn the_end_of_a_process_is_awaited_and_told() {
        assert_eq!(child("exit 3").wait().await.unwrap().code(), Some(3));
    }

    #[tokio::test]
    async fn an_end_that_somebody_else_has_seen_is_noticed() {
        let mut child = child("exit 3");
        reap(child.pid, WaitOptions::empty()).unwrap();
        let error = child.wait().await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::CHILD.raw_os_error()));
    }

    #[tokio::test]
    async fn a_dropped_process_is_killed_and_leaves_no_zombie() {
        let running = child("sleep 600");
        let ended = child("exit");
        let pids = [running.pid, ended.pid];
        wait_without_reaping(ended.pid);
        drop((running, ended));
        for pid in pids {
            // Either it is gone, or this waits until it is.
            let _ = reap(pid, WaitOptions::empty());
            assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH));
        }
    }
}
