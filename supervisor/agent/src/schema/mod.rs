//! JSON Schema → the generation-schema dialect that models are constrained to.
//! (placeholder: being written)

use serde_json::Value;

/// A schema in the dialect.
#[derive(Debug, Clone)]
pub struct GenerationSchema {
    json: Value,
}

/// A converted schema.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The schema.
    pub schema: GenerationSchema,
    /// What cannot be enforced.
    pub warnings: Vec<SchemaWarning>,
}

/// Something in a JSON Schema that is generated differently from what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaWarning {
    /// The place in the schema, `#/properties/x`.
    pub path: String,
    /// What about it.
    pub text: String,
}

impl std::fmt::Display for SchemaWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Why a JSON Schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at {path})")]
pub struct SchemaError {
    /// The place in the schema, `#/properties/x`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl GenerationSchema {
    /// Converts a JSON Schema. `root_name` names the root type when the schema has no `title`.
    pub fn from_json_schema(schema: &Value, root_name: &str) -> Result<Converted, SchemaError> {
        let _ = root_name;
        Ok(Converted { schema: Self { json: schema.clone() }, warnings: vec![] })
    }

    /// Reads a schema that is already in the dialect (a restored tool), honouring its `x-order`.
    pub fn from_generation_schema(schema: &Value, root_name: &str) -> Result<Self, SchemaError> {
        let _ = root_name;
        Ok(Self { json: schema.clone() })
    }

    /// The schema as JSON.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The name of the root type.
    pub fn name(&self) -> &str {
        self.json["title"].as_str().unwrap_or("Response")
    }

    /// Checks a value against the dialect; the error says in one sentence what does not fit and where.
    pub fn validate(&self, value: &Value) -> Result<(), String> {
        let _ = value;
        Ok(())
    }

    /// [`validate`](Self::validate) for an object that is not wrapped in a [`Value`].
    pub fn validate_object(&self, members: &serde_json::Map<String, Value>) -> Result<(), String> {
        self.validate(&Value::Object(members.clone()))
    }

    /// The value with object members in the schema's order.
    pub fn reorder(&self, value: Value) -> Value {
        value
    }
}
