//! JSON Schema → the generation-schema dialect that models are constrained to.
//!
//! A game describes values in JSON Schema, which can say far more than a model can be held to. The dialect is the
//! part that is enforced: closed objects with an order, arrays with counts, ranges, choices of strings, unions,
//! and references to named types. What the dialect cannot say is told to the model in descriptions and to the
//! developer in warnings (docs/PROTOCOL.md, "JSON Schema support").
//!
//! A conversion has two halves with a small tree between them:
//!
//! ```text
//! JSON Schema ── convert, values, combine, refs ──▶ tree ── emit ──▶ dialect JSON ── types ──▶ validate, reorder
//!                (keywords: one node's members,              (named types moved              (effort: limits)
//!                 describe: notes, names: type names,         into $defs)
//!                 place: paths, budget: limits)
//! ```
//!
//! The dialect's JSON is read back by the same converter ([`GenerationSchema::from_generation_schema`]), and gives
//! itself again.

mod budget;
mod combine;
mod convert;
mod describe;
mod effort;
mod emit;
mod keywords;
mod names;
mod place;
mod refs;
mod reorder;
#[cfg(test)]
mod tests;
mod tree;
mod types;
mod validate;
mod values;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use convert::Source;
use effort::{Looks, MAX_LOOKS};
use types::Types;

/// A schema in the dialect: what a model is constrained to. Clones share everything.
#[derive(Clone)]
pub struct GenerationSchema {
    inner: Arc<Inner>,
}

struct Inner {
    json: Value,
    name: String,
    /// Read by the first check: most schemas are only shown to a model.
    types: OnceLock<Types>,
}

/// A converted schema.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The schema.
    pub schema: GenerationSchema,
    /// What is generated differently from what the JSON Schema says, in the order of the document.
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

impl fmt::Display for SchemaWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

impl SchemaError {
    fn new(path: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { path: path.to_string(), message: message.into() }
    }
}

impl GenerationSchema {
    /// Converts a JSON Schema. `root_name` names the root type when the schema has no `title`.
    ///
    /// Fails, with the place, for what no value can be generated from: unknown types, references that lead nowhere
    /// or only to themselves, more than 32 levels, and schemas that expand without measure.
    pub fn from_json_schema(schema: &Value, root_name: &str) -> Result<Converted, SchemaError> {
        convert::convert(schema, root_name, Source::JsonSchema)
    }

    /// Converts the JSON Schema of a tool's arguments, which are always an object.
    ///
    /// A root that names no type at all (`{}`) is taken as an object without properties. Any other root that is
    /// not generated as an object is an error at `#`.
    pub fn from_tool_parameters(schema: &Value, root_name: &str) -> Result<Converted, SchemaError> {
        let converted = convert::convert(schema, root_name, Source::ToolParameters)?;
        if converted.schema.is_object() {
            Ok(converted)
        } else {
            Err(SchemaError::new("#", "tool parameters must be an object"))
        }
    }

    /// Reads a schema that is already in the dialect (a restored tool), honouring its `x-order`. A schema that this
    /// module made comes back unchanged; other JSON Schema is converted without a word about what is lost.
    pub fn from_generation_schema(schema: &Value, root_name: &str) -> Result<Self, SchemaError> {
        convert::convert(schema, root_name, Source::Dialect).map(|converted| converted.schema)
    }

    fn new(json: Value, name: String) -> Self {
        Self { inner: Arc::new(Inner { json, name, types: OnceLock::new() }) }
    }

    /// The schema as JSON. It has every type it refers to in its own `$defs`.
    pub fn json(&self) -> &Value {
        &self.inner.json
    }

    /// The name of the root type.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether the schema's values are objects (rather than unions or plain values).
    pub fn is_object(&self) -> bool {
        self.json().get("properties").is_some()
    }

    /// Checks a value against the dialect; the error says in one sentence what does not fit and where.
    ///
    /// Only what the dialect enforces counts, never what is merely described to the model. `null` stands for an
    /// absent optional property, and `3.0` is an integer. A value that takes too long to check, because its many parts may be
    /// one of many types, fails as well.
    pub fn validate(&self, value: &Value) -> Result<(), String> {
        validate::validate(self.types(), value, Looks::new(MAX_LOOKS)).map(drop)
    }

    /// A value that fits, as [`reorder`](Self::reorder) leaves it.
    pub(crate) fn fit(&self, value: Value) -> Result<Value, String> {
        let looks = validate::validate(self.types(), &value, Looks::new(MAX_LOOKS))?;
        self.reorder_in(looks, value)
    }

    /// Whether it may take so long to check or reorder `value` that nobody should have to wait for it.
    pub(crate) fn is_large_for_value(&self, value: &Value) -> bool {
        self.is_large(|alternatives| effort::is_large_for_value(alternatives, value))
    }

    /// The same for a value that is still text.
    pub(crate) fn is_large_for_text(&self, text: &str) -> bool {
        self.is_large(|alternatives| effort::is_large_for_text(alternatives, text))
    }

    fn is_large(&self, is_large_for: impl FnOnce(usize) -> bool) -> bool {
        let is_to_read = self.inner.types.get().is_none();
        (is_to_read && effort::is_large_schema(&self.inner.json)) || is_large_for(self.types().alternatives())
    }

    /// The value with object members in the schema's order, unknown members last. Nothing is added, removed or
    /// converted, whether the value fits the schema or not; what lies deeper than 64 levels stays as it is.
    ///
    /// Fails only for a value that takes too long to order, as [`validate`](Self::validate) does.
    pub fn reorder(&self, value: Value) -> Result<Value, String> {
        self.reorder_in(Looks::new(MAX_LOOKS), value)
    }

    fn reorder_in(&self, looks: Looks, value: Value) -> Result<Value, String> {
        reorder::reorder(self.types(), value, looks).map_err(|_| validate::too_large())
    }

    fn types(&self) -> &Types {
        self.inner.types.get_or_init(|| Types::of(&self.inner.json))
    }
}

impl fmt::Debug for GenerationSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerationSchema")
            .field("name", &self.inner.name)
            .field("json", &self.inner.json)
            .finish()
    }
}

/// Compares what the schemas say, not their member order or what has been compiled.
impl PartialEq for GenerationSchema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.inner.name == other.inner.name && self.inner.json == other.inner.json)
    }
}
