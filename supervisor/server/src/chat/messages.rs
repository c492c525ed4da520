//! `messages`, from which a conversation is put together.

use oam_agent::transcript::ToolCallEntry;
use serde_json::Value;

use super::content;
use crate::{
    api_error::echo,
    request::{
        Conversation, ConversationBuilder, Problem, Result, Within, called_function,
        members::{self, Object, array, element, object, string},
    },
};

/// Reads `messages`.
pub(super) fn read(messages: &[Value]) -> Result<Conversation> {
    let mut reader = Reader::default();
    for (i, value) in messages.iter().enumerate() {
        reader.message(i, value).within(|| format!("messages[{i}]"))?;
    }
    reader.conversation.finish().within(|| "messages".to_owned())
}

#[derive(Default)]
struct Reader {
    conversation: ConversationBuilder,
}

impl Reader {
    fn message(&mut self, i: usize, value: &Value) -> Result<()> {
        let message = element(value)?;
        match members::required(message, "role", string)? {
            "system" | "developer" => {
                self.conversation.instructions(content::required_text(message)?);
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
        self.conversation.expect_all_answered()?;
        let content = content::user(message)?;
        self.conversation.user(content, || format!("messages[{i}].content"))
    }

    fn assistant(&mut self, message: &Object) -> Result<()> {
        self.conversation.expect_all_answered()?;
        let refusal = members::read(message, "refusal", string)?;
        let text = content::text(message)?.filter(|text| !text.is_empty());
        self.conversation.assistant(text.or_else(|| refusal.map(str::to_owned)).unwrap_or_default())?;
        members::read(message, "tool_calls", |value| self.tool_calls(array(value)?))?;
        Ok(())
    }

    fn tool_calls(&mut self, values: &[Value]) -> Result<()> {
        for (j, value) in values.iter().enumerate() {
            self.tool_call(value).within(|| format!("[{j}]"))?;
        }
        Ok(())
    }

    fn tool_call(&mut self, value: &Value) -> Result<()> {
        let call = element(value)?;
        let id = members::required(call, "id", |value| self.conversation.free_id(string(value)?))?;
        members::read(call, "type", |value| match value.as_str() {
            Some("function") => Ok(()),
            _ => Err(Problem::invalid_value("must be 'function'.")),
        })?;
        let (name, arguments) = members::required(call, "function", |value| called_function(object(value)?))?;
        self.conversation.call(ToolCallEntry { id, name, arguments })
    }

    fn output(&mut self, message: &Object) -> Result<()> {
        let call =
            members::required(message, "tool_call_id", |value| self.conversation.unanswered(string(value)?))?;
        self.conversation.output(call, content::required_text(message)?);
        Ok(())
    }
}
