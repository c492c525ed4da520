//! What a completion asks for, whichever API it is asked through.
//!
//! The order of the checks decides which mistake is told when there are several: the members by themselves, then the
//! model, the conversation, the tools, their choice, and the schema of the answer.

mod content;
mod conversation;
mod format;
mod image;
pub(crate) mod members;
mod problem;
mod sampling;
mod tools;

use std::collections::HashSet;

use oam_agent::{GenerationOptions, Tool};
use serde_json::Value;

use crate::api_error::ApiError;
pub(crate) use content::{Part, UserContent, parts, unusable_part};
pub(crate) use conversation::{Conversation, ConversationBuilder, Message, called_function};
pub(crate) use format::{AnswerFormat, RequestedFormat};
pub(crate) use image::Image;
use members::{Object, array, boolean, string};
pub(crate) use problem::{Problem, Result, Within};
pub(crate) use sampling::generation;
pub(crate) use tools::ToolUse;

/// A completion that can be asked for.
#[derive(Debug)]
pub(crate) struct CompletionRequest {
    pub(crate) dialect: Dialect,
    /// The model's own id.
    pub(crate) model: String,
    pub(crate) conversation: Conversation,
    /// The client's tools.
    pub(crate) tools: Vec<Tool>,
    pub(crate) tool_use: ToolUse,
    /// Whether more than one call of a client tool is wanted at a time.
    pub(crate) parallel_tool_calls: bool,
    pub(crate) format: AnswerFormat,
    pub(crate) generation: GenerationOptions,
    /// Texts that end the answer; none is empty.
    pub(crate) stop: Vec<String>,
    /// Whether what was said first may be left out when the conversation is too long for the model.
    pub(crate) trim_history: bool,
}

/// The words in which an API says the same things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Chat completions: what a function or a schema is stands in a member of its own.
    Chat,
    /// Responses: it stands beside its type.
    Responses,
}

impl Dialect {
    /// The member that holds the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            Self::Chat => "messages",
            Self::Responses => "input",
        }
    }

    /// The members that hold the length of the longest answer; the first one wins.
    fn longest_answer(self) -> &'static [&'static str] {
        match self {
            Self::Chat => &["max_completion_tokens", "max_tokens"],
            Self::Responses => &["max_output_tokens"],
        }
    }

    /// Where the schema of the answer is.
    fn schema(self) -> &'static str {
        match self {
            Self::Chat => "response_format.json_schema.schema",
            Self::Responses => "text.format.schema",
        }
    }
}

/// What a request may refer to.
pub(crate) trait Catalog {
    /// The id of the model with this name, or of the default model.
    fn resolve_model(&self, name: Option<&str>) -> Option<&str>;
    /// Whether the server has a tool of this name.
    fn has_tool(&self, name: &str) -> bool;
    /// Whether the server has tools.
    fn has_tools(&self) -> bool;
}

/// The object that a body is.
pub(crate) fn object_in(body: &[u8]) -> std::result::Result<Object, ApiError> {
    // Text that is known to be valid is read faster; what is wrong with other text is told by where it is.
    let object = str::from_utf8(body).map_or_else(|_| serde_json::from_slice(body), serde_json::from_str);
    match object {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(ApiError::invalid_request("The body must be a JSON object.")),
        Err(error) => {
            let message = format!("The body is not JSON that can be read: {error}.");
            Err(ApiError::invalid("invalid_json", message))
        }
    }
}

/// What both APIs read of a body before they look into the conversation and the tools.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) generation: GenerationOptions,
    pub(crate) stop: Vec<String>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) format: RequestedFormat<'a>,
    pub(crate) trim_history: bool,
}

impl Fields<'_> {
    /// Checks the rest of `body`, of which these are the fields.
    pub(crate) fn complete(
        self,
        body: &Object,
        dialect: Dialect,
        catalog: &impl Catalog,
        conversation: impl FnOnce() -> Result<Conversation>,
    ) -> std::result::Result<CompletionRequest, ApiError> {
        let Self { model, generation, stop, parallel_tool_calls, format, trim_history } = self;
        let Some(model) = catalog.resolve_model(model) else {
            return Err(ApiError::model_not_found(model.unwrap_or_default()));
        };
        let model = model.to_owned();
        let conversation = conversation()?;
        let tools = tools::read(body, dialect, |name| catalog.has_tool(name))?;
        let tool_use = {
            let names: HashSet<&str> = tools.iter().map(|tool| tool.name().as_str()).collect();
            let is_known = |name: &str| names.contains(name) || catalog.has_tool(name);
            tools::tool_use(body, dialect, !tools.is_empty() || catalog.has_tools(), is_known)?
        };
        let format = format.convert().within(|| dialect.schema().to_owned())?;
        Ok(CompletionRequest {
            dialect,
            model,
            conversation,
            tools,
            tool_use,
            parallel_tool_calls,
            format,
            generation,
            stop,
            trim_history,
        })
    }
}

/// `model`, which is checked before everything else.
pub(crate) fn model(body: &Object) -> Result<Option<&str>> {
    members::read(body, "model", string)
}

/// `stream`.
pub(crate) fn is_streamed(body: &Object) -> Result<bool> {
    Ok(members::read(body, "stream", boolean)?.unwrap_or(false))
}

/// Whether calls may be parallel, if there are tools; those are looked into later.
pub(crate) fn parallel_tool_calls(body: &Object) -> Result<bool> {
    members::read(body, "tools", array)?;
    Ok(members::read(body, "parallel_tool_calls", boolean)?.unwrap_or(true))
}
