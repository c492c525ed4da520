//! Tools: what the model may call, who executes it, and what comes back.

use std::{borrow::Borrow, fmt, future::Future, sync::Arc, time::Duration};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    event::Execution,
    json_text,
    model::BoxFuture,
    schema::{GenerationSchema, SchemaError, SchemaWarning},
};

/// A tool's name: 1–64 of `A–Z a–z 0–9 _ - .` (docs/PROTOCOL.md, Tool definitions).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// The built-in tool that lets the model say it needs no other tool. The name is reserved.
pub const RESPOND_DIRECTLY: &str = "respond_directly";

impl ToolName {
    /// The longest name, in bytes.
    pub const MAX_LEN: usize = 64;

    /// A name, if `text` is one.
    pub fn new(text: &str) -> Option<Self> {
        let valid = (1..=Self::MAX_LEN).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        valid.then(|| Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

/// What a model knows of a tool.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The name the model calls it by.
    pub name: ToolName,
    /// What the tool does and returns; the model decides from it.
    pub description: String,
    /// The form of its arguments: always an object.
    pub parameters: Arc<GenerationSchema>,
}

impl ToolDefinition {
    /// A definition from a JSON Schema of the arguments, with the warnings of its conversion. Arguments are an
    /// object: [`GenerationSchema::from_tool_parameters`] says what that means for the schema.
    pub fn from_json_schema(
        name: ToolName,
        description: impl Into<String>,
        parameters: &Value,
    ) -> Result<(Self, Vec<SchemaWarning>), SchemaError> {
        let converted =
            GenerationSchema::from_tool_parameters(parameters, &arguments_type_name(name.as_str()))?;
        let definition =
            Self { name, description: description.into(), parameters: Arc::new(converted.schema) };
        Ok((definition, converted.warnings))
    }

    /// Whether models read the same of both.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.parameters.json() == other.parameters.json()
    }
}

/// The type name of a tool's arguments: `open_gate` → `OpenGateArguments`.
pub(crate) fn arguments_type_name(tool: &str) -> String {
    let mut name = String::with_capacity(tool.len() + 9);
    for part in tool.split(|c: char| !c.is_alphanumeric()) {
        let mut chars = part.chars();
        name.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(chars.as_str());
    }
    name.push_str("Arguments");
    name
}

/// A tool of an agent: its definition, and who executes it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// What the model knows of it.
    pub definition: Arc<ToolDefinition>,
    /// How long one call may take; `None` waits without end.
    pub timeout: Option<Duration>,
    /// Who executes it.
    pub executor: ToolExecutor,
    /// Whether a call reaches the tool even when its arguments do not fit the parameters. Such a tool makes the best of
    /// them, or says itself what is wrong.
    pub is_lenient: bool,
}

/// Who executes a tool.
#[derive(Clone)]
pub enum ToolExecutor {
    /// The client or host: the agent asks its [`TurnHost`](crate::TurnHost) and waits for the answer.
    Client,
    /// A function in this process.
    Local(LocalTool),
}

/// A tool function: takes the arguments, returns an output or the text of an error.
pub type LocalTool = Arc<dyn Fn(Arc<ToolCall>) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

impl ToolExecutor {
    pub(crate) fn execution(&self) -> Execution {
        match self {
            Self::Client => Execution::Client,
            Self::Local(_) => Execution::Local,
        }
    }
}

impl fmt::Debug for ToolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "Client",
            Self::Local(_) => "Local",
        })
    }
}

impl Tool {
    /// The time that a client has to answer a call, unless told otherwise.
    pub const CLIENT_TIMEOUT: Duration = Duration::from_mins(2);
    /// The time that a local tool may take, unless told otherwise.
    pub const LOCAL_TIMEOUT: Duration = Duration::from_mins(1);

    /// A tool that the client executes, with the default time limit.
    pub fn client(definition: ToolDefinition) -> Self {
        Self {
            definition: Arc::new(definition),
            timeout: Some(Self::CLIENT_TIMEOUT),
            executor: ToolExecutor::Client,
            is_lenient: false,
        }
    }

    /// A tool that `function` executes in this process, with the default time limit. Its future is dropped at
    /// the limit and when the turn is cancelled.
    pub fn local<F, Fut>(definition: ToolDefinition, function: F) -> Self
    where
        F: Fn(Arc<ToolCall>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolOutput> + Send + 'static,
    {
        Self {
            definition: Arc::new(definition),
            timeout: Some(Self::LOCAL_TIMEOUT),
            executor: ToolExecutor::Local(Arc::new(move |call| Box::pin(function(call)))),
            is_lenient: false,
        }
    }

    /// The same tool, called with whatever arguments the model wrote.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// The same tool with another time limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The tool's name.
    pub fn name(&self) -> &ToolName {
        &self.definition.name
    }
}

/// The public id of a call: new for every call and not the model's own id of it, unless [`CallIds`](crate::CallIds) says
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    const RANDOM_CHARS: usize = 24;

    /// A new id: `call_` and 24 random letters and digits.
    pub fn random() -> Self {
        let mut text = String::with_capacity(5 + Self::RANDOM_CHARS);
        text.push_str("call_");
        text.extend(std::iter::repeat_with(fastrand::alphanumeric).take(Self::RANDOM_CHARS));
        Self(text.into())
    }

    /// The id of a saved call.
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool call as hosts and clients see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// Identifies the call.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments; they fit the tool's parameters unless the call was refused for them, or the tool is
    /// [lenient](Tool::is_lenient).
    pub arguments: Map<String, Value>,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutput {
    /// Text.
    Text(String),
    /// A JSON value.
    Json(Value),
    /// The tool failed; the model sees the text after `Error: ` and may recover.
    Error(String),
}

impl ToolOutput {
    /// The text that the model sees.
    pub fn model_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) => json_text::compact(value),
            Self::Error(message) => format!("Error: {message}"),
        }
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

impl Serialize for ToolOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) | Self::Error(text) => serializer.serialize_str(text),
            Self::Json(value) => value.serialize(serializer),
        }
    }
}

/// A finished call: the element of a response's `toolCalls`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRecord {
    /// The call.
    pub call: Arc<ToolCall>,
    /// What came back.
    pub output: ToolOutput,
    /// Wall time from start to end; zero for a call that was refused.
    pub duration: Duration,
}

impl Serialize for ToolRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut record = serializer.serialize_struct("ToolRecord", 4)?;
        record.serialize_field("call", &*self.call)?;
        record.serialize_field("output", &self.output)?;
        record.serialize_field("isError", &self.output.is_error())?;
        #[expect(clippy::cast_precision_loss, reason = "a call lasts less than 2^53 ms")]
        record
            .serialize_field("durationSeconds", &((self.duration.as_micros() as f64 / 1e3).round() / 1e3))?;
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "open_gate", "A-1.b", &"x".repeat(64)] {
            assert!(ToolName::new(good).is_some(), "{good}");
        }
        for bad in ["", " a", "ö", "a b", "a/b", &"x".repeat(65)] {
            assert!(ToolName::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn argument_types_are_named_after_the_tool() {
        assert_eq!(arguments_type_name("open_gate"), "OpenGateArguments");
        assert_eq!(arguments_type_name("a.b-c"), "ABCArguments");
        assert_eq!(arguments_type_name("__"), "Arguments");
    }
}
