//! The client's side of the protocol, without a word of the engine's: numbers requests, routes what comes back to
//! whoever asked, and lets tool calls be answered once.
//!
//! A [`Client`] runs a supervisor inside this process. Its messages arrive on a thread of the supervisor's and wait
//! in an inbox; the thread that owns the client takes them out, once a frame ([`pump()`]), so all that
//! follows from a message happens there. The client never calls back: no lock and no borrow is held while the owner
//! deals with a delivery, and it may send requests and answers meanwhile.
//!
//! `O` is what the owner knows a request by: whatever is handed in with a request comes back with its deliveries.

mod delivery;
mod error;
mod inbox;
mod message;
mod pump;
mod request;
mod tools;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use oam_embedded::{EmbeddedBridge, EmbeddedOptions};
use serde_json::Value;

pub use delivery::{Change, Delivery, Progress, Shown, ToolCall};
pub use error::RequestError;
pub use pump::pump;
pub use tools::{ToolAnswer, Toolbox};

use inbox::Inbox;
use message::Message;
use request::{Pending, RequestId};

/// A supervisor in this process, and what has been asked of it.
///
/// Dropping it ends the supervisor: its turns are cancelled, its threads and workers end.
#[derive(Debug)]
pub struct Client<O> {
    /// `None` once closed.
    bridge: Option<EmbeddedBridge>,
    inbox: Arc<Inbox>,
    last_id: RequestId,
    pending: BTreeMap<RequestId, Pending<O>>,
    /// The ids of the tool calls that still want an answer.
    open_calls: HashSet<String>,
    subscriptions: HashMap<String, Subscription<O>>,
}

#[derive(Debug)]
struct Subscription<O> {
    owner: O,
    world: String,
}

impl<O: Clone> Client<O> {
    /// Starts a supervisor. `options` are those of the C library's `oam_bridge_create_with_options`, as JSON. A worker is
    /// looked for in the folder `beside`, unless they name one.
    pub fn start(options: &Value, beside: Option<PathBuf>) -> Result<Self, RequestError> {
        let options = EmbeddedOptions::from_json(&options.to_string())
            .map_err(|error| RequestError::invalid_params(error.message))?;
        let inbox = Arc::new(Inbox::default());
        let arriving = Arc::clone(&inbox);
        let bridge =
            EmbeddedBridge::start(EmbeddedOptions { beside, ..options }, move |line| arriving.put(line))
                .map_err(|error| RequestError::closed_because(error.to_string()))?;
        Ok(Self {
            bridge: Some(bridge),
            inbox,
            last_id: RequestId::default(),
            pending: BTreeMap::new(),
            open_calls: HashSet::new(),
            subscriptions: HashMap::new(),
        })
    }

    /// Sends a request. Its deliveries carry `owner`; the last of them is [`Delivery::Completed`], unless the client is
    /// closed first. Fails once it is, and where the params are too deep or too long for a message.
    pub fn request(&mut self, method: &str, params: Value, owner: O) -> Result<(), RequestError> {
        let bridge = self.bridge.as_ref().ok_or_else(RequestError::closed)?;
        let id = self.last_id.next();
        bridge
            .send(&message::request(Some(id), method, params)?)
            .map_err(|error| RequestError::closed_because(error.to_string()))?;
        self.last_id = id;
        self.pending.insert(id, Pending::new(method, owner));
        Ok(())
    }

    /// Sends a notification: carried out like a request, in silence. Fails like [`request`](Self::request).
    pub fn notify(&mut self, method: &str, params: Value) -> Result<(), RequestError> {
        self.end_subscriptions(method, &params);
        let bridge = self.bridge.as_ref().ok_or_else(RequestError::closed)?;
        let line = message::request(None, method, params)?;
        bridge.send(&line).map_err(|error| RequestError::closed_because(error.to_string()))
    }

    /// Does a request at once and waits for its result, at most for `limit`; `None` waits for as long as it takes.
    /// Nothing is delivered meanwhile, so what needs the answer to a tool call does not belong here.
    pub fn call(&self, method: &str, params: Value, limit: Option<Duration>) -> Result<Value, RequestError> {
        let bridge = self.bridge.as_ref().ok_or_else(RequestError::closed)?;
        message::outcome_of(&bridge.call(&message::request(None, method, params)?, limit))
    }

    /// How many messages wait to be delivered.
    pub fn waiting(&self) -> usize {
        self.inbox.len()
    }

    /// The next of what has arrived; `None` when there is no more.
    pub fn next_delivery(&mut self) -> Option<Delivery<O>> {
        loop {
            let line = self.inbox.take()?;
            if let Some(delivery) = self.route(message::read(&line)) {
                return Some(delivery);
            }
        }
    }

    /// Waits until there is something to deliver. False when `limit` has passed first.
    pub fn wait(&self, limit: Duration) -> bool {
        self.inbox.wait(limit)
    }

    /// Answers a tool call; with an output that is too deep or too long for a message, it fails the call. Only the first
    /// answer counts, and none that comes after the call was cancelled: then the result is false and nothing is sent.
    pub fn answer(&mut self, call: &str, answer: ToolAnswer) -> bool {
        match &self.bridge {
            Some(bridge) if self.open_calls.remove(call) => {
                let response = message::response(call, answer.into_result()).or_else(|error| {
                    message::response(call, ToolAnswer::Failure(error.message).into_result())
                });
                response.is_ok_and(|response| bridge.send(&response).is_ok())
            }
            _ => false,
        }
    }

    /// Whether a tool call still wants an answer.
    pub fn is_open(&self, call: &str) -> bool {
        self.open_calls.contains(call)
    }

    /// Ends the supervisor. Returns the owners of the requests that now get no answer, in the order in which they were
    /// sent. Messages that have not been delivered are dropped.
    pub fn close(&mut self) -> Vec<O> {
        if let Some(bridge) = self.bridge.take() {
            bridge.close();
        }
        self.inbox.clear();
        self.open_calls.clear();
        self.subscriptions.clear();
        std::mem::take(&mut self.pending).into_values().map(|pending| pending.owner).collect()
    }

    /// `None` for what concerns nobody.
    fn route(&mut self, message: Message) -> Option<Delivery<O>> {
        match message {
            Message::Response { id, outcome } => self.complete(id, outcome),
            Message::Event { request, event } => {
                let pending = self.pending.get_mut(&request)?;
                let shown = pending.streamed.take_in(&event);
                Some(Delivery::Progress { owner: pending.owner.clone(), progress: Progress { event, shown } })
            }
            Message::ToolCall(call) => {
                self.open_calls.insert(call.id.clone());
                let owner =
                    call.request.and_then(|id| self.pending.get(&id)).map(|pending| pending.owner.clone());
                Some(Delivery::ToolCall { owner, call })
            }
            Message::ToolCancel { call, reason } => {
                self.open_calls.remove(&call);
                Some(Delivery::ToolCancelled { call, reason })
            }
            Message::WorldChanged { subscription, change } => {
                let owner = self.subscriptions.get(&subscription)?.owner.clone();
                Some(Delivery::WorldChanged { owner, change })
            }
            Message::Notification { method, params } => Some(Delivery::Notification { method, params }),
            Message::Refusal(error) => Some(Delivery::Refused(error)),
        }
    }

    fn complete(&mut self, id: RequestId, outcome: Result<Value, RequestError>) -> Option<Delivery<O>> {
        let pending = self.pending.remove(&id)?;
        if let Ok(result) = &outcome {
            self.follow_subscriptions(&pending, result);
        }
        Some(Delivery::Completed { owner: pending.owner, outcome })
    }

    fn follow_subscriptions(&mut self, done: &Pending<O>, result: &Value) {
        if done.method == "world/subscribe" {
            let subscription =
                Subscription { owner: done.owner.clone(), world: message::text(result, "world") };
            self.subscriptions.insert(message::text(result, "subscription"), subscription);
        } else {
            self.end_subscriptions(&done.method, result);
        }
    }

    /// `which` holds the ids, as do the params and the results of these methods.
    fn end_subscriptions(&mut self, method: &str, which: &Value) {
        match method {
            "world/unsubscribe" => {
                self.subscriptions.remove(&message::text(which, "subscription"));
            }
            "world/delete" => {
                let world = message::text(which, "world");
                self.subscriptions.retain(|_, subscription| subscription.world != world);
            }
            _ => {}
        }
    }
}
