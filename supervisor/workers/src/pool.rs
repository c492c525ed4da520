//! The pool as an actor: one task that owns the workers, takes in everything that happens, and does what
//! [`core`](crate::core) decides.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    mem,
    pin::pin,
    sync::{Arc, PoisonError, Weak},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use oam_agent::{Capabilities, ErrorCode, ModelError, StepOutcome, StepRequest};
use oam_ipc::{
    EncodeError, FromWorker, Outcome, StepId, ToWorker, TokenUsage, failure_bytes, outcome_bytes, value_bytes,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, yield_now},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{PoolConfig, WorkerCommand},
    convert,
    core::{
        Action, Actions, Core, Event,
        health::Breaker,
        step::Growth,
        worker::{Abilities, Worker},
    },
    exchange::{Asker, Ended, Input, Piece, Shared},
    exit::{Exit, ExitCause},
    link::{self, Outgoing},
    process::{self, Process},
    report,
    status::{BreakerState, KilledWorker, PoolEvent, PoolStatus, WorkerProgram, WorkerStatus},
    worker_id::WorkerId,
};

/// Messages of workers that may wait to be taken in; beyond it workers wait.
const MESSAGES_AHEAD: usize = 1024;
/// How long what a dead worker has said may take to be read.
const LAST_WORDS_GRACE: Duration = Duration::from_secs(1);

/// How often what is said to workers is left to grow before it is written whatever may follow.
const MOST_ROUNDS: usize = 64;

struct Running {
    /// Gone once there is nothing more to say.
    outgoing: Option<Outgoing>,
    writer: AbortHandle,
    signals: mpsc::UnboundedSender<Signal>,
    pid: u32,
    /// What it said it is.
    program: Option<WorkerProgram>,
}

/// What comes of having nothing to take in.
enum Idle {
    /// What is to be written was left to grow.
    Gathering,
    /// A deadline has come.
    Due,
}

struct WaitingStep {
    request: StepRequest,
    asker: Asker,
    interruptions: Vec<String>,
}

impl WaitingStep {
    fn end(self, result: Result<StepOutcome, ModelError>) {
        let _ = self.asker.end.send(Ended { result, interruptions: self.interruptions });
    }
}

struct WaitingCount {
    request: StepRequest,
    reply: oneshot::Sender<u32>,
}

/// Starts the process of a worker. Fails with the reason in words.
pub(crate) type StartProcess = dyn Fn(WorkerId, &WorkerCommand) -> Result<Process, String> + Send;

pub(crate) struct Actor {
    core: Core,
    config: PoolConfig,
    shared: Arc<Shared>,
    running: BTreeMap<WorkerId, Running>,
    steps: BTreeMap<StepId, WaitingStep>,
    counts: BTreeMap<StepId, WaitingCount>,
    next_ping: u64,
    /// The memory for what the core decides.
    actions: Actions,
    /// What the handle has been told of the breaker.
    is_broken: bool,
    stopping: Vec<oneshot::Sender<()>>,
    from_workers: mpsc::Sender<Input>,
    start_process: Box<StartProcess>,
}

impl Actor {
    /// Runs the pool until it has been stopped, or nobody can ask it any more.
    pub(crate) async fn run(
        config: PoolConfig,
        shared: Arc<Shared>,
        mut asked: mpsc::UnboundedReceiver<Input>,
        start_process: Box<StartProcess>,
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
            actions: Actions::new(),
            is_broken: false,
            stopping: Vec::new(),
            from_workers,
            start_process,
        };
        actor.tell(Event::Tick);
        let mut is_asked = true;
        let mut timer = pin!(sleep(Duration::ZERO));
        let mut rounds = 0;
        loop {
            // Asked for only when there is nothing to take in.
            let idle = async {
                if actor.take_more_said() && rounds < MOST_ROUNDS && actor.steps.len() > 1 {
                    // Whoever else can go on may add to it, so that all of it is written together.
                    rounds += 1;
                    yield_now().await;
                    return Idle::Gathering;
                }
                rounds = 0;
                actor.flush();
                let Some(deadline) = actor.core.next_deadline() else { return pending().await };
                // Setting a timer anew costs more than keeping it.
                if timer.deadline() != deadline.into() {
                    timer.as_mut().reset(deadline.into());
                }
                timer.as_mut().await;
                Idle::Due
            };
            let input = tokio::select! {
                biased;
                input = asked.recv(), if is_asked => input,
                Some(input) = said.recv() => Some(input),
                idle = idle => {
                    if let Idle::Due = idle {
                        actor.tell(Event::Tick);
                    }
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
        let (mut event, mut further) = (Some(event), VecDeque::new());
        let mut actions = mem::take(&mut self.actions);
        while let Some(this) = event {
            self.core.handle(this, now, &mut actions);
            for action in actions.drain(..) {
                further.extend(self.act(action));
            }
            event = further.pop_front();
        }
        self.actions = actions;
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
                self.steps.insert(id, WaitingStep { request, asker, interruptions: Vec::new() });
                self.tell(Event::StepRequested { step: id, stream });
            }
            Input::Abandon { id } => {
                if self.steps.remove(&id).is_some() {
                    self.tell(Event::StepAbandoned { step: id });
                }
            }
            Input::CountTokens { id, request, count } => {
                self.counts.insert(id, WaitingCount { request, reply: count });
                self.tell(Event::CountRequested { count: id });
            }
            Input::Prewarm { instructions } => {
                for worker in self.ready_workers() {
                    self.send(worker, &ToWorker::Prewarm { instructions: instructions.clone() });
                }
            }
            Input::Status { reply } => {
                let _ = reply.send(self.status());
            }
            Input::KillBusy { reply } => {
                let _ = reply.send(self.kill_busy());
            }
            Input::Stop { done } => {
                self.stopping.push(done);
                self.tell(Event::Stop);
            }
            Input::Message { worker, .. } | Input::Violation { worker, .. } | Input::Closed { worker }
                if !self.running.contains_key(&worker) => {}
            Input::Message { worker, message } => self.hear(worker, message),
            Input::Violation { worker, reason } => self.tell(Event::Violation { worker, reason }),
            Input::Closed { worker } => self.tell(Event::Closed { worker }),
            Input::Exited { worker, exit } => self.bury(worker, exit),
        }
    }

    fn hear(&mut self, worker: WorkerId, message: FromWorker) {
        if let Some(reason) = self.core.breach(worker, &message) {
            return self.tell(Event::Violation { worker, reason });
        }
        match message {
            FromWorker::Ready(ready) => self.greet(worker, ready),
            FromWorker::Delta { id, text } => {
                self.pass_on(worker, id, Growth::By(text.len()), || Piece::Delta(text));
            }
            FromWorker::Reset { id, text } => {
                self.pass_on(worker, id, Growth::To(text.len()), || Piece::Reset(text));
            }
            FromWorker::Partial { id, value } => {
                let growth = Growth::To(value_bytes(&value));
                self.pass_on(worker, id, growth, || Piece::Partial(Box::new(value)));
            }
            FromWorker::Finished { id, outcome, usage } => self.finish(worker, id, outcome, usage),
            FromWorker::Failed { id, .. } if self.core.is_asked_to_count(worker, id) => {
                self.counts.remove(&id);
                self.tell(Event::CountEnded { worker, count: id });
            }
            FromWorker::Failed { id, code, message, data } => {
                let bytes = failure_bytes(&message, data.as_ref());
                let error = if code == ErrorCode::Cancelled.as_str() {
                    self.core.unasked_cancel()
                } else {
                    convert::model_error(&code, message, data)
                };
                self.end(worker, id, Err(error), bytes);
            }
            FromWorker::Tokens { id, count } if self.core.is_asked_to_count(worker, id) => {
                if let Some(waiting) = self.counts.remove(&id) {
                    let _ = waiting.reply.send(count);
                }
                self.tell(Event::CountEnded { worker, count: id });
            }
            FromWorker::Tokens { .. } => {}
            FromWorker::Availability { availability, .. } => self.learn(availability, None),
            FromWorker::Pong { .. } => {
                self.tell(Event::Pong { worker });
                self.weigh(worker);
            }
            FromWorker::Log { level, message } => report::log(worker, level, &message),
            FromWorker::Unknown => tracing::debug!(%worker, "ignored a message of an unknown type"),
        }
    }

    fn greet(&mut self, worker: WorkerId, ready: oam_ipc::Ready) {
        let oam_ipc::Ready { worker: info, capabilities, availability, .. } = ready;
        tracing::debug!(%worker, name = info.name, version = info.version, "a worker is ready");
        let abilities = Abilities {
            parallel_steps: usize::try_from(capabilities.parallel_steps).unwrap_or(usize::MAX).max(1),
            streams: capabilities.streaming,
            counts_tokens: capabilities.token_count,
        };
        if let Some(running) = self.running.get_mut(&worker) {
            running.program = Some(WorkerProgram { name: info.name, version: info.version });
        }
        self.tell(Event::Ready { worker, abilities });
        if self.core.is_serving(worker) {
            self.shared.parallel_steps.send_replace(self.config.parallel_steps(abilities.parallel_steps));
            self.learn(availability, Some(&capabilities));
            self.shared.has_settled.send_replace(true);
        }
    }

    fn pass_on(&mut self, worker: WorkerId, step: StepId, growth: Growth, piece: impl FnOnce() -> Piece) {
        self.tell(Event::Part { worker, step, growth });
        if self.core.is_streaming(worker, step)
            && let Some(pieces) = self.steps.get(&step).and_then(|step| step.asker.pieces.as_ref())
        {
            let _ = pieces.send(piece());
        }
    }

    fn finish(&mut self, worker: WorkerId, id: StepId, outcome: Outcome, usage: TokenUsage) {
        let bytes = outcome_bytes(&outcome);
        self.end(worker, id, Ok(convert::outcome(outcome, usage)), bytes);
    }

    fn end(&mut self, worker: WorkerId, id: StepId, end: Result<StepOutcome, ModelError>, bytes: usize) {
        let was_running = self.core.is_running(worker, id);
        self.tell(Event::StepEnded { worker, step: id, bytes });
        if was_running
            && !self.core.holds(id)
            && let Some(step) = self.steps.remove(&id)
        {
            step.end(end);
        }
    }

    fn bury(&mut self, worker: WorkerId, exit: Exit) {
        tracing::debug!(%worker, "a worker's process {}", exit.cause);
        if let Some(running) = self.running.remove(&worker) {
            running.writer.abort();
        }
        self.tell(Event::Exited { worker, exit });
        self.shared.has_settled.send_replace(true);
    }

    /// Returns what comes of it at once, if anything does.
    fn act(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Spawn { worker } => self.spawn(worker),
            Action::Generate { worker, step, stream } => return self.generate(worker, step, stream),
            Action::Count { worker, count } => {
                if let Some(waiting) = self.counts.get(&count) {
                    let request = convert::generate(count, &waiting.request, false);
                    let message = ToWorker::CountTokens(Box::new(request));
                    if write(&mut self.running, worker, &message).is_err() {
                        self.counts.remove(&count);
                        return Some(Event::CountEnded { worker, count });
                    }
                }
            }
            Action::GiveUpCount { count } => {
                self.counts.remove(&count);
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
            Action::Interrupted { step, why } => {
                if let Some(step) = self.steps.get_mut(&step) {
                    step.interruptions.push(why);
                }
            }
            Action::Fail { step, error } => {
                if let Some(step) = self.steps.remove(&step) {
                    step.end(Err(error));
                }
            }
            Action::Report(event) => self.report(&event),
        }
        None
    }

    fn generate(&mut self, worker: WorkerId, step: StepId, stream: bool) -> Option<Event> {
        let waiting = self.steps.get(&step)?;
        let generate = convert::generate(step, &waiting.request, stream);
        let message = ToWorker::Generate(Box::new(generate));
        let error = write(&mut self.running, worker, &message).err()?;
        let message = format!("The request is too large for the model: {error}.");
        let error = ModelError::new(ErrorCode::ContextSizeExceeded, message);
        Some(Event::StepUnsendable { worker, step, error })
    }

    fn spawn(&mut self, worker: WorkerId) {
        let pool = self.from_workers.clone();
        match (self.start_process)(worker, &self.config.command) {
            Ok(process) => {
                let gone = CancellationToken::new();
                let mut reader =
                    tokio::spawn(link::read(worker, process.reading, gone.clone(), pool.clone()));
                let outgoing = Outgoing::new(process.writing);
                let running = Running {
                    writer: outgoing.writer(),
                    outgoing: Some(outgoing),
                    signals: process.signals,
                    pid: process.pid,
                    program: None,
                };
                self.running.insert(worker, running);
                tokio::spawn(async move {
                    let exit = process.exit.await.unwrap_or_else(|error| not_started(error.to_string()));
                    // What it said before it died counts. Somebody else might flood the connection now.
                    gone.cancel();
                    if timeout(LAST_WORDS_GRACE, &mut reader).await.is_err() {
                        reader.abort();
                    }
                    let _ = pool.send(Input::Exited { worker, exit }).await;
                });
            }
            Err(reason) => {
                let exit = not_started(reason);
                tokio::spawn(async move { pool.send(Input::Exited { worker, exit }).await });
            }
        }
    }

    /// For messages that are small.
    fn send(&mut self, worker: WorkerId, message: &ToWorker<'_>) {
        if let Err(error) = write(&mut self.running, worker, message) {
            tracing::error!(%worker, %error, "a message for a worker could not be written");
        }
    }

    /// Whether something has been said to a worker since this was asked last.
    fn take_more_said(&mut self) -> bool {
        self.outgoing().fold(false, |others, outgoing| outgoing.take_growth() | others)
    }

    fn flush(&mut self) {
        self.outgoing().for_each(Outgoing::flush);
    }

    fn outgoing(&mut self) -> impl Iterator<Item = &mut Outgoing> {
        self.running.values_mut().filter_map(|running| running.outgoing.as_mut())
    }

    fn signal(&self, worker: WorkerId, signal: Signal) {
        if let Some(running) = self.running.get(&worker) {
            let _ = running.signals.send(signal);
        }
    }

    /// The core is not told: it learns of this death as of any other.
    fn kill_busy(&mut self) -> Option<KilledWorker> {
        let is_busy = |worker: &Worker| worker.serving().is_some_and(|serving| !serving.steps.is_empty());
        let worker = self.core.workers().find_map(|(id, worker)| is_busy(worker).then_some(id))?;
        let pid = self.running.get(&worker)?.pid;
        self.flush();
        self.signal(worker, Signal::SIGKILL);
        Some(KilledWorker { worker, pid })
    }

    fn ready_workers(&self) -> Vec<WorkerId> {
        self.core.workers().filter(|(_, worker)| worker.serving().is_some()).map(|(id, _)| id).collect()
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
                images: said.images,
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
        report::event(event);
        let listeners = self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener(event);
        }
    }

    fn status(&self) -> PoolStatus {
        let now: Instant = tokio::time::Instant::now().into_std();
        let workers = self.core.workers().map(|(id, worker)| WorkerStatus {
            worker: id.to_string(),
            pid: self.running.get(&id).map(|running| running.pid),
            program: self.running.get(&id).and_then(|running| running.program.clone()),
            state: worker.activity(),
            uptime_seconds: now.duration_since(worker.started).as_secs_f64(),
            steps: worker.finished_steps,
        });
        PoolStatus {
            workers: workers.collect(),
            waiting_steps: self.core.waiting_steps(),
            breaker: match self.core.breaker() {
                Breaker::Closed => BreakerState::Closed,
                Breaker::Open { .. } => BreakerState::Open,
                Breaker::HalfOpen => BreakerState::HalfOpen,
            },
            streaming_trusted: self.core.trusts_streaming(now),
            counters: self.core.counters().clone(),
            last_exits: self.core.last_exits().map(|(worker, exit)| report::exit(*worker, exit)).collect(),
        }
    }
}

fn write(
    running: &mut BTreeMap<WorkerId, Running>,
    worker: WorkerId,
    message: &ToWorker<'_>,
) -> Result<(), EncodeError> {
    let outgoing = running.get_mut(&worker).and_then(|running| running.outgoing.as_mut());
    outgoing.map_or(Ok(()), |outgoing| outgoing.send(message))
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
