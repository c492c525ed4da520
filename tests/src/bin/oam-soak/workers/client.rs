//! The connection that all sessions share: each request gets its own stream of what belongs to it.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
};

use oam_tests::{DEADLINE, Id, Message, Monitor, RpcError, ToolCall};
use serde_json::{Value, json};
use wait_timeout::ChildExt;

/// What belongs to a request.
pub(crate) enum Heard {
    Event(Value),
    ToolCall(ToolCall),
    ToolCancel,
    Answer(Result<Value, RpcError>),
}

/// A running `oam stdio` under watch. Shared by threads.
pub(crate) struct Client {
    child: Mutex<Child>,
    pid: u32,
    input: Mutex<Option<ChildStdin>>,
    state: Arc<Mutex<State>>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    monitor: Monitor,
    next_id: u64,
    /// Who waits for what belongs to a request.
    open: HashMap<Id, Sender<Heard>>,
    /// `supervisor/event`s by type.
    worker_events: BTreeMap<String, u64>,
    tool_calls: u64,
    /// How often a world has changed.
    world_changes: HashMap<String, u64>,
    /// The first rule that was broken outside of a request.
    failure: Option<String>,
}

/// A request on its way.
pub(crate) struct Exchange {
    pub(crate) id: u64,
    heard: Receiver<Heard>,
}

impl Exchange {
    /// The next message that belongs to the request.
    pub(crate) fn next(&self) -> Result<Heard, String> {
        self.heard.recv_timeout(DEADLINE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("request {} is not answered", self.id),
            RecvTimeoutError::Disconnected => {
                format!("the output ended before request {} was answered", self.id)
            }
        })
    }
}

impl Client {
    /// Starts `oam stdio` with arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = crate::oam()
            .arg("stdio")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("oam starts");
        let input = Mutex::new(child.stdin.take());
        let output = child.stdout.take().expect("a pipe");
        let state = Arc::new(Mutex::new(State::default()));
        let reader = {
            let state = Arc::clone(&state);
            std::thread::spawn(move || read(output, &state))
        };
        Self { pid: child.id(), child: Mutex::new(child), input, state, reader: Mutex::new(Some(reader)) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a request.
    pub(crate) fn request(&self, method: &str, params: Value) -> Result<Exchange, String> {
        let (sender, heard) = channel();
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        state.next_id += 1;
        let id = state.next_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        state.monitor.sent(&message);
        state.open.insert(Id::from(id), sender);
        drop(state);
        self.write(&message)?;
        Ok(Exchange { id, heard })
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&self, method: &str, params: Value) -> Result<Result<Value, RpcError>, String> {
        let exchange = self.request(method, params)?;
        loop {
            if let Heard::Answer(answer) = exchange.next()? {
                return Ok(answer);
            }
        }
    }

    /// Sends a request that must succeed.
    pub(crate) fn ok(&self, method: &str, params: Value) -> Result<Value, String> {
        self.call(method, params)?.map_err(|error| format!("{method} failed: {error:?}"))
    }

    /// Answers a tool call.
    pub(crate) fn reply(&self, call: &ToolCall, output: &str) -> Result<(), String> {
        let message = json!({"jsonrpc": "2.0", "id": call.id, "result": {"output": output}});
        lock(&self.state).monitor.sent(&message);
        self.write(&message)
    }

    /// How many `supervisor/event`s of each type came.
    pub(crate) fn worker_events(&self) -> BTreeMap<String, u64> {
        lock(&self.state).worker_events.clone()
    }

    pub(crate) fn worker_event_count(&self, name: &str) -> u64 {
        lock(&self.state).worker_events.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn tool_calls(&self) -> u64 {
        lock(&self.state).tool_calls
    }

    /// How many changes of a world were told. Forgets them.
    pub(crate) fn take_world_changes(&self, world: &str) -> u64 {
        lock(&self.state).world_changes.remove(world).unwrap_or(0)
    }

    /// What must hold when nothing is asked: nothing is open, no rule was broken.
    pub(crate) fn settled(&self) -> Result<(), String> {
        let state = lock(&self.state);
        match &state.failure {
            Some(failure) => Err(failure.clone()),
            None if state.monitor.open_requests() > 0 => {
                Err(format!("{} requests are open at the end", state.monitor.open_requests()))
            }
            None if state.monitor.open_calls() > 0 => {
                Err(format!("{} tool calls are open without a turn", state.monitor.open_calls()))
            }
            None => Ok(()),
        }
    }

    /// Ends the input; the process must end well.
    pub(crate) fn end(&self) -> Result<(), String> {
        drop(lock(&self.input).take());
        let status = lock(&self.child).wait_timeout(DEADLINE).map_err(|error| error.to_string())?;
        match status {
            None => return Err("it does not end with its input".to_owned()),
            Some(status) if !status.success() => return Err(format!("it ended with {status}")),
            Some(_) => {}
        }
        if let Some(reader) = lock(&self.reader).take() {
            reader.join().map_err(|_| "the reader panicked".to_owned())?;
        }
        self.settled()
    }

    fn write(&self, message: &Value) -> Result<(), String> {
        match lock(&self.input).as_mut() {
            Some(input) => input
                .write_all(format!("{message}\n").as_bytes())
                .map_err(|error| format!("it does not read: {error}")),
            None => Err("the input is closed".to_owned()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(output: ChildStdout, state: &Mutex<State>) {
    for line in BufReader::new(output).lines() {
        let mut state = lock(state);
        let result = line.map_err(|error| error.to_string()).and_then(|line| state.take(&line));
        if let Err(failure) = result {
            state.failure.get_or_insert(failure);
            // Nobody waits for an answer that can no longer be believed.
            state.open.clear();
        }
    }
    lock(state).open.clear();
}

impl State {
    fn take(&mut self, line: &str) -> Result<(), String> {
        // Only clients that ask for them get these; they belong to no request.
        if let Ok(event) = serde_json::from_str::<Value>(line)
            && event["method"] == "supervisor/event"
        {
            let name =
                event["params"]["event"]["type"].as_str().ok_or("a supervisor/event without a type")?;
            *self.worker_events.entry(name.to_owned()).or_default() += 1;
            return Ok(());
        }
        let message = self.monitor.received(line).map_err(|rule| format!("{rule}: {line}"))?;
        if message.method() == Some("world/changed") {
            let world = message.value["params"]["world"].as_str().unwrap_or_default();
            *self.world_changes.entry(world.to_owned()).or_default() += 1;
            return Ok(());
        }
        let (id, heard) = classified(&message).ok_or_else(|| format!("it belongs to no request: {line}"))?;
        self.tool_calls += u64::from(matches!(heard, Heard::ToolCall(_)));
        let is_answer = matches!(heard, Heard::Answer(_));
        if let Some(waiting) = self.open.get(&id) {
            // Whoever gave up on the request has told why.
            let _ = waiting.send(heard);
        }
        if is_answer {
            self.open.remove(&id);
        }
        Ok(())
    }
}

fn classified(message: &Message) -> Option<(Id, Heard)> {
    if let Some(call) = ToolCall::of(&message.value) {
        return Some((message.request_id()?, Heard::ToolCall(call)));
    }
    if message.method() == Some("tool/cancel") {
        return Some((message.request_id()?, Heard::ToolCancel));
    }
    if let Some(event) = message.event() {
        return Some((message.request_id()?, Heard::Event(event.clone())));
    }
    let answer = match message.value.get("error") {
        None => Ok(message.value["result"].clone()),
        Some(error) => Err(RpcError::of(error)),
    };
    Some((message.answers()?, Heard::Answer(answer)))
}
