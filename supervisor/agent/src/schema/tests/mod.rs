mod combining;
mod conversion;
mod dialect;
mod effort;
mod limits;
mod properties;
mod references;
mod reordering;
mod validation;

use serde_json::{Value, json};

use super::{Converted, GenerationSchema, SchemaError};

fn convert(schema: &Value) -> Result<Converted, SchemaError> {
    GenerationSchema::from_json_schema(schema, "Response")
}

fn converted(schema: &Value) -> Value {
    convert(schema).unwrap().schema.json().clone()
}

fn warnings(schema: &Value) -> Vec<String> {
    convert(schema).unwrap().warnings.iter().map(ToString::to_string).collect()
}

fn error(schema: &Value) -> String {
    convert(schema).unwrap_err().to_string()
}

/// What a property with this schema becomes, whether it is required although it is listed as such, and the
/// warnings without their path.
fn property(schema: &Value) -> (Value, bool, Vec<String>) {
    let object = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
    let converted = convert(&object).unwrap();
    let json = converted.schema.json();
    let texts = converted.warnings.into_iter().map(|warning| {
        assert_eq!(warning.path, "#/properties/v", "{schema}");
        warning.text
    });
    (json["properties"]["v"].clone(), json["required"] == json!(["v"]), texts.collect())
}
