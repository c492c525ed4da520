//! The form of the answer: `response_format`.

use std::sync::Arc;

use oam_agent::schema::GenerationSchema;
use serde_json::Value;

use super::{
    members::{self, Object, boolean, object, string},
    problem::{Problem, Result},
};

/// The form of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AnswerFormat {
    /// Prose.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that fits.
    Schema(Arc<GenerationSchema>),
}

/// What is asked for; the schema has not been looked at.
#[derive(Debug)]
pub(super) enum RequestedFormat<'a> {
    Text,
    JsonObject,
    Schema { name: String, schema: &'a Value },
}

/// The name of a schema that has none.
const UNNAMED: &str = "Response";

pub(super) fn read(body: &Object) -> Result<RequestedFormat<'_>> {
    Ok(members::read(body, "response_format", format)?.unwrap_or(RequestedFormat::Text))
}

fn format(value: &Value) -> Result<RequestedFormat<'_>> {
    let format = object(value)?;
    match members::required(format, "type", string)? {
        "text" => Ok(RequestedFormat::Text),
        "json_object" => Ok(RequestedFormat::JsonObject),
        "json_schema" => members::required(format, "json_schema", json_schema),
        _ => Err(Problem::invalid_value("must be 'text', 'json_object' or 'json_schema'.").at("type")),
    }
}

fn json_schema(value: &Value) -> Result<RequestedFormat<'_>> {
    let members = object(value)?;
    let name = members::read(members, "name", string)?.unwrap_or_default();
    members::read(members, "strict", boolean)?;
    let schema = members::required(members, "schema", |value| object(value).map(|_| value))?;
    Ok(RequestedFormat::Schema { name: type_name(name), schema })
}

fn type_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

impl RequestedFormat<'_> {
    pub(super) fn convert(self) -> Result<AnswerFormat> {
        match self {
            Self::Text => Ok(AnswerFormat::Text),
            Self::JsonObject => Ok(AnswerFormat::JsonObject),
            Self::Schema { name, schema } => GenerationSchema::from_json_schema(schema, &name)
                .map(|converted| AnswerFormat::Schema(Arc::new(converted.schema)))
                .map_err(|error| {
                    Problem::new("invalid_schema", format!("cannot be used: {error}."))
                        .at("response_format.json_schema.schema")
                }),
        }
    }
}
