//! Responses: what a request's body asks for, and how its answer is told.
//!
//! Nothing is kept between requests. What refers to something kept is refused.

mod echo;
mod events;
mod input;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

use crate::{
    api_error::ApiError,
    request::{
        self, Catalog, CompletionRequest, Dialect, Fields, Problem, RequestedFormat, Result, Within,
        members::{self, Object, boolean, object, string},
    },
};
pub(crate) use echo::Echo;
pub(crate) use events::ResponseTeller;
use input::Input;

/// How many pairs `metadata` has at most, and how long they are, in characters; as with OpenAI.
const MOST_METADATA: usize = 16;
const LONGEST_METADATA_KEY: usize = 64;
const LONGEST_METADATA_VALUE: usize = 512;

/// A request for a response.
#[derive(Debug)]
pub(crate) struct ResponseRequest {
    pub(crate) completion: Box<CompletionRequest>,
    pub(crate) is_streamed: bool,
    /// What the response repeats of the request.
    pub(crate) echo: Echo,
}

impl ResponseRequest {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8], catalog: &impl Catalog) -> std::result::Result<Self, ApiError> {
        let body = request::object_in(body)?;
        let model = request::model(&body)?;
        let input = members::required(&body, "input", Input::of)?;
        let instructions = members::read(&body, "instructions", string)?;
        let is_streamed = request::is_streamed(&body)?;
        expect_supported(&body)?;
        let fields = Fields {
            model,
            generation: request::generation(&body, Dialect::Responses)?,
            stop: Vec::new(),
            parallel_tool_calls: request::parallel_tool_calls(&body)?,
            format: format(&body)?,
            trim_history: may_truncate(&body)?,
        };
        expect_metadata(&body)?;
        let conversation = || input::read(instructions, input);
        let completion = fields.complete(&body, Dialect::Responses, catalog, conversation)?;
        let echo = Echo::of(body, &completion);
        Ok(Self { completion, is_streamed, echo })
    }
}

/// What would change the answer in a way that cannot be done here is refused; what only describes the request is not looked
/// at.
fn expect_supported(body: &Object) -> Result<()> {
    for (name, predicate) in [
        (
            "previous_response_id",
            "cannot be used: the server keeps no responses; send the whole conversation as 'input'.",
        ),
        (
            "conversation",
            "cannot be used: the server keeps no conversations; send the whole conversation as 'input'.",
        ),
        ("prompt", "cannot be used: the server keeps no prompts; send them as 'instructions' and 'input'."),
    ] {
        members::read(body, name, |_| Err::<(), _>(Problem::invalid_value(predicate)))?;
    }
    if members::read(body, "background", boolean)? == Some(true) {
        let predicate = "cannot be true: the server keeps no responses to be fetched; use 'stream'.";
        return Err(Problem::invalid_value(predicate).at("background"));
    }
    Ok(())
}

fn format(body: &Object) -> Result<RequestedFormat<'_>> {
    let format = members::read(body, "text", |value| {
        members::read(object(value)?, "format", |value| RequestedFormat::read(value, Dialect::Responses))
    })?;
    Ok(format.flatten().unwrap_or(RequestedFormat::Text))
}

/// `truncation`.
fn may_truncate(body: &Object) -> Result<bool> {
    let may = members::read(body, "truncation", |value| match string(value)? {
        "auto" => Ok(true),
        "disabled" => Ok(false),
        _ => Err(Problem::invalid_value("must be 'auto' or 'disabled'.")),
    })?;
    Ok(may.unwrap_or(false))
}

/// `metadata`, of which nothing is used: it is for the client.
fn expect_metadata(body: &Object) -> Result<()> {
    members::read(body, "metadata", |value| {
        let metadata = object(value)?;
        if metadata.len() > MOST_METADATA {
            return Err(Problem::invalid_value(format!("has more than {MOST_METADATA} pairs.")));
        }
        for (key, value) in metadata {
            if key.chars().count() > LONGEST_METADATA_KEY {
                let predicate = format!("has a key of more than {LONGEST_METADATA_KEY} characters.");
                return Err(Problem::invalid_value(predicate));
            }
            metadata_value(value).within(|| key.clone())?;
        }
        Ok(())
    })?;
    Ok(())
}

fn metadata_value(value: &serde_json::Value) -> Result<()> {
    if string(value)?.chars().count() > LONGEST_METADATA_VALUE {
        let predicate = format!("is longer than {LONGEST_METADATA_VALUE} characters.");
        return Err(Problem::invalid_value(predicate));
    }
    Ok(())
}
