//! The form of the answer.

use std::sync::Arc;

use oam_agent::schema::GenerationSchema;
use serde_json::Value;

use super::{
    Dialect,
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
pub(crate) enum RequestedFormat<'a> {
    Text,
    JsonObject,
    Schema { name: String, schema: &'a Value },
}

/// The name of a schema that has none.
const UNNAMED: &str = "Response";

impl<'a> RequestedFormat<'a> {
    /// What `value` describes.
    pub(crate) fn read(value: &'a Value, dialect: Dialect) -> Result<Self> {
        let format = object(value)?;
        match members::required(format, "type", string)? {
            "text" => Ok(Self::Text),
            "json_object" => Ok(Self::JsonObject),
            "json_schema" => match dialect {
                Dialect::Chat => {
                    members::required(format, "json_schema", |value| Self::json_schema(object(value)?))
                }
                Dialect::Responses => Self::json_schema(format),
            },
            _ => Err(Problem::invalid_value("must be 'text', 'json_object' or 'json_schema'.").at("type")),
        }
    }

    fn json_schema(format: &'a Object) -> Result<Self> {
        let name = members::read(format, "name", string)?.unwrap_or_default();
        members::read(format, "strict", boolean)?;
        let schema = members::required(format, "schema", |value| object(value).map(|_| value))?;
        Ok(Self::Schema { name: type_name(name), schema })
    }

    /// A problem is one of the schema.
    pub(super) fn convert(self) -> Result<AnswerFormat> {
        match self {
            Self::Text => Ok(AnswerFormat::Text),
            Self::JsonObject => Ok(AnswerFormat::JsonObject),
            Self::Schema { name, schema } => GenerationSchema::from_json_schema(schema, &name)
                .map(|converted| AnswerFormat::Schema(Arc::new(converted.schema)))
                .map_err(|error| Problem::invalid_schema(&error)),
        }
    }
}

fn type_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}
