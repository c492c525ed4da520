//! A game without an engine: pumps a client as the bridge node does, and keeps what it is told.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use oam_godot::client::{Change, Client, Delivery, RequestError, Shown, ToolAnswer, ToolCall, Toolbox};
use serde_json::{Value, json};

/// No wait of a test takes this long, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a request is known by.
pub(crate) type Ticket = usize;

/// How a game answers the calls of a tool.
#[derive(Debug, Clone)]
pub(crate) enum Handler {
    Answers(ToolAnswer),
    NeverAnswers,
}

/// What was streamed of a request.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    pub(crate) shown: String,
    pub(crate) deltas: String,
    pub(crate) emotions: Vec<String>,
    pub(crate) events: Vec<String>,
}

/// A client and all that came of it.
pub(crate) struct Game {
    pub(crate) client: Client<Ticket>,
    pub(crate) tools: Toolbox<Handler>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) cancelled: Vec<String>,
    pub(crate) changes: HashMap<Ticket, Vec<Change>>,
    streamed: HashMap<Ticket, Streamed>,
    completed: HashMap<Ticket, Result<Value, RequestError>>,
    last_ticket: Ticket,
}

impl Game {
    pub(crate) fn new() -> Self {
        Self {
            client: Client::start(&json!({}), None).expect("a bridge starts"),
            tools: Toolbox::default(),
            calls: Vec::new(),
            cancelled: Vec::new(),
            changes: HashMap::new(),
            streamed: HashMap::new(),
            completed: HashMap::new(),
            last_ticket: 0,
        }
    }

    pub(crate) fn begin(&mut self, method: &str, params: Value) -> Ticket {
        self.last_ticket += 1;
        self.client.request(method, params, self.last_ticket).expect("the client is open");
        self.last_ticket
    }

    pub(crate) fn finish(&mut self, ticket: Ticket) -> Result<Value, RequestError> {
        self.pump_until(|game| game.completed.contains_key(&ticket));
        self.completed.remove(&ticket).expect("it was waited for")
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, RequestError> {
        let ticket = self.begin(method, params);
        self.finish(ticket)
    }

    pub(crate) fn streamed(&mut self, ticket: Ticket) -> Streamed {
        self.streamed.remove(&ticket).unwrap_or_default()
    }

    /// Delivers until something holds.
    pub(crate) fn pump_until(&mut self, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(self.client.wait(left), "nothing arrives any more");
            while let Some(delivery) = self.client.next_delivery() {
                self.take(delivery);
            }
        }
    }

    fn take(&mut self, delivery: Delivery<Ticket>) {
        match delivery {
            Delivery::Progress { owner, progress } => {
                let streamed = self.streamed.entry(owner).or_default();
                streamed.events.push(progress.event["type"].as_str().unwrap_or_default().to_owned());
                match progress.shown {
                    Some(Shown::Text { delta: Some(delta), so_far }) => {
                        streamed.deltas.push_str(&delta);
                        streamed.shown = so_far;
                    }
                    Some(Shown::Text { delta: None, so_far }) => {
                        streamed.deltas.clone_from(&so_far);
                        streamed.shown = so_far;
                    }
                    Some(Shown::Emotion(emotion)) => streamed.emotions.push(emotion),
                    None => {}
                }
            }
            Delivery::Completed { owner, outcome } => {
                let before = self.completed.insert(owner, outcome);
                assert!(before.is_none(), "a request completes once");
            }
            Delivery::ToolCall { call, .. } => {
                match self.tools.handler(&call.tool).cloned() {
                    Some(Handler::Answers(answer)) => assert!(self.client.answer(&call.id, answer)),
                    Some(Handler::NeverAnswers) => {}
                    None => assert!(self.client.answer(&call.id, ToolAnswer::not_offered(&call.tool))),
                }
                self.calls.push(call);
            }
            Delivery::ToolCancelled { call, .. } => {
                let call = self.calls.iter().find(|known| known.id == call).expect("a call that came");
                self.cancelled.push(call.tool.clone());
            }
            Delivery::WorldChanged { owner, change } => self.changes.entry(owner).or_default().push(change),
            Delivery::Notification { method, params } => panic!("unexpected: {method} {params}"),
            Delivery::Refused(error) => panic!("a message was refused: {error}"),
        }
    }
}
