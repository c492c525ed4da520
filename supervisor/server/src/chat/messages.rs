//! From messages to a conversation: what was said before, and what is asked now.
//!
//! Calls and outputs must fit together when they come in, because a model that is shown a call without its output goes
//! astray. Each round of calls is open until all its outputs are there, in whatever order they are sent.

use std::collections::HashMap;

use oam_agent::{json_text, transcript::ToolCallEntry};
use serde_json::Value;

use super::{
    content::{self, UserContent},
    members::{self, Object, array, element, string},
    problem::{Problem, Result, Within},
};
use crate::api_error::echo;

/// Images are files while a completion runs, so their number is limited.
const MOST_IMAGES: usize = 100;
/// How deep the arguments of a call may nest, as for calls that models make.
const ARGUMENTS_DEPTH: usize = 64;

/// A conversation, and what is to come next in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation {
    /// All instructions of the client.
    pub(crate) instructions: Option<String>,
    /// What was said before.
    pub(crate) history: Vec<Message>,
    /// What is asked; without it, the turn goes on that the outputs at the end of the history belong to.
    pub(crate) prompt: Option<UserContent>,
    /// The place of the first image, if there is one.
    pub(crate) first_image: Option<String>,
}

/// Something said before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// By the user.
    User(UserContent),
    /// By the model.
    Assistant(String),
    /// The model called tools, all at once.
    ToolCalls(Vec<ToolCallEntry>),
    /// A tool answered.
    ToolOutput { call_id: String, tool: String, text: String },
}

/// Reads `messages`.
pub(super) fn read(messages: &[Value]) -> Result<Conversation> {
    let mut reader = Reader::default();
    for (i, value) in messages.iter().enumerate() {
        reader.message(i, value).within(|| format!("messages[{i}]"))?;
    }
    reader.finish().within(|| "messages".to_owned())
}

#[derive(Default)]
struct Reader {
    instructions: Vec<String>,
    history: Vec<Message>,
    /// Who spoke last, instructions aside.
    last: Option<Speaker>,
    /// All calls so far: the place in the open round of one that waits for its output.
    calls: HashMap<String, Option<usize>>,
    /// The calls of the open round, with the outputs that are there.
    round: Vec<OpenCall>,
    unanswered: usize,
    images: usize,
    first_image: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    Tool,
}

struct OpenCall {
    id: String,
    tool: String,
    output: Option<String>,
}

impl Reader {
    fn message(&mut self, i: usize, value: &Value) -> Result<()> {
        let message = element(value)?;
        match members::required(message, "role", string)? {
            "system" | "developer" => {
                self.instructions.push(content::required_text(message)?);
                Ok(())
            }
            "user" => self.user(i, message),
            "assistant" => self.assistant(message),
            "tool" => self.output(message),
            "function" => {
                Err(Problem::invalid_value("is 'function', which was replaced; use 'tool'.").at("role"))
            }
            other => {
                let known = "system, developer, user, assistant and tool";
                let predicate = format!("is '{}'; the roles are {known}.", echo(other));
                Err(Problem::invalid_value(predicate).at("role"))
            }
        }
    }

    fn user(&mut self, i: usize, message: &Object) -> Result<()> {
        self.expect_all_answered()?;
        let content = content::user(message)?;
        self.images += content.images.len();
        if self.images > MOST_IMAGES {
            let predicate = format!("brings more than {MOST_IMAGES} images into the conversation.");
            return Err(Problem::invalid_value(predicate));
        }
        if self.first_image.is_none() && !content.images.is_empty() {
            self.first_image = Some(format!("messages[{i}].content"));
        }
        match self.history.last_mut() {
            Some(Message::User(before)) if self.last == Some(Speaker::User) => {
                before.text.push_str("\n\n");
                before.text.push_str(&content.text);
                before.images.extend(content.images);
            }
            _ => self.history.push(Message::User(content)),
        }
        self.last = Some(Speaker::User);
        Ok(())
    }

    fn assistant(&mut self, message: &Object) -> Result<()> {
        self.expect_all_answered()?;
        let refusal = members::read(message, "refusal", string)?;
        let text = content::text(message)?.filter(|text| !text.is_empty());
        if let Some(text) = text.or_else(|| refusal.filter(|text| !text.is_empty()).map(str::to_owned)) {
            self.history.push(Message::Assistant(text));
        }
        members::read(message, "tool_calls", |value| self.tool_calls(array(value)?))?;
        self.last = Some(Speaker::Assistant);
        Ok(())
    }

    fn tool_calls(&mut self, values: &[Value]) -> Result<()> {
        let mut calls = Vec::with_capacity(values.len());
        for (j, value) in values.iter().enumerate() {
            let call = self.tool_call(value).within(|| format!("[{j}]"))?;
            self.calls.insert(call.id.clone(), Some(j));
            self.round.push(OpenCall { id: call.id.clone(), tool: call.name.clone(), output: None });
            calls.push(call);
        }
        self.unanswered = calls.len();
        if !calls.is_empty() {
            self.history.push(Message::ToolCalls(calls));
        }
        Ok(())
    }

    fn tool_call(&self, value: &Value) -> Result<ToolCallEntry> {
        let call = element(value)?;
        let id = members::required(call, "id", |value| match string(value)? {
            "" => Err(Problem::invalid_value("must not be empty.")),
            id if self.calls.contains_key(id) => {
                let predicate = format!("is '{}', which another call has already.", echo(id));
                Err(Problem::new("duplicate_tool_call_id", predicate))
            }
            id => Ok(id.to_owned()),
        })?;
        members::read(call, "type", |value| match value.as_str() {
            Some("function") => Ok(()),
            _ => Err(Problem::invalid_value("must be 'function'.")),
        })?;
        let (name, arguments) = members::required(call, "function", |value| {
            let function = members::object(value)?;
            let name = members::required(function, "name", |value| match string(value)? {
                "" => Err(Problem::invalid_value("must not be empty.")),
                name => Ok(name.to_owned()),
            })?;
            let arguments = members::read(function, "arguments", arguments)?.unwrap_or_default();
            Ok((name, arguments))
        })?;
        Ok(ToolCallEntry { id, name, arguments })
    }

    fn output(&mut self, message: &Object) -> Result<()> {
        let id = members::required(message, "tool_call_id", string)?;
        let place = match self.calls.get(id) {
            Some(Some(place)) => *place,
            Some(None) => {
                let predicate = format!("is '{}', a call that has its output already.", echo(id));
                return Err(Problem::new("duplicate_tool_output", predicate).at("tool_call_id"));
            }
            None => {
                let predicate = format!("is '{}', which no call before it has.", echo(id));
                return Err(Problem::new("unknown_tool_call_id", predicate).at("tool_call_id"));
            }
        };
        self.round[place].output = Some(content::required_text(message)?);
        self.calls.insert(id.to_owned(), None);
        self.last = Some(Speaker::Tool);
        self.unanswered -= 1;
        if self.unanswered == 0 {
            let outputs = self.round.drain(..).map(|OpenCall { id, tool, output }| Message::ToolOutput {
                call_id: id,
                tool,
                text: output.unwrap_or_default(),
            });
            self.history.extend(outputs);
        }
        Ok(())
    }

    fn expect_all_answered(&self) -> Result<()> {
        match self.round.iter().find(|call| call.output.is_none()) {
            Some(call) => {
                let predicate = format!(
                    "leaves call '{}' without its output: a tool message with its id.",
                    echo(&call.id)
                );
                Err(Problem::new("missing_tool_output", predicate))
            }
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Conversation> {
        self.expect_all_answered()?;
        let prompt = match self.last {
            None => return Err(Problem::new("missing_user_message", "must hold a user message.")),
            Some(Speaker::Assistant) => {
                let predicate = "must not end with an assistant message; end with a user or tool message.";
                return Err(Problem::new("invalid_last_message", predicate));
            }
            Some(Speaker::User) => match self.history.pop() {
                Some(Message::User(prompt)) => Some(prompt),
                _ => unreachable!("what the user said last is the end of the history"),
            },
            Some(Speaker::Tool) => None,
        };
        let instructions = (!self.instructions.is_empty()).then(|| self.instructions.join("\n\n"));
        Ok(Conversation { instructions, history: self.history, prompt, first_image: self.first_image })
    }
}

/// The arguments of a call: the text of an object, as models write it, or the object itself.
fn arguments(value: &Value) -> Result<Object> {
    let parsed = match value {
        Value::String(text) if text.trim().is_empty() => return Ok(Object::new()),
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    };
    match parsed {
        Some(Value::Null) => Ok(Object::new()),
        Some(object @ Value::Object(_)) if json_text::nests_deeper(&object, ARGUMENTS_DEPTH) => {
            Err(Problem::invalid_value(format!("nest deeper than {ARGUMENTS_DEPTH}.")))
        }
        Some(Value::Object(members)) => Ok(members),
        _ => Err(Problem::invalid_value("must be the JSON text of an object.")),
    }
}
