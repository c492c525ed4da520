//! The pool as an actor: one task that owns the workers, takes in everything that happens, and does what
//! [`core`](crate::core) decides.

use std::{
    collections::BTreeMap,
    future::pending,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use oam_agent::{Availability, Capabilities, ModelError, StepOutcome, StepRequest};
use oam_ipc::{FromWorker, PROTOCOL_VERSION, StepId, ToWorker, encode};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{sleep, timeout},
};

use crate::{
    config::PoolConfig,
    convert,
    core::{Action, Core, Event, health::Breaker},
    exit::{Exit, ExitCause},
    link::{self, Outgoing},
    process,
    status::{ExitStatusReport, PoolEvent, PoolStatus, WorkerStatus},
    worker_id::WorkerId,
};

/// Messages of workers that may wait to be taken in; beyond it workers wait.
const MESSAGES_AHEAD: usize = 1024;
/// How long what a dead worker has said may take to be read.
const LAST_WORDS_GRACE: Duration = Duration::from_secs(1);

/// What reaches the pool.
pub(crate) enum Input {
    Step { id: StepId, request: StepRequest, asker: Asker },
    Abandon { id: StepId },
    CountTokens { id: StepId, request: StepRequest, count: oneshot::Sender<u32> },
    Prewarm { instructions: Option<String> },
    Status { reply: oneshot::Sender<PoolStatus> },
    Stop { done: oneshot::Sender<()> },
    Message { worker: WorkerId, message: FromWorker },
    Violation { worker: WorkerId, reason: String },
    Closed { worker: WorkerId },
    Exited { worker: WorkerId, exit: Exit },
}

/// Whoever asked for a step. One that has gone says so itself.
#[derive(Debug)]
pub(crate) struct Asker {
    /// None where the answer is not to be streamed: such a step needs no queue.
    pub(crate) pieces: Option<mpsc::UnboundedSender<Piece>>,
    /// How the step ended, behind its pieces.
    pub(crate) end: oneshot::Sender<Result<StepOutcome, ModelError>>,
}

/// A piece of an answer. Small: each streamed step has a queue of them.
#[derive(Debug)]
pub(crate) enum Piece {
    Delta(String),
    Reset(String),
    Partial(Box<Value>),
}

/// What is known of the model without asking anybody.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) availability: Availability,
    pub(crate) capabilities: Capabilities,
    /// The context to fit conversations into, if there is a limit.
    pub(crate) context_limit: Option<u32>,
    /// The breaker is open: steps fail at once, whatever workers have told.
    pub(crate) is_broken: bool,
}

/// Who hears of the pool's events.
pub(crate) type Listener = Box<dyn Fn(&PoolEvent) + Send + Sync>;

/// What the handle and the actor share.
pub(crate) struct Shared {
    pub(crate) known: Mutex<Known>,
    pub(crate) next_id: AtomicU64,
    pub(crate) listeners: Mutex<Vec<Listener>>,
    /// `true` once a worker has got ready or failed to.
    pub(crate) has_settled: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new_id(&self) -> StepId {
        StepId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

struct Running {
    /// Gone once there is nothing more to say.
    outgoing: Option<Outgoing>,
    signals: mpsc::UnboundedSender<Signal>,
    pid: u32,
    is_ready: bool,
}

struct WaitingStep {
    request: StepRequest,
    asker: Asker,
}

struct Count {
    worker: WorkerId,
    reply: oneshot::Sender<u32>,
}

pub(crate) struct Actor {
    core: Core,
    config: PoolConfig,
    shared: Arc<Shared>,
    running: BTreeMap<WorkerId, Running>,
    steps: BTreeMap<StepId, WaitingStep>,
    counts: BTreeMap<StepId, Count>,
    next_ping: u64,
    /// What the handle has been told of the breaker.
    is_broken: bool,
    stopping: Vec<oneshot::Sender<()>>,
    from_workers: mpsc::Sender<Input>,
}

impl Actor {
    /// Runs the pool until it has been stopped, or nobody can ask it any more.
    pub(crate) async fn run(
        config: PoolConfig,
        shared: Arc<Shared>,
        mut asked: mpsc::UnboundedReceiver<Input>,
    ) {
        let (from_workers, mut said) = mpsc::channel(MESSAGES_AHEAD);
        let mut actor = Self {
            core: Core::new(config.clone()),
            config,
            shared,
            running: BTreeMap::new(),
            steps: BTreeMap::new(),
            counts: BTreeMap::new(),
            next_ping: 0,
            is_broken: false,
            stopping: Vec::new(),
            from_workers,
        };
        actor.tell(Event::Tick);
        let mut is_asked = true;
        let mut timer = pin!(sleep(Duration::ZERO));
        loop {
            // Asked for only when there is nothing to take in; setting a timer anew costs more than keeping it.
            let tick = async {
                let Some(deadline) = actor.core.next_deadline() else { return pending().await };
                if timer.deadline() != deadline.into() {
                    timer.as_mut().reset(deadline.into());
                }
                timer.as_mut().await;
            };
            let input = tokio::select! {
                biased;
                input = asked.recv(), if is_asked => input,
                Some(input) = said.recv() => Some(input),
                () = tick => {
                    actor.tell(Event::Tick);
                    continue;
                }
            };
            if let Some(input) = input {
                actor.take(input);
            } else {
                is_asked = false;
                actor.tell(Event::Stop);
            }
            if actor.core.is_empty() && (!is_asked || !actor.stopping.is_empty()) {
                for done in actor.stopping.drain(..) {
                    let _ = done.send(());
                }
                return;
            }
        }
    }

    fn tell(&mut self, event: Event) {
        let now = tokio::time::Instant::now().into_std();
        for action in self.core.handle(event, now) {
            self.act(action);
        }
        let is_broken = matches!(self.core.breaker(), Breaker::Open { .. });
        if is_broken != self.is_broken {
            self.is_broken = is_broken;
            self.shared.known.lock().unwrap_or_else(PoisonError::into_inner).is_broken = is_broken;
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Step { id, request, asker } => {
                let stream = request.stream;
                self.steps.insert(id, WaitingStep { request, asker });
                self.tell(Event::StepRequested { step: id, stream });
            }
            Input::Abandon { id } => {
                if self.steps.remove(&id).is_some() {
                    self.tell(Event::StepAbandoned { step: id });
                }
            }
            Input::CountTokens { id, request, count } => self.count_tokens(id, &request, count),
            Input::Prewarm { instructions } => {
                for worker in self.ready_workers() {
                    self.send(worker, &ToWorker::Prewarm { instructions: instructions.clone() });
                }
            }
            Input::Status { reply } => {
                let _ = reply.send(self.status());
            }
            Input::Stop { done } => {
                self.stopping.push(done);
                self.tell(Event::Stop);
            }
            Input::Message { worker, message } => self.hear(worker, message),
            Input::Violation { worker, reason } => self.tell(Event::Violation { worker, reason }),
            Input::Closed { worker } => self.tell(Event::Closed { worker }),
            Input::Exited { worker, exit } => self.bury(worker, exit),
        }
    }

    fn hear(&mut self, worker: WorkerId, message: FromWorker) {
        match message {
            FromWorker::Ready(ready) if ready.protocol != PROTOCOL_VERSION => {
                let reason = format!(
                    "it speaks version {} of the worker protocol, this is version {PROTOCOL_VERSION}",
                    ready.protocol
                );
                self.tell(Event::Violation { worker, reason });
            }
            FromWorker::Ready(ready) => {
                tracing::debug!(%worker, name = ready.worker.name, version = ready.worker.version, "a worker is ready");
                if let Some(running) = self.running.get_mut(&worker) {
                    running.is_ready = true;
                }
                self.learn(ready.availability, Some(&ready.capabilities));
                let parallel_steps = ready.capabilities.parallel_steps;
                self.tell(Event::Ready { worker, parallel_steps });
                self.shared.has_settled.send_replace(true);
            }
            FromWorker::Delta { id, text } => self.pass_on(worker, id, Piece::Delta(text)),
            FromWorker::Reset { id, text } => self.pass_on(worker, id, Piece::Reset(text)),
            FromWorker::Partial { id, value } => {
                self.pass_on(worker, id, Piece::Partial(Box::new(value)));
            }
            FromWorker::Finished { id, outcome, usage } => {
                self.end(worker, id, Ok(convert::outcome(outcome, usage)));
            }
            FromWorker::Failed { id, code, message, data } => {
                if self.counts.remove(&id).is_none() {
                    self.end(worker, id, Err(convert::model_error(&code, message, data)));
                }
            }
            FromWorker::Tokens { id, count } => {
                if let Some(waiting) = self.counts.remove(&id) {
                    let _ = waiting.reply.send(count);
                }
            }
            FromWorker::Availability { availability, .. } => self.learn(availability, None),
            FromWorker::Pong { .. } => {
                self.tell(Event::Pong { worker });
                self.weigh(worker);
            }
            FromWorker::Log { level, message } => log(worker, level, &message),
            FromWorker::Unknown => tracing::debug!(%worker, "ignored a message of an unknown type"),
        }
    }

    fn pass_on(&mut self, worker: WorkerId, id: StepId, piece: Piece) {
        if self.core.is_running(worker, id) {
            if let Some(pieces) = self.steps.get(&id).and_then(|step| step.asker.pieces.as_ref()) {
                let _ = pieces.send(piece);
            }
            self.tell(Event::Progress { worker, step: id });
        } else {
            tracing::debug!(%worker, step = id.0, "ignored a part of a step that the worker does not play");
        }
    }

    fn end(&mut self, worker: WorkerId, id: StepId, end: Result<StepOutcome, ModelError>) {
        if self.core.is_running(worker, id)
            && let Some(step) = self.steps.remove(&id)
        {
            let _ = step.asker.end.send(end);
        }
        self.tell(Event::StepEnded { worker, step: id });
    }

    fn bury(&mut self, worker: WorkerId, mut exit: Exit) {
        exit.was_ready = self.running.remove(&worker).is_some_and(|running| running.is_ready);
        self.counts.retain(|_, count| count.worker != worker);
        self.tell(Event::Exited { worker, exit });
        self.shared.has_settled.send_replace(true);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Spawn { worker } => self.spawn(worker),
            Action::Generate { worker, step, stream } => {
                if let Some(waiting) = self.steps.get(&step) {
                    let generate = convert::generate(step, &waiting.request, stream);
                    self.send(worker, &ToWorker::Generate(Box::new(generate)));
                }
            }
            Action::Cancel { worker, step } => self.send(worker, &ToWorker::Cancel { id: step }),
            Action::Ping { worker } => {
                self.next_ping += 1;
                self.send(worker, &ToWorker::Ping { n: self.next_ping });
            }
            Action::Shutdown { worker } => {
                let grace_ms = u64::try_from(self.config.stop_grace.as_millis()).unwrap_or(u64::MAX);
                self.send(worker, &ToWorker::Shutdown { grace_ms });
                if let Some(running) = self.running.get_mut(&worker) {
                    // This closes our half of the socket.
                    running.outgoing = None;
                }
            }
            Action::Terminate { worker } => self.signal(worker, Signal::SIGTERM),
            Action::Kill { worker } => self.signal(worker, Signal::SIGKILL),
            Action::Fail { step, error } => {
                if let Some(step) = self.steps.remove(&step) {
                    let _ = step.asker.end.send(Err(error));
                }
            }
            Action::Report(event) => self.report(&event),
        }
    }

    fn spawn(&mut self, worker: WorkerId) {
        let pool = self.from_workers.clone();
        match process::spawn(worker, &self.config.command) {
            Ok(process) => {
                let reader = tokio::spawn(link::read(worker, process.reading, pool.clone()));
                let running = Running {
                    outgoing: Some(Outgoing::new(process.writing)),
                    signals: process.signals,
                    pid: process.pid,
                    is_ready: false,
                };
                self.running.insert(worker, running);
                tokio::spawn(async move {
                    let exit = process.exit.await.unwrap_or_else(|error| not_started(error.to_string()));
                    // What it said before it died counts, unless somebody else keeps the socket open.
                    let _ = timeout(LAST_WORDS_GRACE, reader).await;
                    let _ = pool.send(Input::Exited { worker, exit }).await;
                });
            }
            Err(reason) => {
                let exit = not_started(reason);
                tokio::spawn(async move { pool.send(Input::Exited { worker, exit }).await });
            }
        }
    }

    fn send(&self, worker: WorkerId, message: &ToWorker) {
        let Some(outgoing) = self.running.get(&worker).and_then(|running| running.outgoing.as_ref()) else {
            return;
        };
        let mut frame = Vec::new();
        match encode(message, &mut frame) {
            Ok(()) => outgoing.send(frame),
            Err(error) => tracing::error!(%worker, %error, "a message for a worker could not be written"),
        }
    }

    fn signal(&self, worker: WorkerId, signal: Signal) {
        if let Some(running) = self.running.get(&worker) {
            let _ = running.signals.send(signal);
        }
    }

    fn ready_workers(&self) -> Vec<WorkerId> {
        self.core.workers().filter(|(_, worker)| worker.serving().is_some()).map(|(id, _)| id).collect()
    }

    fn count_tokens(&mut self, id: StepId, request: &StepRequest, reply: oneshot::Sender<u32>) {
        let Some(worker) = self.ready_workers().first().copied() else { return };
        self.counts.retain(|_, count| !count.reply.is_closed());
        self.counts.insert(id, Count { worker, reply });
        self.send(worker, &ToWorker::CountTokens(Box::new(convert::generate(id, request, false))));
    }

    fn learn(&self, said: oam_ipc::Availability, capabilities: Option<&oam_ipc::Capabilities>) {
        let mut known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.context_limit = convert::context_limit(said.context_size, known.context_limit);
        known.availability = convert::availability(said, known.context_limit);
        if let Some(said) = capabilities {
            known.capabilities = Capabilities {
                streaming: said.streaming,
                native_tools: said.native_tools,
                guided_generation: said.guided_generation,
                token_count: said.token_count,
            };
        }
    }

    fn weigh(&mut self, worker: WorkerId) {
        let Some(limit) = self.config.recycle_above_bytes else { return };
        let resident = self.running.get(&worker).and_then(|running| process::resident_bytes(running.pid));
        if resident.is_some_and(|resident| resident > limit) {
            self.tell(Event::TooLarge { worker });
        }
    }

    fn report(&self, event: &PoolEvent) {
        match event {
            PoolEvent::WorkerDied { worker, exit, steps } => {
                tracing::warn!(%worker, steps, "a worker {exit}");
            }
            PoolEvent::WorkerHung { worker, cause } => {
                tracing::warn!(%worker, cause = cause.as_str(), "a worker hangs and is killed");
            }
            PoolEvent::WorkerViolated { worker, reason } => {
                tracing::warn!(%worker, "a worker is killed: {reason}");
            }
            PoolEvent::BreakerOpened { retry_after } => {
                tracing::error!(
                    seconds = retry_after.as_secs_f64(),
                    "workers keep dying; steps fail at once"
                );
            }
            other => tracing::info!(event = ?other, "workers"),
        }
        for listener in &*self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner) {
            listener(event);
        }
    }

    fn status(&self) -> PoolStatus {
        let now: Instant = tokio::time::Instant::now().into_std();
        let workers = self.core.workers().map(|(id, worker)| WorkerStatus {
            worker: id.to_string(),
            pid: self.running.get(&id).map(|running| running.pid),
            state: worker.state_name(),
            uptime_seconds: now.duration_since(worker.started).as_secs_f64(),
            steps: worker.finished_steps,
        });
        PoolStatus {
            workers: workers.collect(),
            waiting_steps: self.core.waiting_steps(),
            breaker: match self.core.breaker() {
                Breaker::Closed => "closed",
                Breaker::Open { .. } => "open",
                Breaker::HalfOpen => "halfOpen",
            },
            streaming_trusted: self.core.trusts_streaming(now),
            counters: self.core.counters().clone(),
            last_exits: self.core.last_exits().map(|(worker, exit)| exit_report(*worker, exit)).collect(),
        }
    }
}

fn exit_report(worker: WorkerId, exit: &Exit) -> ExitStatusReport {
    ExitStatusReport {
        worker: worker.to_string(),
        exit: exit.to_string(),
        signal: exit.cause.signal().map(str::to_owned),
        code: match exit.cause {
            ExitCause::Code(code) => Some(code),
            _ => None,
        },
        stderr: exit.stderr.clone(),
    }
}

fn not_started(reason: String) -> Exit {
    Exit {
        cause: ExitCause::NotStarted(reason),
        uptime: Duration::ZERO,
        was_ready: false,
        why_killed: None,
        stderr: Vec::new(),
    }
}

fn log(worker: WorkerId, level: oam_ipc::LogLevel, message: &str) {
    match level {
        oam_ipc::LogLevel::Debug => tracing::debug!(%worker, "{message}"),
        oam_ipc::LogLevel::Info => tracing::info!(%worker, "{message}"),
        oam_ipc::LogLevel::Warning => tracing::warn!(%worker, "{message}"),
        oam_ipc::LogLevel::Error => tracing::error!(%worker, "{message}"),
    }
}
