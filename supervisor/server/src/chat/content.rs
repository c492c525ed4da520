//! What a message says: text, or parts.

use serde_json::Value;

use crate::request::{
    Image, Part, Problem, Result, UserContent, Within,
    members::{self, Object, string},
    parts, unusable_part,
};

/// The `content` of a message that holds text only, if there is any.
pub(super) fn text(message: &Object) -> Result<Option<String>> {
    members::read(message, "content", |value| {
        parts(value, |part, kind| match kind {
            "text" | "refusal" => members::required(part, kind, string).map(Part::Text),
            other => Err(unusable_part(other, "'text'")),
        })
        .map(|content| content.text)
    })
}

/// The same of a message that needs it.
pub(super) fn required_text(message: &Object) -> Result<String> {
    text(message)?.ok_or_else(|| Problem::missing("content"))
}

/// The `content` of a user message.
pub(super) fn user(message: &Object) -> Result<UserContent> {
    members::required(message, "content", |value| {
        parts(value, |part, kind| match kind {
            "text" => members::required(part, "text", string).map(Part::Text),
            "image_url" => members::required(part, "image_url", image).map(Part::Image),
            other => Err(unusable_part(other, "'text' and 'image_url'")),
        })
    })
}

/// `{"url"}`, or the URL alone.
fn image(value: &Value) -> Result<Image> {
    match value {
        Value::String(url) => Image::from_url(url).within(|| "url".to_owned()),
        Value::Object(members) => members::required(members, "url", |value| Image::from_url(string(value)?)),
        _ => Err(Problem::invalid_type("a string or an object", value)),
    }
}
