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
    process::{self, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;

use crate::worker_id::WorkerId;

/// It does nothing but wait.
const STACK_BYTES: usize = 64 << 10;

/// A process that leads a group of its own. Dropped, it is killed, and reaped as soon as it is gone.
pub(crate) struct Child {
    process: Arc<Mutex<Owned>>,
    gone: oneshot::Receiver<()>,
    pid: u32,
}

struct Owned {
    process: process::Child,
    owner: Owner,
}

#[derive(PartialEq, Eq)]
enum Owner {
    /// Who holds the [`Child`] reaps it.
    Holder,
    /// The thread does, nobody else is there.
    Thread,
    /// It has been reaped.
    Nobody,
}

fn lock(owned: &Mutex<Owned>) -> MutexGuard<'_, Owned> {
    owned.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Child {
    /// Takes over a process that was just started. It is killed if it cannot be waited for.
    pub(crate) fn watch(id: WorkerId, process: process::Child) -> io::Result<Self> {
        let pid = process.id();
        let process = Arc::new(Mutex::new(Owned { process, owner: Owner::Holder }));
        let (tell, gone) = oneshot::channel();
        let child = Self { process, gone, pid };
        let watched = Arc::clone(&child.process);
        let watch = move || {
            wait_without_reaping(pid);
            let mut owned = lock(&watched);
            if owned.owner == Owner::Thread {
                // A status that somebody else has taken is of no use to anyone here.
                let _ = owned.process.wait();
                owned.owner = Owner::Nobody;
            }
            drop(owned);
            let _ = tell.send(());
        };
        let name = format!("oam-worker-{id}");
        if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(watch) {
            let mut owned = lock(&child.process);
            owned.owner = Owner::Nobody;
            let _ = owned.process.kill().and_then(|()| owned.process.wait());
            return Err(error);
        }
        Ok(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    /// Waits for the end of the process and reaps it. Fails when somebody else has reaped it: there was an end, but it is
    /// not known which. The future may be dropped and this be called again until it has returned once.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // The thread ends without a word only if it panics.
        let _ = (&mut self.gone).await;
        let mut owned = lock(&self.process);
        owned.owner = Owner::Nobody;
        owned.process.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut owned = lock(&self.process);
        if owned.owner != Owner::Holder {
            return;
        }
        if let Ok(group) = i32::try_from(self.pid) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = owned.process.kill();
        // The thread may have seen the end already; it then looks no more.
        owned.owner = match owned.process.try_wait() {
            Ok(None) => Owner::Thread,
            Ok(Some(_)) | Err(_) => Owner::Nobody,
        };
    }
}

/// Returns when the process has ended, also if somebody else reaps it.
fn wait_without_reaping(pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use nix::{errno::Errno, sys::wait::waitpid};

    use super::*;

    fn child(script: &str) -> Child {
        let process = Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        Child::watch(WorkerId(1), process).unwrap()
    }

    fn pid_of(child: &Child) -> Pid {
        Pid::from_raw(child.id().cast_signed())
    }

    #[tokio::test]
    async fn the_end_of_a_process_is_awaited_and_told() {
        assert_eq!(child("exit 3").wait().await.unwrap().code(), Some(3));
    }

    #[tokio::test]
    async fn an_end_that_somebody_else_has_seen_is_noticed() {
        let mut child = child("exit 3");
        waitpid(pid_of(&child), None).unwrap();
        assert_eq!(child.wait().await.unwrap_err().raw_os_error(), Some(Errno::ECHILD as i32));
    }

    #[tokio::test]
    async fn a_dropped_process_is_killed_and_leaves_no_zombie() {
        let running = child("sleep 600");
        let ended = child("exit");
        let pids = [pid_of(&running), pid_of(&ended)];
        wait_without_reaping(ended.id());
        drop((running, ended));
        for pid in pids {
            // Either it is gone, or this waits until it is.
            let _ = waitpid(pid, None);
            assert_eq!(nix::sys::signal::kill(pid, None), Err(Errno::ESRCH));
        }
    }
}
