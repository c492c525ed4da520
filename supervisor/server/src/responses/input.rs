//! `input`, from which a conversation is put together.

use oam_agent::transcript::ToolCallEntry;
use serde_json::Value;

use crate::{
    api_error::echo,
    request::{
        Conversation, ConversationBuilder, Image, Part, Problem, Result, UserContent, Within,
        called_function,
        members::{self, Object, element, string},
        parts, unusable_part,
    },
};

/// What is asked; the items have not been looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// What the user says.
    Text(&'a str),
    /// At least one.
    Items(&'a [Value]),
}

impl<'a> Input<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Self> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(items) if items.is_empty() => Err(Problem::invalid_value("must not be empty.")),
            Value::Array(items) => Ok(Self::Items(items)),
            _ => Err(Problem::invalid_type("a string or an array of items", value)),
        }
    }
}

/// Reads `instructions` and `input`.
pub(super) fn read(instructions: Option<&str>, input: Input<'_>) -> Result<Conversation> {
    let mut reader = Reader::default();
    if let Some(instructions) = instructions {
        reader.conversation.instructions(instructions.to_owned());
    }
    match input {
        Input::Text(text) => {
            let content = UserContent { text: text.to_owned(), images: Vec::new() };
            reader.conversation.user(content, || "input".to_owned())?;
        }
        Input::Items(items) => {
            for (i, value) in items.iter().enumerate() {
                reader.item(i, value).within(|| format!("input[{i}]"))?;
            }
        }
    }
    reader.conversation.finish().within(|| "input".to_owned())
}

#[derive(Default)]
struct Reader {
    conversation: ConversationBuilder,
}

impl Reader {
    fn item(&mut self, i: usize, value: &Value) -> Result<()> {
        let item = element(value)?;
        match members::read(item, "type", string)?.unwrap_or("message") {
            "message" => self.message(i, item),
            "function_call" => self.call(item),
            "function_call_output" => self.output(item),
            // What a model thought elsewhere is nothing that a model here was trained to read.
            "reasoning" => Ok(()),
            "item_reference" => {
                let predicate = "is 'item_reference', and the server keeps no items; send the item itself.";
                Err(Problem::invalid_value(predicate).at("type"))
            }
            other => {
                let known = "message, function_call, function_call_output and reasoning";
                let predicate = format!("is '{}'; the items that can be used are {known}.", echo(other));
                Err(Problem::invalid_value(predicate).at("type"))
            }
        }
    }

    fn message(&mut self, i: usize, message: &Object) -> Result<()> {
        match members::required(message, "role", string)? {
            "system" | "developer" => {
                self.conversation.instructions(text(message, "content")?);
                Ok(())
            }
            "user" => {
                self.conversation.expect_all_answered()?;
                self.conversation.user(user(message)?, || format!("input[{i}].content"))
            }
            "assistant" => {
                self.conversation.expect_all_answered()?;
                self.conversation.assistant(text(message, "content")?)
            }
            other => {
                let known = "system, developer, user and assistant";
                let predicate = format!("is '{}'; the roles are {known}.", echo(other));
                Err(Problem::invalid_value(predicate).at("role"))
            }
        }
    }

    fn call(&mut self, call: &Object) -> Result<()> {
        let id = members::required(call, "call_id", |value| self.conversation.free_id(string(value)?))?;
        let (name, arguments) = called_function(call)?;
        self.conversation.call(ToolCallEntry { id, name, arguments })
    }

    fn output(&mut self, output: &Object) -> Result<()> {
        let call =
            members::required(output, "call_id", |value| self.conversation.unanswered(string(value)?))?;
        self.conversation.output(call, text(output, "output")?);
        Ok(())
    }
}

/// The member of this name, which holds text only.
fn text(item: &Object, name: &str) -> Result<String> {
    members::required(item, name, |value| {
        parts(value, |part, kind| match kind {
            "input_text" | "output_text" => members::required(part, "text", string).map(Part::Text),
            "refusal" => members::required(part, "refusal", string).map(Part::Text),
            other => Err(unusable_part(other, "'input_text', 'output_text' and 'refusal'")),
        })
        .map(|content| content.text)
    })
}

/// The `content` of a user message.
fn user(message: &Object) -> Result<UserContent> {
    members::required(message, "content", |value| {
        parts(value, |part, kind| match kind {
            "input_text" => members::required(part, "text", string).map(Part::Text),
            "input_image" => image(part).map(Part::Image),
            other => Err(unusable_part(other, "'input_text' and 'input_image'")),
        })
    })
}

fn image(part: &Object) -> Result<Image> {
    members::read(part, "file_id", |_| {
        let predicate = "cannot be used: the server keeps no files; send the image as a 'data:' URL.";
        Err::<(), _>(Problem::invalid_value(predicate))
    })?;
    members::required(part, "image_url", |value| Image::from_url(string(value)?))
}
