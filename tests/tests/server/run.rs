//! A running `oam serve`.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, ChildStdout, ExitStatus, Stdio},
    sync::Arc,
    thread::JoinHandle,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{DEADLINE, Watchdog, oam_command, pool::until};
use serde_json::{Value, json};
use tempfile::TempDir;
use wait_timeout::ChildExt;

use crate::http::{Answer, Coming, ask, send};

/// How to start it.
#[derive(Debug)]
pub(crate) struct Setup {
    folder: TempDir,
    command: std::process::Command,
    has_listener: bool,
}

/// A server that listens. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    folder: Arc<TempDir>,
    child: Child,
    /// Up to the last line.
    pub(crate) banner: String,
    log: Option<JoinHandle<String>>,
    /// What comes behind the banner.
    output: BufReader<ChildStdout>,
    fields: Vec<String>,
    _watchdog: Watchdog,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Its files are there as long as this is.
    pub(crate) folder: Option<Arc<TempDir>>,
}

/// `oam serve` with these arguments, and nothing of the tests' own environment that it looks at. It listens at any free port
/// unless the arguments say where.
pub(crate) fn serve<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let mut command = oam_command();
    let arguments: Vec<_> = arguments.into_iter().collect();
    let has_listener = arguments.iter().any(|argument| matches!(*argument, "--port" | "--socket"));
    command.arg("serve").args(arguments).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Setup { folder, command, has_listener }
}

impl Setup {
    /// Plays this script instead of asking a model.
    pub(crate) fn script(self, steps: Value) -> Self {
        self.file("script.json", &steps.to_string()).env("OAM_SCRIPT", "script.json")
    }

    /// Puts a file into the folder that the server runs in.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        fs::write(self.folder.path().join(name), content).unwrap();
        self
    }

    /// Puts a program into that folder.
    pub(crate) fn program(self, name: &str, content: &str) -> Self {
        let setup = self.file(name, content);
        fs::set_permissions(setup.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        setup
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts it, and waits until it listens.
    pub(crate) fn listens(mut self) -> Serving {
        if !self.has_listener {
            self.command.args(["--port", "0"]);
        }
        let mut child = self.command.spawn().unwrap();
        let watchdog = Watchdog::over(child.id());
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("Ctrl-C") {
            if output.read_line(&mut banner).unwrap() == 0 {
                let log = log.join().unwrap();
                panic!("it does not start: {banner}{log}");
            }
        }
        Serving {
            folder: Arc::new(self.folder),
            child,
            banner,
            log: Some(log),
            output,
            fields: Vec::new(),
            _watchdog: watchdog,
        }
    }

    /// Runs it; it is to end by itself.
    pub(crate) fn ends(mut self) -> Ended {
        let child = self.command.spawn().unwrap();
        let _watchdog = Watchdog::over(child.id());
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            folder: None,
        }
    }
}

impl Serving {
    /// The port of the URL in the banner.
    pub(crate) fn port(&self) -> u16 {
        let url = self.banner.split("http://").nth(1).and_then(|rest| rest.split("/v1").next());
        let port = url.and_then(|authority| authority.rsplit(':').next()?.parse().ok());
        port.unwrap_or_else(|| panic!("no URL: {}", self.banner))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends this with all requests.
    pub(crate) fn field(&mut self, field: &str) {
        self.fields.push(field.to_owned());
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(self.port(), "GET", path, &self.fields, "").whole()
    }

    /// Asks for a completion; returns when its head is there.
    pub(crate) fn ask(&self, request: Value) -> Coming {
        ask(self.port(), "POST", "/v1/chat/completions", &self.fields, &request.to_string())
    }

    /// A completion that is not streamed.
    pub(crate) fn complete(&self, request: Value) -> Answer {
        self.ask(request).whole()
    }

    /// Asks for a completion, and waits for nothing.
    pub(crate) fn send(&self, request: Value) -> TcpStream {
        send(self.port(), "POST", "/v1/chat/completions", &self.fields, &request.to_string())
    }

    /// Asks for a completion; returns when it is under way, and has not been answered. Nobody asks for another meanwhile.
    pub(crate) fn begin(&self, request: Value) -> TcpStream {
        let connection = self.send(request);
        self.until_number("oam_completions_active", 1.0);
        connection
    }

    /// A number of `/metrics`.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let metrics = self.get("/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|number| number.parse().unwrap())
    }

    /// Waits until a number of `/metrics` is this.
    pub(crate) fn until_number(&self, name: &str, expected: f64) {
        until(&format!("{name} is {expected}"), || {
            self.number(name).is_some_and(|number| (number - expected).abs() < f64::EPSILON)
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).expect("it runs");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let status: ExitStatus =
            self.child.wait_timeout(DEADLINE).unwrap().unwrap_or_else(|| panic!("it does not end"));
        let mut stdout = std::mem::take(&mut self.banner);
        self.output.read_to_string(&mut stdout).unwrap();
        let stderr = self.log.take().map(|log| log.join().unwrap()).unwrap_or_default();
        Ended { code: status.code(), stdout, stderr, folder: Some(self.folder.clone()) }
    }

    /// Stops it in order; returns what it logged.
    pub(crate) fn stops(self) -> String {
        self.signal(Signal::SIGINT);
        let ended = self.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stderr
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request with one message of the user.
pub(crate) fn said(prompt: &str) -> Value {
    json!({"messages": [{"role": "user", "content": prompt}]})
}

/// The same, with more members.
pub(crate) fn said_with(prompt: &str, members: Value) -> Value {
    let mut request = said(prompt);
    request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    request
}
