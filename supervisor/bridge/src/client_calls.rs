//! Requests of the bridge to its client: every `tool/call` that waits for an answer.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use oam_agent::{ToolOutput, json_text};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::message::ClientReply;

/// The id of a request that the bridge makes: `t-<n>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClientCallId(u64);

impl ClientCallId {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("t-")?;
        let number = digits.parse().ok()?;
        // Only the spelling that was sent counts: no sign, no leading zeros.
        (Self(number).to_string() == text).then_some(Self(number))
    }
}

impl fmt::Display for ClientCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t-{}", self.0)
    }
}

impl Serialize for ClientCallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The open client calls of a bridge.
#[derive(Debug, Default)]
pub(crate) struct ClientCalls {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    open: HashMap<ClientCallId, oneshot::Sender<ToolOutput>>,
}

impl ClientCalls {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a call under the next id. `send` sends it, before the next one is opened: calls go out in the order of their
    /// ids, whatever the number of threads.
    pub(crate) fn open(
        &self,
        send: impl FnOnce(ClientCallId),
    ) -> (ClientCallId, oneshot::Receiver<ToolOutput>) {
        let (answer, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.last += 1;
        let id = ClientCallId(state.last);
        state.open.insert(id, answer);
        send(id);
        (id, receiver)
    }

    /// Takes the client's answer to the call named `id`. `false` when no such call is open.
    pub(crate) fn answer(&self, id: &str, reply: ClientReply) -> bool {
        let Some(id) = ClientCallId::parse(id) else { return false };
        let Some(answer) = self.lock().open.remove(&id) else { return false };
        // A turn that ended in this very moment no longer listens; the answer is then of no use to anyone.
        let _ = answer.send(tool_output(reply));
        true
    }

    /// Forgets a call; a later answer is ignored. `false` when it had been answered or closed before.
    pub(crate) fn close(&self, id: ClientCallId) -> bool {
        self.lock().open.remove(&id).is_some()
    }
}

/// What a client's reply means as a tool's output.
fn tool_output(reply: ClientReply) -> ToolOutput {
    let result = match reply {
        ClientReply::Error { message } => {
            return ToolOutput::Error(message.unwrap_or_else(|| "Unknown error".to_owned()));
        }
        ClientReply::NotFinite(number) => {
            return ToolOutput::Error(format!("'result{}' must be a finite number.", number.place()));
        }
        ClientReply::Result(result) => result,
    };
    let (output, is_error) = match result {
        Value::Object(mut members) => {
            let is_error = members.get("isError") == Some(&Value::Bool(true));
            (members.shift_remove("output").unwrap_or(Value::Object(members)), is_error)
        }
        other => (other, false),
    };
    match (output, is_error) {
        (Value::String(text), true) => ToolOutput::Error(text),
        (value, true) => ToolOutput::Error(json_text::compact(&value)),
        (Value::String(text), false) => ToolOutput::Text(text),
        (value, false) => ToolOutput::Json(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Incoming, parse_line};
    use serde_json::json;

    #[test]
    fn replies_become_outputs() {
        let cases = [
            (json!({"output": "The gate opened."}), ToolOutput::Text("The gate opened.".into())),
            (json!({"output": {"opened": true}}), ToolOutput::Json(json!({"opened": true}))),
            (json!({"output": null}), ToolOutput::Json(Value::Null)),
            (json!({"output": "Jammed.", "isError": true}), ToolOutput::Error("Jammed.".into())),
            (json!({"output": {"why": 1}, "isError": true}), ToolOutput::Error(r#"{"why":1}"#.into())),
            (json!({"isError": true}), ToolOutput::Error(r#"{"isError":true}"#.into())),
            (json!({"output": "fine", "isError": 1}), ToolOutput::Text("fine".into())),
            (json!({"opened": true}), ToolOutput::Json(json!({"opened": true}))),
            (json!("just text"), ToolOutput::Text("just text".into())),
            (json!([1]), ToolOutput::Json(json!([1]))),
            (Value::Null, ToolOutput::Json(Value::Null)),
            (json!({"output": {"hp": f64::MAX}}), ToolOutput::Json(json!({"hp": f64::MAX}))),
        ];
        for (result, output) in cases {
            assert_eq!(tool_output(ClientReply::Result(result.clone())), output, "{result}");
        }
        let line =
            br#"{"jsonrpc":"2.0","id":"t-1","result":{"output":{"gold":1.7976931348623157e308,"hp":1e400}}}"#;
        let Ok(Some(Incoming::Reply { reply, .. })) = parse_line(line) else { panic!("it is a reply") };
        let not_finite = ToolOutput::Error("'result.output.hp' must be a finite number.".into());
        assert_eq!(tool_output(reply), not_finite);
        let failed = ClientReply::Error { message: Some("Offline".into()) };
        assert_eq!(tool_output(failed), ToolOutput::Error("Offline".into()));
        assert_eq!(
            tool_output(ClientReply::Error { message: None }),
            ToolOutput::Error("Unknown error".into())
        );
    }

    #[test]
    fn only_an_open_call_under_its_exact_id_takes_an_answer() {
        let calls = ClientCalls::default();
        let (id, mut receiver) = calls.open(|_| ());
        let reply = || ClientReply::Result(json!("x"));
        for wrong in ["t-2", "t-01", "t-+1", "t- 1", "1", "T-1", ""] {
            assert!(!calls.answer(wrong, reply()), "{wrong}");
        }
        assert!(calls.answer(&id.to_string(), reply()));
        assert_eq!(receiver.try_recv(), Ok(ToolOutput::Text("x".into())));
        assert!(!calls.answer(&id.to_string(), reply()));
    }
}
