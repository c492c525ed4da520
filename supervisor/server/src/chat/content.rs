//! What a message says: text, or parts.

use serde_json::Value;

use super::{
    image::Image,
    members::{self, Object, element, string},
    problem::{Problem, Result, Within},
};

/// What a user says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UserContent {
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
}

/// The `content` of a message that holds text only, if there is any.
pub(super) fn text(message: &Object) -> Result<Option<String>> {
    members::read(message, "content", |value| {
        read(value, |part, kind| match kind {
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
        read(value, |part, kind| match kind {
            "text" => members::required(part, "text", string).map(Part::Text),
            "image_url" => members::required(part, "image_url", image).map(Part::Image),
            other => Err(unusable_part(other, "'text' and 'image_url'")),
        })
    })
}

enum Part<'a> {
    Text(&'a str),
    Image(Image),
}

/// Texts of parts are joined by line ends.
fn read<'a>(value: &'a Value, part: impl Fn(&'a Object, &'a str) -> Result<Part<'a>>) -> Result<UserContent> {
    let parts = match value {
        Value::String(text) => return Ok(UserContent { text: text.clone(), images: Vec::new() }),
        Value::Array(parts) => parts,
        _ => return Err(Problem::invalid_type("a string or an array of parts", value)),
    };
    let mut content = UserContent::default();
    let mut is_first = true;
    for (j, value) in parts.iter().enumerate() {
        let read = || {
            let members = element(value)?;
            part(members, members::required(members, "type", string)?)
        };
        match read().within(|| format!("[{j}]"))? {
            Part::Text(text) => {
                if !is_first {
                    content.text.push('\n');
                }
                content.text.push_str(text);
                is_first = false;
            }
            Part::Image(image) => content.images.push(image),
        }
    }
    Ok(content)
}

fn unusable_part(kind: &str, usable: &str) -> Problem {
    let kind = crate::api_error::echo(kind);
    Problem::invalid_value(format!("is '{kind}'; only {usable} can be used here.")).at("type")
}

/// `{"url"}`, or the URL alone.
fn image(value: &Value) -> Result<Image> {
    match value {
        Value::String(url) => Image::from_url(url).within(|| "url".to_owned()),
        Value::Object(members) => members::required(members, "url", |value| Image::from_url(string(value)?)),
        _ => Err(Problem::invalid_type("a string or an object", value)),
    }
}
