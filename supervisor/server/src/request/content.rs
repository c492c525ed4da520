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

/// What a part says.
pub(crate) enum Part<'a> {
    Text(&'a str),
    Image(Image),
}

/// A text, or parts, which `part` reads by their type. Texts of parts are joined by line ends.
pub(crate) fn parts<'a>(
    value: &'a Value,
    part: impl Fn(&'a Object, &'a str) -> Result<Part<'a>>,
) -> Result<UserContent> {
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

/// One of another type than those that are usable.
pub(crate) fn unusable_part(kind: &str, usable: &str) -> Problem {
    let kind = crate::api_error::echo(kind);
    Problem::invalid_value(format!("is '{kind}'; only {usable} can be used here.")).at("type")
}
