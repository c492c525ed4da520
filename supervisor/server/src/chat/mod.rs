//! What a chat completion asks for: a request's body, read and checked without asking anybody.
//!
//! The order of the checks decides which mistake is told when there are several: the members by themselves, then the
//! model, the messages, the tools, their choice, and the schema of the answer.

mod content;
mod format;
mod image;
mod members;
mod messages;
mod problem;
mod sampling;
#[cfg(test)]
pub(crate) mod tests;
mod tools;

use std::collections::HashSet;

use oam_agent::{GenerationOptions, Tool};
use serde_json::Value;

use crate::api_error::ApiError;
pub(crate) use content::UserContent;
pub(crate) use format::AnswerFormat;
use format::RequestedFormat;
pub(crate) use image::Image;
use members::{Object, array, boolean, object, string};
pub(crate) use messages::{Conversation, Message};
use problem::{Problem, Result};
pub(crate) use tools::ToolUse;

/// A chat completion that can be asked for.
#[derive(Debug)]
pub(crate) struct ChatRequest {
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
    /// How to stream, if the answer is to be streamed.
    pub(crate) stream: Option<StreamOptions>,
}

/// How to stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
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

impl ChatRequest {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8], catalog: &impl Catalog) -> std::result::Result<Self, ApiError> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            ApiError::invalid("invalid_json", format!("The body is not JSON that can be read: {error}."))
        })?;
        let Value::Object(body) = body else {
            return Err(ApiError::invalid_request("The body must be a JSON object."));
        };
        let Fields { model, messages, stream, generation, stop, parallel_tool_calls, format } =
            Fields::read(&body)?;
        let Some(model) = catalog.resolve_model(model) else {
            return Err(ApiError::model_not_found(model.unwrap_or_default()));
        };
        let model = model.to_owned();
        let conversation = messages::read(messages)?;
        let tools = tools::read(&body, |name| catalog.has_tool(name))?;
        let tool_use = {
            let names: HashSet<&str> = tools.iter().map(|tool| tool.name().as_str()).collect();
            let is_known = |name: &str| names.contains(name) || catalog.has_tool(name);
            tools::tool_use(&body, !tools.is_empty() || catalog.has_tools(), is_known)?
        };
        let format = format.convert()?;
        Ok(Self {
            model,
            conversation,
            tools,
            tool_use,
            parallel_tool_calls,
            format,
            generation,
            stop,
            stream,
        })
    }
}

/// The members that are checked by themselves, and those that are looked into later.
struct Fields<'a> {
    model: Option<&'a str>,
    messages: &'a [Value],
    stream: Option<StreamOptions>,
    generation: GenerationOptions,
    stop: Vec<String>,
    parallel_tool_calls: bool,
    format: RequestedFormat<'a>,
}

impl<'a> Fields<'a> {
    fn read(body: &'a Object) -> Result<Self> {
        let model = members::read(body, "model", string)?;
        let messages = members::required(body, "messages", |value| match array(value)? {
            [] => Err(Problem::invalid_value("must not be empty.")),
            messages => Ok(messages),
        })?;
        let stream = stream(body)?;
        expect_supported(body)?;
        let generation = sampling::generation(body)?;
        let stop = sampling::stops(body)?;
        members::read(body, "tools", array)?;
        let parallel_tool_calls = members::read(body, "parallel_tool_calls", boolean)?.unwrap_or(true);
        let format = format::read(body)?;
        Ok(Self { model, messages, stream, generation, stop, parallel_tool_calls, format })
    }
}

fn stream(body: &Object) -> Result<Option<StreamOptions>> {
    let is_streamed = members::read(body, "stream", boolean)?.unwrap_or(false);
    let include_usage = members::read(body, "stream_options", |value| {
        members::read(object(value)?, "include_usage", boolean)
    })?;
    let include_usage = include_usage.flatten().unwrap_or(false);
    Ok(is_streamed.then_some(StreamOptions { include_usage }))
}

/// What would change the answer in a way that models here cannot do is refused; what only describes the request is not
/// looked at.
fn expect_supported(body: &Object) -> Result<()> {
    members::read(body, "n", |value| match members::integer(value) {
        Some(1) => Ok(()),
        _ => Err(Problem::invalid_value("must be 1: one answer is given to a request.")),
    })?;
    members::read(body, "modalities", |value| match value.as_array() {
        Some(modalities) if !modalities.iter().any(|modality| modality == "audio") => Ok(()),
        _ => Err(Problem::invalid_value("must be ['text']: answers have no sound.")),
    })?;
    for (name, predicate) in [
        ("audio", "cannot be used: answers have no sound."),
        ("functions", "was replaced; use 'tools'."),
        ("function_call", "was replaced; use 'tool_choice'."),
    ] {
        members::read(body, name, |_| Err::<(), _>(Problem::invalid_value(predicate)))?;
    }
    Ok(())
}
