//! A host for tests: it keeps what its bridge says, and may do something with each message first.

use std::{
    sync::{
        Arc, Mutex, OnceLock, Weak,
        mpsc::{self, Receiver},
    },
    time::Duration,
};

use oam_embedded::{EmbeddedBridge, EmbeddedOptions};
use serde_json::{Value, json};

/// How long anything that must happen may take. On a loaded machine it is reached only by a hang.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

pub(crate) struct Host {
    pub(crate) bridge: Arc<EmbeddedBridge>,
    messages: Mutex<Receiver<Value>>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with_options(EmbeddedOptions::default())
    }

    pub(crate) fn with_options(options: EmbeddedOptions) -> Self {
        Self::reacting(options, |_, _| {})
    }

    /// Each message goes through `react`, within the callback, before it is kept.
    pub(crate) fn reacting(
        options: EmbeddedOptions,
        mut react: impl FnMut(&EmbeddedBridge, &Value) + Send + 'static,
    ) -> Self {
        let (keep, messages) = mpsc::channel();
        let this: Arc<OnceLock<Weak<EmbeddedBridge>>> = Arc::default();
        let bridge = Arc::clone(&this);
        let on_message = move |line: &str| {
            let message = serde_json::from_str(line).unwrap();
            if let Some(bridge) = bridge.wait().upgrade() {
                react(&bridge, &message);
            }
            let _ = keep.send(message);
        };
        let bridge = Arc::new(EmbeddedBridge::start(options, on_message).unwrap());
        this.set(Arc::downgrade(&bridge)).unwrap();
        Self { bridge, messages: Mutex::new(messages) }
    }

    pub(crate) fn send(&self, message: &Value) {
        self.bridge.send(&message.to_string()).unwrap();
    }

    pub(crate) fn request(&self, id: impl Into<Value>, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    pub(crate) fn next(&self) -> Value {
        self.messages.lock().unwrap().recv_timeout(DEADLINE).expect("there is another message")
    }

    /// What has been kept and not yet been looked at.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.messages.lock().unwrap().try_iter().collect()
    }

    /// The response to `id`, which is a text or a number; what comes before it is dropped.
    pub(crate) fn response(&self, id: impl Into<Value>) -> Value {
        let id = id.into();
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Creates the session `name`, whose model plays `steps`. It has one tool, `ring_bell`.
    pub(crate) fn session(&self, name: &str, steps: &Value) {
        let tool = json!({"name": "ring_bell", "description": "Rings the bell.",
            "parameters": {"type": "object", "properties": {"times": {"type": "integer"}}}});
        let created = self.call(
            "session/create",
            &json!({
                "session": name, "tools": [tool], "model": {"type": "scripted", "steps": steps}
            }),
        );
        assert_eq!(created["result"]["session"], *name, "{created}");
    }

    /// A blocking call with time enough.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.call_within(DEADLINE, method, params)
    }

    pub(crate) fn call_within(&self, limit: Duration, method: &str, params: &Value) -> Value {
        let request = json!({"method": method, "params": params}).to_string();
        serde_json::from_str(&self.bridge.call(&request, Some(limit))).unwrap()
    }
}

/// The answer of a host to a call of `ring_bell`.
pub(crate) fn rang(call: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": call["id"], "result": {"output": {"rang": true}}}).to_string()
}

/// A script that calls `ring_bell` and tells its output.
pub(crate) fn bell_script() -> Value {
    json!([{"toolCalls": [{"name": "ring_bell", "arguments": {"times": 3}}]}, {"template": "{toolOutput}", "chunks": 3}])
}

/// A script whose only answer takes for ever.
pub(crate) fn endless_script() -> Value {
    json!([{"text": "Too late.", "delayMs": 3_600_000}, {"text": "In time."}])
}
