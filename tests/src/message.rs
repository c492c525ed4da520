//! The messages of the protocol as a client sees them.

use std::fmt;

use serde_json::Value;

/// One line of output: what it says, and how it was written.
#[derive(Debug, Clone)]
pub struct Message {
    /// The parsed line.
    pub value: Value,
    /// The line as it was sent, without its newline.
    pub line: String,
}

impl Message {
    /// The method of a notification or request of the bridge.
    pub fn method(&self) -> Option<&str> {
        self.value["method"].as_str()
    }

    /// The event of a turn in it, if it is a `session/event` or an `npc/event`.
    pub fn event(&self) -> Option<&Value> {
        let is_event = matches!(self.method(), Some("session/event" | "npc/event"));
        is_event.then(|| &self.value["params"]["event"])
    }

    /// The request that it belongs to: an event's, tool call's or cancellation's `requestId`.
    pub fn request_id(&self) -> Option<Id> {
        self.method()?;
        Id::of(&self.value["params"]["requestId"])
    }

    /// The request that it answers.
    pub fn answers(&self) -> Option<Id> {
        if self.method().is_some() { None } else { Id::of(&self.value["id"]) }
    }
}

/// A request's id: a string or a number, the latter compared by value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// The id in `value`; `None` for anything that cannot be one.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self(format!("{text:?}"))),
            Value::Number(number) => {
                let number = number.as_f64()?;
                Some(Self(format!("{}", if number == 0.0 { 0.0 } else { number })))
            }
            _ => None,
        }
    }
}

impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Self(id.to_string())
    }
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        Self(format!("{id:?}"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a request ended.
pub type Outcome = Result<Value, RpcError>;

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// JSON-RPC's number.
    pub code: i64,
    /// The stable name, `data.code`.
    pub name: String,
    /// The text for people.
    pub message: String,
    /// All of `data`.
    pub data: Box<Value>,
}

impl RpcError {
    /// Reads the `error` member of a response.
    pub fn of(error: &Value) -> Self {
        Self {
            code: error["code"].as_i64().expect("an error has an integer code"),
            name: error["data"]["code"].as_str().expect("an error has a data.code").to_owned(),
            message: error["message"].as_str().expect("an error has a message").to_owned(),
            data: Box::new(error["data"].clone()),
        }
    }
}

/// A `tool/call` request of the bridge.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The request's id, `t-<n>`.
    pub id: String,
    /// The session whose turn calls; `None` where no session does.
    pub session: Option<String>,
    /// The NPC whose turn calls; `None` where no NPC does.
    pub npc: Option<String>,
    /// The turn's request id as it was sent; `null` for a turn that nobody awaits.
    pub request_id: Value,
    /// The call's own id.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What the model passes.
    pub arguments: Value,
}

impl ToolCall {
    /// Reads a message, if it is a `tool/call`.
    pub fn of(message: &Value) -> Option<Self> {
        if message["method"] != "tool/call" {
            return None;
        }
        let (params, text) = (&message["params"], |value: &Value| value.as_str().map(str::to_owned));
        Some(Self {
            id: text(&message["id"])?,
            session: text(&params["session"]),
            npc: text(&params["npc"]),
            request_id: params["requestId"].clone(),
            call_id: text(&params["call"]["id"])?,
            name: text(&params["call"]["name"])?,
            arguments: params["call"]["arguments"].clone(),
        })
    }
}
