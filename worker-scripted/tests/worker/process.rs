//! A worker process and the supervisor's end of its connection.

use std::{
    fs,
    io::{BufReader, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use oam_ipc::{
    Entry, FromWorker, Generate, GenerationOptions, Outcome, ReadError, Ready, Segment, StepId, ToWorker,
    ToolMode, read_message, write_message,
};
use wait_timeout::ChildExt;

/// Longer than anything takes, so only what never comes is missed.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Worker {
    child: Child,
    connection: Option<BufReader<UnixStream>>,
}

impl Worker {
    /// Starts one that is not ready yet.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(&[], arguments)
    }

    pub(crate) fn start_with(environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_oam-worker-scripted"))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, connection: Some(BufReader::new(ours)) }
    }

    /// Starts one and waits until it is ready.
    pub(crate) fn ready(arguments: &[&str]) -> Self {
        let mut worker = Self::start(arguments);
        worker.hear_ready();
        worker
    }

    pub(crate) fn hear_ready(&mut self) -> Ready {
        match self.hear() {
            FromWorker::Ready(ready) => ready,
            other => panic!("not ready but {other:?}"),
        }
    }

    pub(crate) fn say(&mut self, message: &ToWorker<'_>) {
        write_message(self.connection.as_mut().unwrap().get_mut(), message).unwrap();
    }

    /// Asks for a step.
    pub(crate) fn ask(&mut self, request: Generate<'_>) {
        self.say(&ToWorker::Generate(Box::new(request)));
    }

    /// What the worker says next.
    pub(crate) fn hear(&mut self) -> FromWorker {
        self.try_hear().unwrap().expect("the worker goes on")
    }

    /// `None` when the connection has ended.
    pub(crate) fn try_hear(&mut self) -> Result<Option<FromWorker>, ReadError> {
        read_message(self.connection.as_mut().unwrap())
    }

    pub(crate) fn hear_all(&mut self, count: usize) -> Vec<FromWorker> {
        (0..count).map(|_| self.hear()).collect()
    }

    /// Hears the end of a step, whose pieces are left out.
    pub(crate) fn hear_end(&mut self, step: StepId) -> FromWorker {
        loop {
            let message = self.hear();
            match message {
                FromWorker::Finished { id, .. } | FromWorker::Failed { id, .. } if id == step => {
                    return message;
                }
                _ => {}
            }
        }
    }

    /// Whether a ping is answered. Nothing else may be said meanwhile.
    pub(crate) fn assert_alive(&mut self) {
        self.say(&ToWorker::Ping { n: 7 });
        assert_eq!(self.hear(), FromWorker::Pong { n: 7 });
    }

    /// The end of the supervisor, as the worker sees it.
    pub(crate) fn hang_up(&mut self) {
        self.connection = None;
    }

    /// Waits for the end of the process.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        self.child.wait_timeout(PATIENCE).unwrap().expect("the worker ends")
    }

    /// What it printed, once it has ended.
    pub(crate) fn printed(&mut self) -> (String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (stdout, stderr)
    }

    /// Reads standard error to its end, however long, beside the test.
    pub(crate) fn drain_stderr(&mut self) -> std::thread::JoinHandle<usize> {
        let mut stderr = self.child.stderr.take().unwrap();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).unwrap();
            bytes.len()
        })
    }

    pub(crate) fn connection(&mut self) -> &mut UnixStream {
        self.connection.as_mut().unwrap().get_mut()
    }

    /// Bytes of memory that it holds.
    pub(crate) fn resident_bytes(&self) -> usize {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn prompt(text: &str) -> Entry<'_> {
    Entry::Prompt { segments: segments(text) }
}

pub(crate) fn segments(text: &str) -> Vec<Segment<'_>> {
    vec![Segment::Text { text: text.into() }]
}

/// A step that answers a prompt with text.
pub(crate) fn step(id: u64, text: &str) -> Generate<'_> {
    Generate {
        id: StepId(id),
        instructions: None,
        transcript: vec![prompt(text)],
        tools: vec![],
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: false,
        cache_key: None,
    }
}

pub(crate) fn streamed(id: u64, text: &str) -> Generate<'_> {
    Generate { stream: true, ..step(id, text) }
}

pub(crate) fn delta(id: u64, text: &str) -> FromWorker {
    FromWorker::Delta { id: StepId(id), text: text.into() }
}

/// The text of a step that finished with one.
pub(crate) fn text_of(message: FromWorker) -> String {
    match message {
        FromWorker::Finished { outcome: Outcome::Text { text }, .. } => text,
        other => panic!("no text but {other:?}"),
    }
}

/// The code of a step that failed.
pub(crate) fn code_of(message: FromWorker) -> String {
    match message {
        FromWorker::Failed { code, .. } => code,
        other => panic!("no failure but {other:?}"),
    }
}
