//! An `oam stdio` whose system model is a pool of workers, scripted ones unless told otherwise, and what a test asks of it.

use std::{
    fs,
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Builder, DEADLINE, Oam, client::merge, oam_binary};

/// How to start the program and its workers.
#[derive(Debug)]
#[must_use]
pub struct Setup {
    worker: Vec<String>,
    flags: Vec<String>,
    environment: Vec<(&'static str, String)>,
    hears_events: bool,
    folder: TempDir,
}

/// Workers without a fault, one and a spare.
pub fn workers() -> Setup {
    let program = oam_binary().to_str().expect("the program's path is text").to_owned();
    Setup {
        worker: vec![program, "worker".to_owned(), "scripted".to_owned()],
        flags: Vec::new(),
        environment: Vec::new(),
        hears_events: false,
        folder: tempfile::tempdir().expect("a folder for this test"),
    }
}

impl Setup {
    /// Another program in place of the scripted worker.
    pub fn program(mut self, words: &[&str]) -> Self {
        self.worker = words.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Adds arguments of the workers.
    pub fn worker_args(mut self, args: &[&str]) -> Self {
        self.worker.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Makes workers go wrong.
    pub fn fault(self, fault: &str) -> Self {
        self.worker_args(&["--fault", fault])
    }

    /// Makes one worker go wrong, once.
    pub fn fault_once(self, kind: &str, condition: &str) -> Self {
        let mark = self.path("struck");
        let joint = if condition.is_empty() { "" } else { "+" };
        self.fault(&format!("{kind}:{condition}{joint}once={}", mark.display()))
    }

    /// Adds arguments of `oam stdio`.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// Sets a variable of the environment of `oam stdio`.
    pub fn environment(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Asks for `supervisor/event`s.
    pub fn with_events(mut self) -> Self {
        self.hears_events = true;
        self
    }

    /// A path in a folder that lives as long as the test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Says how to start the program, without hearing of events.
    pub fn builder(&self) -> Builder {
        let builder = Oam::builder().arg("--worker").arg(shell_words::join(&self.worker));
        let builder = self.flags.iter().fold(builder, Builder::arg);
        self.environment.iter().fold(builder, |builder, (name, value)| builder.env(name, value))
    }

    /// Starts the program.
    pub fn start(self) -> Pool {
        let mut oam = self.builder().start();
        if self.hears_events {
            oam.ok("initialize", json!({"client": {"workerEvents": true}}));
        }
        Pool { oam, _folder: self.folder }
    }
}

/// A running program with workers.
#[derive(Debug)]
pub struct Pool {
    oam: Oam,
    _folder: TempDir,
}

impl Deref for Pool {
    type Target = Oam;

    fn deref(&self) -> &Oam {
        &self.oam
    }
}

impl DerefMut for Pool {
    fn deref_mut(&mut self) -> &mut Oam {
        &mut self.oam
    }
}

impl Pool {
    /// Creates a session on the system model whose worker plays `steps`.
    pub fn play(&mut self, session: &str, steps: impl IntoIterator<Item = Value>) {
        self.play_with(session, steps, json!({}));
    }

    /// The same with further parameters of `session/create`.
    pub fn play_with(&mut self, session: &str, steps: impl IntoIterator<Item = Value>, params: Value) {
        let steps: Vec<_> = steps.into_iter().collect();
        let instructions = format!("You are on a stage.\noam-script:{}", json!(steps));
        self.open(session, with(json!({"instructions": instructions}), params));
    }

    /// Creates a session on the system model whose worker answers what it likes.
    pub fn open(&mut self, session: &str, params: Value) {
        self.ok("session/create", with(json!({"session": session}), params));
    }

    /// What `supervisor/status` says.
    pub fn status(&mut self) -> Value {
        self.ok("supervisor/status", json!({}))
    }

    /// One of the counters in the status.
    pub fn counter(&mut self, name: &str) -> u64 {
        self.status()["counters"][name].as_u64().unwrap()
    }

    /// How many workers died, by signal or exit.
    pub fn crashes(&mut self) -> Value {
        self.status()["counters"]["crashes"].clone()
    }

    /// Asks for the status until it `holds`.
    pub fn status_when(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let status = self.status();
            if holds(&status) {
                return status;
            }
            if Instant::now() > end {
                self.fail(&format!("the status never came to {what}: {status}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this many workers are ready and no other one is there. Returns their process ids.
    pub fn when_ready(&mut self, count: usize) -> Vec<u32> {
        let status = self.status_when(&format!("{count} ready workers"), |status| {
            let states = states(status);
            states.len() == count && states.iter().all(|state| state == "ready")
        });
        pids(&status)
    }

    /// The next `supervisor/event` of a type.
    pub fn event(&mut self, kind: &str) -> Value {
        let message = self.take(&format!("a {kind} event"), |message| {
            message.method() == Some("supervisor/event") && message.value["params"]["event"]["type"] == kind
        });
        message.value["params"]["event"].clone()
    }

    /// The types of all `supervisor/event`s so far.
    pub fn event_types(&self) -> Vec<&str> {
        let events = self.messages().iter().filter(|message| message.method() == Some("supervisor/event"));
        events.map(|message| message.value["params"]["event"]["type"].as_str().unwrap()).collect()
    }

    /// Runs a streamed turn that must succeed. Returns its result and what was heard of it.
    pub fn streamed(&mut self, session: &str, prompt: &str) -> (Value, Vec<Value>) {
        let turn = self.start_turn_with(session, prompt, json!({"stream": true}));
        let result = self.wait_ok(&turn);
        (result, self.events(&turn))
    }
}

/// The states of the workers in a status.
pub fn states(status: &Value) -> Vec<String> {
    let workers = status["workers"].as_array().unwrap();
    workers.iter().map(|worker| worker["state"].as_str().unwrap().to_owned()).collect()
}

/// The process ids of the workers in a status.
pub fn pids(status: &Value) -> Vec<u32> {
    let workers = status["workers"].as_array().unwrap();
    workers.iter().filter_map(|worker| u32::try_from(worker["pid"].as_u64()?).ok()).collect()
}

/// The types of events, in order.
pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Whether there is a process with this id, dead ones that nobody has reaped included.
pub fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Whether a process is there that is not dead already, whoever has to reap it.
pub fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Sends a signal to a process that must be there.
pub fn send_signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).expect("the process lives");
}

/// Looks again and again until `holds`.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn with(mut params: Value, more: Value) -> Value {
    merge(&mut params, more);
    params
}
