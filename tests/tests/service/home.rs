//! A user's home of its own: whatever the service keeps and listens at is in it.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{Builder, DEADLINE, Oam, Watchdog, clean_command, oam_binary};
use serde_json::Value;
use tempfile::TempDir;
use wait_timeout::ChildExt;

/// A home. A service that was left in it is stopped with it.
pub(crate) struct Home(TempDir);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.path("run")).unwrap();
        home
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// The usual socket.
    pub(crate) fn socket(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.path("Library/Application Support/oam/oam.sock")
        } else {
            self.path("run/oam/oam.sock")
        }
    }

    /// What tells programs where everything is.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("HOME", self.path("")),
            ("XDG_RUNTIME_DIR", self.path("run")),
            ("XDG_STATE_HOME", self.path("state")),
            ("XDG_CONFIG_HOME", self.path("config")),
        ]
    }

    pub(crate) fn data(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.path("Library/Application Support/oam/data")
        } else {
            self.path("state/oam")
        }
    }

    /// A program in this home, `oam` itself or another one that starts it.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = clean_command(program);
        command.envs(self.variables()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs `oam` with these arguments to its end.
    pub(crate) fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Ended {
        let mut command = self.program(oam_binary());
        command.args(arguments);
        ended(command)
    }

    /// `oam service status --json`.
    pub(crate) fn status(&self) -> Value {
        let told = self.run(["service", "status", "--json"]);
        serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"))
    }

    /// A client of the service.
    pub(crate) fn client(&self) -> Builder {
        self.variables()
            .into_iter()
            .fold(Oam::builder().arg("--connect"), |client, (name, value)| client.env(name, value))
    }

    /// `oam service run` with these arguments, when it listens.
    pub(crate) fn serve<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Running {
        let mut command = self.program(oam_binary());
        command.args(["service", "run", "--log-file", "-"]).args(arguments);
        Running::start(command, "the service listens")
    }

    /// A program `systemctl` or the like, found before that of the system, which notes what it is asked.
    pub(crate) fn fake(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.path("bin");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(
            &path,
            format!("#!/bin/sh\necho \"$*\" >> '{}'\n{script}\n", self.asked_path(name).display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    /// What such a program was asked since the last time.
    pub(crate) fn asked(&self, name: &str) -> Vec<String> {
        let path = self.asked_path(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        text.lines().map(str::to_owned).collect()
    }

    fn asked_path(&self, name: &str) -> PathBuf {
        self.path(format!("{name}.asked"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.program(oam_binary()).args(["service", "stop"]).output();
    }
}

/// Runs a command to its end.
pub(crate) fn ended(command: Command) -> Ended {
    let output = assert_cmd::Command::from_std(command).timeout(DEADLINE).output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A program that runs, and what it says on standard error. It is killed when it is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Receiver<String>,
    /// What it has said so far.
    pub(crate) said: String,
    _watchdog: Watchdog,
}

impl Running {
    /// Starts it, and waits until it says this.
    pub(crate) fn start(mut command: Command, ready: &str) -> Self {
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while errors.read_line(&mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    // It must not stop because nobody listens.
                    let _ = errors.read_to_end(&mut Vec::new());
                    return;
                }
            }
        });
        let watchdog = Watchdog::over(child.id());
        let mut running = Self { child, lines, said: String::new(), _watchdog: watchdog };
        running.says(ready);
        running
    }

    /// Waits until it says this.
    pub(crate) fn says(&mut self, part: &str) {
        while !self.said.contains(part) {
            let line = self.lines.recv_timeout(DEADLINE);
            self.said.push_str(&line.unwrap_or_else(|_| panic!("it does not say {part}: {}", self.said)));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        self.child.wait_timeout(DEADLINE).unwrap().unwrap_or_else(|| panic!("it goes on: {}", self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
