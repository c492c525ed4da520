//! The two directions of a connection: a thread that reads, checks and answers tool calls, and batches that go out.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use fastrand::Rng;
use oam_tests::{DEADLINE, Monitor, ToolCall};
use serde_json::{Value, json};
use wait_timeout::ChildExt;

use super::{
    ledger::{Ledger, answer},
    plan::Planned,
};

/// Requests in one write.
const BATCH: usize = 32;

/// A running `oam stdio` under watch.
pub(crate) struct Connection {
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    watch: Arc<Watch>,
    reader: JoinHandle<()>,
    batch: Vec<u8>,
    batched: usize,
}

#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    progress: Condvar,
}

#[derive(Default)]
struct State {
    monitor: Monitor,
    ledger: Ledger,
    failure: Option<String>,
    is_over: bool,
    messages: u64,
    calls: u64,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    pub(crate) fn start(seed: u64) -> Self {
        let mut child = crate::oam()
            // Answers that come too late are part of the game.
            .args(["stdio", "--log-level", "error"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("oam starts");
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let output = child.stdout.take().expect("a pipe");
        let watch = Arc::new(Watch::default());
        let reader = {
            let (watch, input) = (Arc::clone(&watch), Arc::clone(&input));
            std::thread::spawn(move || read(output, &watch, &input, Rng::with_seed(seed)))
        };
        Self { child, input, watch, reader, batch: Vec::new(), batched: 0 }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request, with others in one write.
    pub(crate) fn send(&mut self, planned: &Planned) -> Result<(), String> {
        let mut state = self.watch.state();
        state.monitor.sent(&planned.message);
        state.ledger.sent(planned);
        drop(state);
        writeln!(self.batch, "{}", planned.message).expect("memory takes everything");
        self.batched += 1;
        if self.batched == BATCH { self.flush() } else { Ok(()) }
    }

    /// Waits until everything is answered.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        self.flush()?;
        let mut state = self.watch.state();
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if state.monitor.open_requests() == 0 {
                return state.ledger.settled();
            }
            if state.is_over {
                return Err("the output ended".to_owned());
            }
            let before = state.messages;
            let (next, timeout) =
                self.watch.progress.wait_timeout(state, DEADLINE).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && state.messages == before {
                return Err(format!("{} requests are never answered", state.monitor.open_requests()));
            }
        }
    }

    /// What has happened so far, in words.
    pub(crate) fn tally(&self) -> Result<String, String> {
        let state = self.watch.state();
        if state.monitor.open_calls() > 0 {
            return Err(format!("{} tool calls are open without a turn", state.monitor.open_calls()));
        }
        Ok(format!(
            "{} answers, {} messages, {} turns done, {} operations cancelled, {} tool calls",
            state.monitor.answered(),
            state.messages,
            state.ledger.turns,
            state.ledger.cancelled,
            state.calls
        ))
    }

    /// Ends the input; the process must end well.
    pub(crate) fn end(mut self) -> Result<(), String> {
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        let status = self.child.wait_timeout(DEADLINE).map_err(|error| error.to_string())?;
        match status {
            None => Err("it does not end with its input".to_owned()),
            Some(status) if !status.success() => Err(format!("it ended with {status}")),
            Some(_) => self.reader.join().map_err(|_| "the reader panicked".to_owned()),
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        self.batched = 0;
        let batch = std::mem::take(&mut self.batch);
        write(&self.input, &batch)
    }
}

fn write(input: &Mutex<Option<ChildStdin>>, bytes: &[u8]) -> Result<(), String> {
    match input.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(input) => input.write_all(bytes).map_err(|error| format!("it does not read: {error}")),
        None => Ok(()),
    }
}

fn read(output: ChildStdout, watch: &Watch, input: &Mutex<Option<ChildStdin>>, mut rng: Rng) {
    let mut late = None;
    for line in BufReader::new(output).lines() {
        let mut replies = Vec::new();
        let mut state = watch.state();
        let result = line.map_err(|error| error.to_string()).and_then(|line| {
            let message = state.monitor.received(&line).map_err(|rule| format!("{rule}: {line}"))?;
            state.messages += 1;
            if let Some(call) = ToolCall::of(&message.value) {
                state.calls += 1;
                replies = answers(&call, &mut rng, &mut late);
                for reply in &replies {
                    state.monitor.sent(reply);
                }
            } else if let Some(id) = answer(&message) {
                state.ledger.answered(&id, &message)?;
            }
            Ok(())
        });
        drop(state);
        let mut text = Vec::new();
        for reply in &replies {
            writeln!(text, "{reply}").expect("memory takes everything");
        }
        if let Err(failure) = result.and_then(|()| write(input, &text)) {
            watch.state().failure.get_or_insert(failure);
        }
        watch.progress.notify_all();
    }
    watch.state().is_over = true;
    watch.progress.notify_all();
}

/// Mostly answers a call at once; now and then late (with the next call), twice, wrongly, or not at all.
fn answers(call: &ToolCall, rng: &mut Rng, late: &mut Option<Value>) -> Vec<Value> {
    let good = json!({"jsonrpc": "2.0", "id": call.id, "result": {"output": {"seen": call.session}}});
    let mut replies: Vec<_> = late.take().into_iter().collect();
    match rng.u32(..40) {
        0 => {}
        1 | 2 => *late = Some(good),
        3 => replies.extend([good.clone(), good]),
        4 => {
            let jammed = json!({"code": 1, "message": "jammed"});
            replies.push(json!({"jsonrpc": "2.0", "id": call.id, "error": jammed}));
        }
        5 => replies.extend([json!({"jsonrpc": "2.0", "id": "t-0", "result": null}), good]),
        _ => replies.push(good),
    }
    replies
}
