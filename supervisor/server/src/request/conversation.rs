//! A conversation: what was said before, and what is asked now.
//!
//! Calls and outputs must fit together when they come in, because a model that is shown a call without its output goes
//! astray. Each round of calls is open until all its outputs are there, in whatever order they are sent.

use std::collections::HashMap;

use oam_agent::{json_text, transcript::ToolCallEntry};
use serde_json::Value;

use super::{
    content::UserContent,
    members::{self, Object, string},
    problem::{Problem, Result},
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

/// Puts a conversation together from what was said, one after another.
#[derive(Debug, Default)]
pub(crate) struct ConversationBuilder {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    Tool,
}

#[derive(Debug)]
struct OpenCall {
    call: ToolCallEntry,
    output: Option<String>,
}

/// The place in the open round of a call that waits for its output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unanswered(usize);

impl ConversationBuilder {
    pub(crate) fn instructions(&mut self, text: String) {
        self.instructions.push(text);
    }

    /// The user says something, at this place.
    pub(crate) fn user(&mut self, content: UserContent, place: impl FnOnce() -> String) -> Result<()> {
        self.expect_all_answered()?;
        self.images += content.images.len();
        if self.images > MOST_IMAGES {
            let predicate = format!("brings more than {MOST_IMAGES} images into the conversation.");
            return Err(Problem::invalid_value(predicate));
        }
        if self.first_image.is_none() && !content.images.is_empty() {
            self.first_image = Some(place());
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

    /// The model says something, or nothing.
    pub(crate) fn assistant(&mut self, text: String) -> Result<()> {
        self.expect_all_answered()?;
        if !text.is_empty() {
            self.history.push(Message::Assistant(text));
        }
        self.last = Some(Speaker::Assistant);
        Ok(())
    }

    /// The id of a further call, which no other may have.
    pub(crate) fn free_id(&self, id: &str) -> Result<String> {
        if id.is_empty() {
            return Err(Problem::invalid_value("must not be empty."));
        }
        if self.calls.contains_key(id) {
            let predicate = format!("is '{}', which another call has already.", echo(id));
            return Err(Problem::new("duplicate_tool_call_id", predicate));
        }
        Ok(id.to_owned())
    }

    /// The model calls a tool: in the open round, unless that has outputs. The id is free.
    pub(crate) fn call(&mut self, call: ToolCallEntry) -> Result<()> {
        if self.unanswered < self.round.len() {
            self.expect_all_answered()?;
        }
        self.calls.insert(call.id.clone(), Some(self.round.len()));
        self.round.push(OpenCall { call, output: None });
        self.unanswered += 1;
        self.last = Some(Speaker::Assistant);
        Ok(())
    }

    /// The call of this id, which must wait for its output.
    pub(crate) fn unanswered(&self, id: &str) -> Result<Unanswered> {
        match self.calls.get(id) {
            Some(Some(place)) => Ok(Unanswered(*place)),
            Some(None) => {
                let predicate = format!("is '{}', a call that has its output already.", echo(id));
                Err(Problem::new("duplicate_tool_output", predicate))
            }
            None => {
                let predicate = format!("is '{}', which no call before it has.", echo(id));
                Err(Problem::new("unknown_tool_call_id", predicate))
            }
        }
    }

    /// A tool answers.
    pub(crate) fn output(&mut self, Unanswered(place): Unanswered, text: String) {
        let answered = &mut self.round[place];
        answered.output = Some(text);
        if let Some(waits) = self.calls.get_mut(&answered.call.id) {
            *waits = None;
        }
        self.last = Some(Speaker::Tool);
        self.unanswered -= 1;
        if self.unanswered == 0 {
            self.close_round();
        }
    }

    fn close_round(&mut self) {
        let (calls, outputs): (Vec<_>, Vec<_>) = self
            .round
            .drain(..)
            .map(|OpenCall { call, output }| {
                let output = Message::ToolOutput {
                    call_id: call.id.clone(),
                    tool: call.name.clone(),
                    text: output.unwrap_or_default(),
                };
                (call, output)
            })
            .unzip();
        self.history.push(Message::ToolCalls(calls));
        self.history.extend(outputs);
    }

    /// Whether no call waits for its output.
    pub(crate) fn expect_all_answered(&self) -> Result<()> {
        match self.round.iter().find(|open| open.output.is_none()) {
            Some(OpenCall { call, .. }) => {
                let predicate = format!("leaves call '{}' without its output.", echo(&call.id));
                Err(Problem::new("missing_tool_output", predicate))
            }
            None => Ok(()),
        }
    }

    /// The conversation, which must end with what the user says or a tool answers.
    pub(crate) fn finish(mut self) -> Result<Conversation> {
        self.expect_all_answered()?;
        let prompt = match self.last {
            None => return Err(Problem::new("missing_user_message", "must hold a user message.")),
            Some(Speaker::Assistant) => {
                let predicate = "must not end with what the assistant said; end with a message of the user or the \
                                 output of a tool.";
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

/// The `name` and the `arguments` of a call.
pub(crate) fn called_function(function: &Object) -> Result<(String, Object)> {
    let name = members::required(function, "name", |value| match string(value)? {
        "" => Err(Problem::invalid_value("must not be empty.")),
        name => Ok(name.to_owned()),
    })?;
    let arguments = members::read(function, "arguments", arguments)?.unwrap_or_default();
    Ok((name, arguments))
}

/// The arguments of a call: the text of an object, as models write it, or the object itself.
fn arguments(value: &Value) -> Result<Object> {
    let parsed = match value {
        Value::String(text) if text.trim().is_empty() => return Ok(Object::new()),
        Value::String(text) => serde_json::from_str(text).map_err(|error| {
            Problem::invalid_value(format!("must be the JSON text of an object; it cannot be read: {error}."))
        })?,
        other => other.clone(),
    };
    match parsed {
        Value::Null => Ok(Object::new()),
        object @ Value::Object(_) if json_text::nests_deeper(&object, ARGUMENTS_DEPTH) => {
            Err(Problem::invalid_value(format!("nest deeper than {ARGUMENTS_DEPTH}.")))
        }
        Value::Object(members) => Ok(members),
        _ => Err(Problem::invalid_value("must be the JSON text of an object.")),
    }
}
