//! Chat completions: what a request's body asks for, and how its answer is told.

mod content;
mod messages;
mod stop;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

use serde_json::Value;

use crate::{
    api_error::ApiError,
    request::{
        self, Catalog, CompletionRequest, Dialect, Fields, Problem, RequestedFormat, Result,
        members::{self, Object, array, boolean, object},
    },
};
pub(crate) use wire::ChatTeller;

/// A request for a chat completion.
#[derive(Debug)]
pub(crate) struct ChatRequest {
    pub(crate) completion: Box<CompletionRequest>,
    /// How to stream, if the answer is to be streamed.
    pub(crate) stream: Option<StreamOptions>,
}

/// How to stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

impl ChatRequest {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8], catalog: &impl Catalog) -> std::result::Result<Self, ApiError> {
        let body = request::object_in(body)?;
        let model = request::model(&body)?;
        let messages = members::required(&body, "messages", messages)?;
        let stream = stream(&body)?;
        expect_supported(&body)?;
        let fields = Fields {
            model,
            generation: request::generation(&body, Dialect::Chat)?,
            stop: stop::read(&body)?,
            parallel_tool_calls: request::parallel_tool_calls(&body)?,
            format: format(&body)?,
            trim_history: false,
        };
        let completion = fields.complete(&body, Dialect::Chat, catalog, || messages::read(messages))?;
        Ok(Self { completion, stream })
    }
}

fn messages(value: &Value) -> Result<&[Value]> {
    match array(value)? {
        [] => Err(Problem::invalid_value("must not be empty.")),
        messages => Ok(messages),
    }
}

fn format(body: &Object) -> Result<RequestedFormat<'_>> {
    let read = |value| RequestedFormat::read(value, Dialect::Chat);
    Ok(members::read(body, "response_format", read)?.unwrap_or(RequestedFormat::Text))
}

fn stream(body: &Object) -> Result<Option<StreamOptions>> {
    let is_streamed = request::is_streamed(body)?;
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
