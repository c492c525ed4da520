//! A client of a bridge in this process.

use std::collections::VecDeque;

use oam_bridge::{Bridge, BridgeConfig};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A message from the bridge.
pub(crate) type Message = Value;

pub(crate) struct Client {
    pub(crate) bridge: Bridge,
    received: UnboundedReceiver<Message>,
    /// What arrived while something else was awaited.
    put_aside: VecDeque<Message>,
    last_id: u64,
}

impl Client {
    pub(crate) fn new(config: BridgeConfig) -> Self {
        let (sent, received) = unbounded_channel();
        let bridge = Bridge::new(config, move |line| {
            // A test that has seen enough no longer listens.
            let _ = sent.send(serde_json::from_str(line).unwrap());
        });
        Self { bridge, received, put_aside: VecDeque::new(), last_id: 0 }
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    pub(crate) fn say(&self, message: &Value) {
        self.bridge.receive(message.to_string().as_bytes());
    }

    /// The next message for which `is_wanted` holds. Others are put aside.
    pub(crate) async fn next(&mut self, is_wanted: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.put_aside.iter().position(&is_wanted) {
            return self.put_aside.remove(at).unwrap();
        }
        loop {
            let message = self.received.recv().await.unwrap();
            if is_wanted(&message) {
                return message;
            }
            self.put_aside.push_back(message);
        }
    }

    /// The response to the request with this id.
    pub(crate) async fn response(&mut self, id: u64) -> Message {
        self.next(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The answer to the request with this id: its result, or the stable code of its error.
    pub(crate) async fn answer(&mut self, id: u64) -> Result<Value, String> {
        let mut message = self.response(id).await;
        match message.get("error") {
            Some(error) => Err(error["data"]["code"].as_str().unwrap().to_owned()),
            None => Ok(message["result"].take()),
        }
    }

    pub(crate) async fn try_call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.send(method, &params);
        self.answer(id).await
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let told = params.to_string();
        self.try_call(method, params).await.unwrap_or_else(|code| panic!("{method} {told}: {code}"))
    }

    /// The next notification of this method.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        self.next(|message| message["method"] == method).await["params"].take()
    }

    /// What arrived so far and was not asked for.
    pub(crate) fn left(&mut self) -> Vec<Message> {
        while let Ok(message) = self.received.try_recv() {
            self.put_aside.push_back(message);
        }
        self.put_aside.drain(..).collect()
    }

    /// Waits until nothing more comes.
    pub(crate) async fn ends(mut self) {
        while self.received.recv().await.is_some() {}
    }

    /// Enters a realm.
    pub(crate) async fn join(&mut self, realm: &str) {
        let result = self.call("initialize", json!({"client": {"realm": realm}})).await;
        assert_eq!(result["realm"], realm);
    }
}
