//! JSON Schemas in files.

use oam_agent::{
    ErrorCode, json_text,
    schema::{Converted, GenerationSchema},
};
use serde_json::Value;

use crate::{
    failure::{Failure, FailureCode},
    files::InputPath,
};

/// What the root type is called where the schema has no title.
pub(crate) const ROOT_NAME: &str = "Response";

/// The schema in a file. The failure names the file.
pub(crate) fn read(path: &InputPath) -> Result<Value, Failure> {
    match path.read_json()? {
        schema @ Value::Object(_) => Ok(schema),
        other => Err(Failure::invalid_input(format!(
            "{path}: must be an object (a JSON Schema), not {}",
            json_text::abridged(&other)
        ))),
    }
}

/// What a model is held to. The failure names `source` and the place in the schema.
pub(crate) fn convert(schema: &Value, source: &str, root_name: &str) -> Result<Converted, Failure> {
    GenerationSchema::from_json_schema(schema, root_name).map_err(|error| {
        Failure::new(FailureCode::Agent(ErrorCode::InvalidSchema), format!("{source}: {error}"))
    })
}
