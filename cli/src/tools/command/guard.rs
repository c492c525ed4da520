//! The end of tools whose `oam` is killed (SIGKILL), and so cannot end them itself.
//!
//! That cannot be left to the tools, which are any programs; nor to the system, which at best would end a process with its
//! parent, and not what that has started. So there is one more process, a shell, that is told which groups run, and sees its
//! input end with `oam`. Only a tool that has just begun may be missed: it runs before its number can be told. Its input
//! comes behind that.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::LazyLock,
};

use nix::unistd::Pid;

const SCRIPT: &str = include_str!("guard.sh");
/// What it is called in lists of processes.
const NAME: &str = "oam-tool-guard";

/// Starts with [`begin`], and ends with `oam`.
static GUARD: LazyLock<Option<Guard>> = LazyLock::new(|| {
    let guard = Guard::start();
    if let Err(error) = &guard {
        tracing::warn!("nothing would end tools if oam were killed: {error}");
    }
    guard.ok()
});

/// Starts to guard, if that has not been started: before the first tool, so that the guard does not come too late for it.
pub(super) fn begin() {
    LazyLock::force(&GUARD);
}

/// Has a group end with this process, until the returned value is dropped: once the group has ended, or is to live on.
pub(super) fn watch(group: Pid) -> Option<Watch<'static>> {
    GUARD.as_ref().map(|guard| guard.watch(group))
}

struct Guard {
    shell: Child,
}

/// A group that is watched.
pub(super) struct Watch<'a> {
    guard: &'a Guard,
    group: Pid,
}

impl Guard {
    fn start() -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, NAME])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the group of `oam`, Ctrl-C on a terminal say, is not to end it.
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    fn watch(&self, group: Pid) -> Watch<'_> {
        self.tell('+', group);
        Watch { guard: self, group }
    }

    fn tell(&self, change: char, group: Pid) {
        // One write, so that lines do not mix. A guard that is gone is missed, but no reason to end anything.
        if let Some(mut input) = self.shell.stdin.as_ref() {
            let _ = input.write_all(format!("{change} {group}\n").as_bytes());
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.guard.tell('-', self.group);
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::unix::process::ExitStatusExt};

    use nix::sys::signal::Signal;

    use super::*;

    /// A group whose leader is what it is to be.
    fn group(line: &str) -> (Child, Pid) {
        let mut command = Command::new("/bin/sh");
        let mut leader = command.args(["-c", line]).process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let mut up = [0; 3];
        leader.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        assert_eq!(&up, b"up\n");
        let group = Pid::from_raw(leader.id().try_into().unwrap());
        (leader, group)
    }

    #[test]
    fn groups_that_are_watched_end_with_the_input_and_others_live_on() {
        let line = "echo up; exec sleep 1000";
        let mut groups = [line, line, "trap '' TERM; echo up; while :; do sleep 0.05; done", line].map(group);
        let mut guard = Guard::start().unwrap();
        let mut watches: Vec<_> = groups.iter().map(|(_, group)| guard.watch(*group)).collect();
        drop((watches.pop(), watches.remove(0)));
        watches.into_iter().for_each(std::mem::forget);
        // This closes its input.
        assert!(guard.shell.wait().unwrap().success());
        let live_on = [0, 3].map(|group: usize| groups[group].0.try_wait().unwrap().is_none());
        let ended = [1, 2].map(|group: usize| groups[group].0.wait().unwrap().signal());
        for group in [0, 3] {
            groups[group].0.kill().unwrap();
            groups[group].0.wait().unwrap();
        }
        assert_eq!(live_on, [true, true]);
        assert_eq!(ended, [Some(Signal::SIGTERM as i32), Some(Signal::SIGKILL as i32)]);
    }
}
