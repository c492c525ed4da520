//! A running `oam stdio` and the conversation with it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt::Write as _,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use wait_timeout::ChildExt;

use crate::{DEADLINE, Id, Message, Monitor, Outcome, RpcError, ToolCall, oam_command};

/// How a client answers a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// `{"result": {"output": …}}`.
    Output(Value),
    /// A result with other members.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
    /// None.
    Never,
}

type Answer = Box<dyn FnMut(&ToolCall) -> Reply>;

/// How to start the program.
#[derive(Debug, Default)]
pub struct Builder {
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    unread: bool,
}

impl Builder {
    /// Adds an argument behind `oam stdio`.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Leaves the output unread until [`Oam::read_output`].
    #[must_use]
    pub fn unread(mut self) -> Self {
        self.unread = true;
        self
    }

    /// Starts the program.
    pub fn start(self) -> Oam {
        let mut child = oam_command()
            .arg("stdio")
            .args(self.args)
            .envs(self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("oam starts");
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let (mut errors, kept) = (child.stderr.take().expect("stderr is a pipe"), Arc::clone(&stderr));
        let stderr_reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        let mut oam = Oam {
            input: child.stdin.take(),
            unread: child.stdout.take(),
            child,
            lines: channel().1,
            monitor: Monitor::default(),
            messages: Vec::new(),
            waiting: VecDeque::new(),
            stderr,
            stderr_reader: Some(stderr_reader),
            next_id: 1,
            answer: None,
        };
        if !self.unread {
            oam.read_output();
        }
        oam
    }
}

/// A running `oam stdio` and the conversation with it. Dropping it kills and reaps the process.
pub struct Oam {
    child: Child,
    input: Option<ChildStdin>,
    unread: Option<ChildStdout>,
    lines: Receiver<Vec<u8>>,
    monitor: Monitor,
    messages: Vec<Message>,
    /// The messages that no wait has taken, as indices.
    waiting: VecDeque<usize>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    next_id: u64,
    answer: Option<Answer>,
}

impl std::fmt::Debug for Oam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oam")
            .field("pid", &self.pid())
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}

impl Oam {
    /// Starts `oam stdio` without further arguments.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Says how to start it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts reading the output of a program that was started [unread](Builder::unread).
    pub fn read_output(&mut self) {
        let output = self.unread.take().expect("the output is not read yet");
        let (sender, lines) = channel();
        self.lines = lines;
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => break,
                }
            }
        });
    }

    /// Closes the reading end of the output, which must be [unread](Builder::unread).
    pub fn close_output(&mut self) {
        drop(self.unread.take().expect("the output is not read yet"));
    }

    // Sending

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_send_bytes(bytes) {
            self.fail(&format!("sending failed: {error}"));
        }
    }

    /// Sends bytes to a program that may have ended.
    ///
    /// # Errors
    /// When it does not read any more.
    pub fn try_send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.as_mut().expect("the input is open").write_all(bytes)
    }

    /// Kills the program if the guard lives longer than [`DEADLINE`], so that sending cannot block for ever.
    pub fn watchdog(&self) -> Watchdog {
        Watchdog::over(self.pid())
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).expect("a process id")), signal)
            .expect("the process lives");
    }

    /// Sends a line. Lines that are messages take part in the monitor's bookkeeping.
    pub fn send_line(&mut self, line: &str) {
        if let Ok(message) = serde_json::from_str(line.trim_start_matches('\u{feff}')) {
            self.monitor.sent(&message);
        }
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends a line that is a request with this text id although serde cannot read it.
    pub fn send_opaque(&mut self, id: &str, line: &str) {
        self.monitor.sent(&json!({"id": id, "method": "unread"}));
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a request and goes on.
    pub fn request(&mut self, method: &str, params: Value) -> Id {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Id::from(id)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a tool call with an output.
    pub fn reply(&mut self, call: &ToolCall, output: Value) {
        self.reply_with(call, Reply::Output(output));
    }

    /// Answers a tool call.
    pub fn reply_with(&mut self, call: &ToolCall, reply: Reply) {
        let id = &call.id;
        match reply {
            Reply::Output(output) => {
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"output": output}}));
            }
            Reply::Result(result) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Reply::Error(error) => self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
            Reply::Never => {}
        }
    }

    /// Has `answer` answer every further tool call while something else is awaited.
    pub fn answer_tools(&mut self, answer: impl FnMut(&ToolCall) -> Reply + 'static) {
        self.answer = Some(Box::new(answer));
    }

    /// Has every further tool call answered with `output`.
    pub fn answer_tools_with(&mut self, output: Value) {
        self.answer_tools(move |_| Reply::Output(output.clone()));
    }

    /// Closes the input.
    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    // Waiting

    /// The next message that `matches` and that no earlier wait has taken.
    pub fn take(&mut self, what: &str, matches: impl Fn(&Message) -> bool) -> Message {
        let mut looked_at = 0;
        loop {
            while let Some(&index) = self.waiting.get(looked_at) {
                if matches(&self.messages[index]) {
                    self.waiting.remove(looked_at);
                    return self.messages[index].clone();
                }
                looked_at += 1;
            }
            if !self.receive() {
                self.fail(&format!("the output ended while waiting for {what}"));
            }
        }
    }

    /// The answer to a request.
    pub fn wait(&mut self, id: &Id) -> Outcome {
        let response =
            self.take(&format!("the answer to {id}"), |message| message.answers().as_ref() == Some(id));
        match response.value.get("error") {
            None => Ok(response.value["result"].clone()),
            Some(error) => Err(RpcError::of(error)),
        }
    }

    /// The next error that answers no request, because the line had no usable id.
    pub fn unaddressed_error(&mut self) -> RpcError {
        let message = self.take("an error with a null id", |message| {
            message.value["id"].is_null() && message.value["error"].is_object()
        });
        RpcError::of(&message.value["error"])
    }

    /// The next tool call.
    pub fn tool_call(&mut self) -> ToolCall {
        let message = self.take("a tool/call", |message| message.method() == Some("tool/call"));
        ToolCall::of(&message.value).expect("the monitor has seen that it is whole")
    }

    /// Sends a request and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Outcome {
        let id = self.request(method, params);
        self.wait(&id)
    }

    /// Sends a request that must succeed.
    pub fn ok(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.wait_ok(&id)
    }

    /// The result of a request that must succeed.
    pub fn wait_ok(&mut self, id: &Id) -> Value {
        match self.wait(id) {
            Ok(result) => result,
            Err(error) => self.fail(&format!("{id} failed: {error:?}")),
        }
    }

    /// Sends a request that must fail.
    pub fn fails(&mut self, method: &str, params: Value) -> RpcError {
        let id = self.request(method, params);
        self.wait_fails(&id)
    }

    /// The error of a request that must fail.
    pub fn wait_fails(&mut self, id: &Id) -> RpcError {
        match self.wait(id) {
            Err(error) => error,
            Ok(result) => self.fail(&format!("{id} succeeded: {result}")),
        }
    }

    /// Waits until everything sent before has had its immediate effect, and returns all messages so far.
    pub fn settle(&mut self) -> &[Message] {
        assert_eq!(self.ok("ping", json!({})), json!({}));
        &self.messages
    }

    /// Waits for the end of the process.
    pub fn wait_exit(&mut self) -> ExitStatus {
        if self.unread.is_none() {
            while self.receive() {}
        }
        let Some(status) = self.child.wait_timeout(DEADLINE).expect("the process can be waited for") else {
            self.fail("the process did not end");
        };
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        status
    }

    // Sessions

    /// Creates session `id` on a scripted model that plays `steps`.
    pub fn session(&mut self, id: &str, steps: impl IntoIterator<Item = Value>) {
        self.session_with(id, steps, json!({}));
    }

    /// The same with further parameters of `session/create`; returns its result.
    pub fn session_with(&mut self, id: &str, steps: impl IntoIterator<Item = Value>, params: Value) -> Value {
        let steps: Vec<_> = steps.into_iter().collect();
        let mut all = json!({"session": id, "model": {"type": "scripted", "steps": steps}});
        merge(&mut all, params);
        self.ok("session/create", all)
    }

    /// Runs a turn that must succeed.
    pub fn turn(&mut self, session: &str, prompt: &str) -> Value {
        self.turn_with(session, prompt, json!({}))
    }

    /// The same with further parameters of `session/respond`.
    pub fn turn_with(&mut self, session: &str, prompt: &str, params: Value) -> Value {
        let id = self.start_turn_with(session, prompt, params);
        self.wait_ok(&id)
    }

    /// Sends a `session/respond` and goes on.
    pub fn start_turn(&mut self, session: &str, prompt: &str) -> Id {
        self.start_turn_with(session, prompt, json!({}))
    }

    /// The same with further parameters.
    pub fn start_turn_with(&mut self, session: &str, prompt: &str, params: Value) -> Id {
        let mut all = json!({"session": session, "prompt": prompt});
        merge(&mut all, params);
        self.request("session/respond", all)
    }

    /// What `session/list` says of a session.
    pub fn listed(&mut self, session: &str) -> Value {
        let list = self.ok("session/list", json!({}));
        let found =
            list["sessions"].as_array().and_then(|all| all.iter().find(|one| one["session"] == session));
        found.cloned().unwrap_or(Value::Null)
    }

    /// The entries of a session's transcript.
    pub fn entries(&mut self, session: &str) -> Vec<Value> {
        let result = self.ok("session/transcript", json!({"session": session}));
        result["transcript"]["transcript"]["entries"].as_array().cloned().expect("a transcript has entries")
    }

    // Looking back

    /// All messages so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The events of a request so far.
    pub fn events(&self, id: &Id) -> Vec<Value> {
        self.messages
            .iter()
            .filter(|message| message.request_id().as_ref() == Some(id))
            .filter_map(|message| message.event().cloned())
            .collect()
    }

    /// The position of the first message that `matches`, among all messages so far.
    pub fn position(&self, what: &str, matches: impl Fn(&Message) -> bool) -> usize {
        match self.messages.iter().position(matches) {
            Some(position) => position,
            None => self.fail(&format!("there was no {what}")),
        }
    }

    /// The position of a request's answer among all messages so far.
    pub fn answer_position(&self, id: &Id) -> usize {
        self.position("answer", |message| message.answers().as_ref() == Some(id))
    }

    /// How many messages with this method came so far.
    pub fn count(&self, method: &str) -> usize {
        self.messages.iter().filter(|message| message.method() == Some(method)).count()
    }

    /// How many requests have no answer yet.
    pub fn open_requests(&self) -> usize {
        self.monitor.open_requests()
    }

    /// What the program wrote to its error output so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// Takes in one more message. False at the end of the output.
    fn receive(&mut self) -> bool {
        let mut line = match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => self.fail("nothing came"),
        };
        if line.pop() != Some(b'\n') {
            self.fail("the last line of the output is not complete");
        }
        let Ok(line) = String::from_utf8(line) else { self.fail("a line is not UTF-8") };
        let message = match self.monitor.received(&line) {
            Ok(message) => message,
            Err(violation) => self.fail(&format!("{violation}: {line}")),
        };
        let call = ToolCall::of(&message.value);
        self.messages.push(message);
        match (call, self.answer.take()) {
            (Some(call), Some(mut answer)) => {
                let reply = answer(&call);
                self.answer = Some(answer);
                self.reply_with(&call, reply);
            }
            (_, answer) => {
                self.answer = answer;
                self.waiting.push_back(self.messages.len() - 1);
            }
        }
        true
    }

    /// Fails the test, telling what was said so far.
    pub fn fail(&self, why: &str) -> ! {
        const SHOWN: usize = 40;
        let mut told = String::new();
        for message in &self.messages[self.messages.len().saturating_sub(SHOWN)..] {
            let _ = writeln!(told, "  {}", message.line.chars().take(500).collect::<String>());
        }
        panic!("{why}\nlast messages:\n{told}standard error:\n{}", self.stderr());
    }
}

/// Kills a program unless it is dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    _guard: Sender<()>,
}

impl Watchdog {
    /// Over the process with this id.
    pub fn over(pid: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(pid).expect("a process id"));
        let (guard, dropped) = channel::<()>();
        std::thread::spawn(move || {
            if dropped.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        Self { _guard: guard }
    }
}

impl Drop for Oam {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn merge(into: &mut Value, more: Value) {
    let (Value::Object(into), Value::Object(more)) = (into, more) else { panic!("params are objects") };
    into.extend(more);
}
