//! A turn as a stream: what a Rust host uses to hear events and to execute client tools.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt};
use tokio::sync::oneshot;

use crate::{
    agent::Agent,
    error::AgentError,
    event::{TurnEvent, TurnResponse},
    host::{TurnClient, TurnHost},
    model::BoxFuture,
    tool::{CallId, ToolCall, ToolOutput},
    turn::TurnOptions,
};

/// What a [`Run`] yields.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// Something happened.
    Turn(TurnEvent),
    /// A client tool is to be executed; answer with [`Run::submit`].
    ToolCallRequested(Arc<ToolCall>),
    /// The answer to this call is no longer waited for.
    ToolCallAbandoned(CallId),
    /// The turn is complete. Nothing follows.
    Completed(TurnResponse),
}

/// One turn as a stream of events, made by [`Agent::run`].
///
/// The turn makes progress only while the stream is polled, so events never pile up. What
/// happened before an error is yielded before it; nothing follows, and the conversation is as it was. Dropping the stream cancels the turn.
///
/// ```
/// # use std::sync::Arc;
/// # use oam_agent::*;
/// # use serde_json::json;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let name = ToolName::new("open_gate").unwrap();
/// # let (definition, _) = ToolDefinition::from_json_schema(name, "", &json!({"type": "object"})).unwrap();
/// # let script = Script::from_steps_or_object(&json!([{"toolCalls": [{"name": "open_gate"}]}, {"text": "It is open."}]), "script").unwrap();
/// # let setup = AgentSetup { tools: [Tool::client(definition)].into(), ..AgentSetup::default() };
/// # let guard = Agent::new(Arc::new(ScriptedModel::new(script)), setup).unwrap();
/// let mut run = guard.run("Please open the gate.", TurnOptions::default());
/// while let Some(event) = run.next_event().await {
///     match event? {
///         RunEvent::ToolCallRequested(call) => {
///             run.submit(&call.id, ToolOutput::Text("The gate opened.".into()));
///         }
///         RunEvent::Completed(response) => assert_eq!(response.text, "It is open."),
///         _ => {}
///     }
/// }
/// # Ok::<(), AgentError>(())
/// # }).unwrap();
/// ```
pub struct Run {
    /// `None` once it has ended.
    turn: Option<BoxFuture<'static, Result<TurnResponse, AgentError>>>,
    /// How it ended, until that has been told.
    end: Option<Result<TurnResponse, AgentError>>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    events: VecDeque<RunEvent>,
    open_calls: HashMap<CallId, oneshot::Sender<ToolOutput>>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("is_running", &self.turn.is_some()).finish_non_exhaustive()
    }
}

impl Run {
    pub(crate) fn start(agent: Agent, prompt: String, options: TurnOptions) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let mut host = RunHost(Arc::clone(&shared));
        let turn = Box::pin(async move { agent.respond_with(&prompt, &options, &mut host).await });
        Self { turn: Some(turn), end: None, shared }
    }

    /// The next event; `None` after the end.
    pub async fn next_event(&mut self) -> Option<Result<RunEvent, AgentError>> {
        self.next().await
    }

    fn next_heard(&self) -> Option<RunEvent> {
        lock(&self.shared).events.pop_front()
    }

    /// Answers a requested call. `false` when it is not open (any more).
    pub fn submit(&self, call: &CallId, output: ToolOutput) -> bool {
        let answer = lock(&self.shared).open_calls.remove(call);
        answer.is_some_and(|answer| answer.send(output).is_ok())
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, AgentError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let run = &mut *self;
        if let Some(event) = run.next_heard() {
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(turn) = &mut run.turn
            && let Poll::Ready(end) = turn.as_mut().poll(context)
        {
            run.turn = None;
            run.end = Some(end);
        }
        if let Some(event) = run.next_heard() {
            return Poll::Ready(Some(Ok(event)));
        }
        match run.end.take() {
            Some(end) => Poll::Ready(Some(end.map(RunEvent::Completed))),
            None if run.turn.is_some() => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

struct RunHost(Arc<Mutex<Shared>>);

impl TurnHost for RunHost {
    fn event(&mut self, event: TurnEvent) {
        lock(&self.0).events.push_back(RunEvent::Turn(event));
    }
}

impl TurnClient for RunHost {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let (answer, receiver) = oneshot::channel();
        let mut shared = lock(&self.0);
        shared.open_calls.insert(call.id.clone(), answer);
        shared.events.push_back(RunEvent::ToolCallRequested(Arc::clone(call)));
        receiver
    }

    fn abandon_client_call(&mut self, call: &ToolCall, _reason: &str) {
        let mut shared = lock(&self.0);
        shared.open_calls.remove(&call.id);
        shared.events.push_back(RunEvent::ToolCallAbandoned(call.id.clone()));
    }
}
