//! A tool's process: fed, read, watched, and ended with all that it started.
//!
//! Each process leads a group of its own, so that what it starts can be ended with it, and so that Ctrl-C on a terminal
//! reaches `oam` alone. A task owns it until it is reaped; whoever waits may stop waiting at any time, and the task then
//! ends the process. Signals go out only before the reaping, or right behind it: as long as a group has members, or its
//! leader has not been reaped, nobody else has its number.
//!
//! What a tool leaves running when it ends by itself is its own business. It may hold the pipes open, and is not waited for.

use std::{
    io,
    process::{Command, ExitStatus, Stdio},
    sync::LazyLock,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use tokio::{
    io::AsyncWriteExt,
    join,
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    select,
    sync::oneshot,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    captured::{Captured, Keep, Reading},
    guard::{self, Watch},
};

/// The most that is kept of standard error, in bytes.
const KEPT_STDERR: usize = 4000;
/// How long the end of the outputs is waited for once the process has ended.
const STDOUT_GRACE: Duration = Duration::from_secs(1);
const STDERR_GRACE: Duration = Duration::from_millis(200);
/// How long a killed process may take to be gone, before it is no longer waited for.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The tasks that own processes.
static OWNERS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);
/// All processes are to end.
static ENDING: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Resolves once all processes of tools have been reaped, also those that nobody waits for. To be awaited before the
/// runtime ends, which kills what is left.
pub(crate) async fn all_ended() {
    OWNERS.close();
    OWNERS.wait().await;
}

/// Ends all processes of tools, now and later ones; resolves once they have been reaped.
pub(crate) async fn end_all() {
    ENDING.cancel();
    all_ended().await;
}

/// How much of a process is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// How long a process that is to end has, before it is killed.
    pub(super) grace: Duration,
    /// How much of standard output is kept, in bytes.
    pub(super) stdout: usize,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    Exited(Exited),
    TimedOut,
    Cancelled,
    /// The system does not tell.
    Lost(io::Error),
}

/// A process that ended by itself.
#[derive(Debug)]
pub(super) struct Exited {
    pub(super) status: ExitStatus,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// A running process.
pub(super) struct Process {
    leader: GroupLeader,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Process {
    pub(super) fn start(command: Command) -> io::Result<Self> {
        guard::begin();
        let mut child = tokio::process::Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Self { leader: GroupLeader::of(child), stdin, stdout, stderr })
    }

    /// Runs it to its end, or to the end of this future.
    pub(super) async fn run(self, input: Vec<u8>, limits: Limits) -> End {
        let (end, ended) = oneshot::channel();
        OWNERS.spawn(self.own(input, limits, end));
        ended.await.unwrap_or(End::Cancelled)
    }

    async fn own(self, input: Vec<u8>, limits: Limits, mut waiting: oneshot::Sender<End>) {
        let Self { mut leader, stdin, stdout, stderr } = self;
        let mut stdout = Reading::new(stdout, Keep::First(limits.stdout));
        let mut stderr = Reading::new(stderr, Keep::Last(KEPT_STDERR));
        let why_ended = {
            // A process that does not read its input, or goes on when it has closed its outputs, is waited for all the same.
            let talking = async {
                join!(feed(stdin, input), stdout.read_to_end(), stderr.read_to_end());
                std::future::pending().await
            };
            select! {
                status = leader.child.wait() => WhyEnded::ByItself(status),
                () = sleep(limits.time) => WhyEnded::TimeLimit,
                () = waiting.closed() => WhyEnded::NobodyWaits,
                () = ENDING.cancelled() => WhyEnded::NobodyWaits,
                never = talking => never,
            }
        };
        let end = match why_ended {
            WhyEnded::ByItself(Ok(status)) => {
                // From now on its number may become that of another group.
                drop(leader);
                // Only somebody else can keep them open now.
                let (_, _) = join!(
                    timeout(STDOUT_GRACE, stdout.read_to_end()),
                    timeout(STDERR_GRACE, stderr.read_to_end())
                );
                End::Exited(Exited { status, stdout: stdout.captured(), stderr: stderr.captured() })
            }
            WhyEnded::ByItself(Err(error)) => End::Lost(error),
            WhyEnded::TimeLimit => {
                leader.end(limits.grace, &mut stdout, &mut stderr).await;
                End::TimedOut
            }
            WhyEnded::NobodyWaits => {
                leader.end(limits.grace, &mut stdout, &mut stderr).await;
                End::Cancelled
            }
        };
        let _ = waiting.send(end);
    }
}

enum WhyEnded {
    ByItself(io::Result<ExitStatus>),
    TimeLimit,
    NobodyWaits,
}

/// Hands the input over and closes it. A process that does not want it has ended or closed it.
async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
    }
}

/// A process and the group that it leads.
struct GroupLeader {
    child: Child,
    /// Ends behind the process.
    _watch: Option<Watch<'static>>,
}

impl GroupLeader {
    fn of(child: Child) -> Self {
        let watch = pid(&child).and_then(guard::watch);
        Self { child, _watch: watch }
    }

    /// Ends the group: politely, then by force. Whoever holds the outputs open still lives, and has all the time that
    /// there is.
    async fn end(
        &mut self,
        grace: Duration,
        stdout: &mut Reading<ChildStdout>,
        stderr: &mut Reading<ChildStderr>,
    ) {
        let Some(group) = self.unreaped() else { return };
        signal(group, Signal::SIGTERM);
        // One that is stopped, say because it wanted to read from the terminal, is to hear it.
        signal(group, Signal::SIGCONT);
        let deadline = Instant::now() + grace;
        let _ = timeout_at(deadline, async { join!(stdout.read_to_end(), stderr.read_to_end()) }).await;
        if timeout_at(deadline, self.child.wait()).await.is_ok() {
            // Right behind the reaping.
            let _ = killpg(group, Signal::SIGKILL);
        } else {
            signal(group, Signal::SIGKILL);
            let _ = timeout(KILL_GRACE, self.child.wait()).await;
        }
    }

    /// The number of process and group, as long as it is theirs.
    fn unreaped(&self) -> Option<Pid> {
        pid(&self.child)
    }
}

fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw)
}

impl Drop for GroupLeader {
    /// The runtime ends: there is no time for more.
    fn drop(&mut self) {
        if let Some(group) = self.unreaped() {
            signal(group, Signal::SIGKILL);
        }
    }
}

/// Signals a group and its leader, who may have left it. Not to be called once the leader has been reaped.
fn signal(group: Pid, signal: Signal) {
    // They may be gone this very moment.
    let _ = killpg(group, signal);
    let _ = kill(group, signal);
}
