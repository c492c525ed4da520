//! Tools: what the model is told of them, and who answers their calls.

use std::{collections::HashMap, time::Duration};

use serde_json::{Map, Value, json};

use super::error::RequestError;

/// What the model gets to know of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAnswer {
    /// It worked. Text as it is, other values as JSON; null is the empty text.
    Output(Value),
    /// It failed: the model reads why, and may try something else.
    Failure(String),
}

impl ToolAnswer {
    /// The answer to a call that nobody handles.
    pub fn not_offered(tool: &str) -> Self {
        Self::Failure(format!("The game does not offer the tool '{tool}'."))
    }

    pub(super) fn into_result(self) -> Value {
        match self {
            Self::Output(Value::Null) => json!({"output": ""}),
            Self::Output(output) => json!({"output": output}),
            Self::Failure(message) => json!({"output": message, "isError": true}),
        }
    }
}

/// Tools by name: definitions for the model, and handlers for the calls. `H` is the owner's kind of handler.
#[derive(Debug)]
pub struct Toolbox<H> {
    definitions: Vec<Value>,
    handlers: HashMap<String, H>,
}

impl<H> Default for Toolbox<H> {
    fn default() -> Self {
        Self { definitions: Vec::new(), handlers: HashMap::new() }
    }
}

impl<H> Toolbox<H> {
    /// Adds a tool, or replaces the one of that name. `parameters` is a JSON Schema; null is a tool without arguments.
    pub fn define(&mut self, name: &str, description: &str, parameters: Value, limit: Option<Duration>) {
        let mut definition = Map::new();
        definition.insert("name".to_owned(), name.into());
        definition.insert("description".to_owned(), description.into());
        if !parameters.is_null() {
            definition.insert("parameters".to_owned(), parameters);
        }
        if let Some(limit) = limit {
            definition.insert("timeoutSeconds".to_owned(), limit.as_secs_f64().into());
        }
        self.definitions.retain(|known| known["name"] != name);
        self.definitions.push(Value::Object(definition));
    }

    /// Says who answers the calls of a tool, which may be defined elsewhere.
    pub fn handle(&mut self, name: &str, handler: H) {
        self.handlers.insert(name.to_owned(), handler);
    }

    /// Who answers the calls of a tool.
    pub fn handler(&self, name: &str) -> Option<&H> {
        self.handlers.get(name)
    }

    /// All definitions, in the order in which they were added.
    pub fn definitions(&self) -> &[Value] {
        &self.definitions
    }

    /// `tools` with the definitions in the place of names. Fails at a name that is not defined.
    pub fn resolve(&self, tools: &[Value]) -> Result<Vec<Value>, RequestError> {
        tools
            .iter()
            .map(|tool| match tool {
                Value::String(name) => self.definition(name),
                definition => Ok(definition.clone()),
            })
            .collect()
    }

    fn definition(&self, name: &str) -> Result<Value, RequestError> {
        let known = self.definitions.iter().find(|definition| definition["name"] == name);
        known.cloned().ok_or_else(|| {
            RequestError::invalid_params(format!(
                "'tools': there is no tool '{name}'; add it first, or give its definition."
            ))
        })
    }
}
