//! The service as a process: started, killed, and kept from writing.

use std::{
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{DEADLINE, oam_binary};
use wait_timeout::ChildExt;

/// A running service.
pub(super) struct Server {
    child: Child,
    pub(super) socket: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Starts the service over this folder.
    pub(super) fn start(folder: &Path) -> Self {
        let (socket, log) = (folder.join("oam.sock"), folder.join("oam.log"));
        let mut command = Command::new(oam_binary());
        command.args(["service", "run", "--log-level", "warning"]);
        command.arg("--socket").arg(&socket).arg("--data").arg(data(folder)).arg("--log-file").arg(&log);
        // Nothing of this machine's own oam is to be touched.
        command.env("HOME", folder).env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self { child: child.expect("oam starts"), socket, log }
    }

    /// Connects as soon as it listens; `None` once it has ended.
    pub(super) fn connect(socket: &Path, is_over: impl Fn() -> bool) -> Result<Option<UnixStream>, String> {
        let end = Instant::now() + DEADLINE;
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => return Ok(Some(stream)),
                Err(_) if is_over() => return Ok(None),
                Err(error) if Instant::now() > end => return Err(format!("nobody listens: {error}")),
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    /// Ends it in the middle of whatever it does.
    pub(super) fn kill(mut self) -> Result<(), String> {
        let _ = kill(self.pid(), Signal::SIGKILL);
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.code().is_some() {
            return Err(format!("it ended by itself: {status}\n{}", self.log()));
        }
        Ok(())
    }

    /// Has it end as a manager does.
    pub(super) fn stop(mut self) -> Result<(), String> {
        let _ = kill(self.pid(), Signal::SIGTERM);
        let status = self.child.wait_timeout(DEADLINE).map_err(|error| error.to_string())?;
        match status {
            Some(status) if status.success() => Ok(()),
            status => Err(format!("it ended with {:?}\n{}", status.map(describe), self.log())),
        }
    }

    /// From now on nothing is written behind so many bytes of a file; `None` lifts that.
    pub(super) fn limit_files(&self, bytes: Option<u64>) -> Result<(), String> {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let pid = self.child.id().to_string();
        // Soft alone: it can be lifted again.
        match Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={limit}:")]).status() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("prlimit: {other:?}")),
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn describe(status: ExitStatus) -> String {
    status.to_string()
}

pub(super) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}
