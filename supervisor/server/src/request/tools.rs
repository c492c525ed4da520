//! The tools of the client, and which of them the model may or must call.

use std::collections::HashSet;

use oam_agent::{RESPOND_DIRECTLY, Tool, ToolChoice, ToolDefinition, ToolName};
use serde_json::{Value, json};

use super::{
    Dialect,
    members::{self, Object, array, element, object, string},
    problem::{Problem, Result, Within, must_be},
};
use crate::api_error::echo;

/// How a request wants tools used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolUse {
    /// What is asked of the first step.
    pub(crate) choice: ToolChoice,
    /// The only tools that may be called; `None` for all.
    pub(crate) only: Option<HashSet<String>>,
}

/// The client's tools; `is_taken` knows the names of others.
pub(crate) fn read(body: &Object, dialect: Dialect, is_taken: impl Fn(&str) -> bool) -> Result<Vec<Tool>> {
    let Some(tools) = members::read(body, "tools", array)? else { return Ok(Vec::new()) };
    let mut names = HashSet::new();
    tools
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let tool = tool(value, dialect, |name| !names.contains(name) && !is_taken(name));
            let tool = tool.within(|| format!("tools[{i}]"))?;
            names.insert(tool.name().as_str().to_owned());
            Ok(tool)
        })
        .collect()
}

fn tool(value: &Value, dialect: Dialect, is_free: impl FnOnce(&str) -> bool) -> Result<Tool> {
    let tool = element(value)?;
    expect_function_type(tool)?;
    match dialect {
        Dialect::Chat => members::required(tool, "function", |value| function(object(value)?, is_free)),
        Dialect::Responses => function(tool, is_free),
    }
}

/// `type`, absent or `function`.
fn expect_function_type(tool: &Object) -> Result<()> {
    members::read(tool, "type", |value| match string(value)? {
        "function" => Ok(()),
        other => {
            let predicate = format!("is '{}'; only tools of type 'function' are possible.", echo(other));
            Err(Problem::invalid_value(predicate))
        }
    })?;
    Ok(())
}

fn function(function: &Object, is_free: impl FnOnce(&str) -> bool) -> Result<Tool> {
    let name = members::required(function, "name", |value| {
        let name = tool_name(string(value)?)?;
        if name.as_str() == RESPOND_DIRECTLY || !is_free(name.as_str()) {
            return Err(Problem::invalid_value(format!("'{name}' is taken; give the tool another name.")));
        }
        Ok(name)
    })?;
    let description = members::read(function, "description", string)?.unwrap_or_default();
    let without = json!({"type": "object", "properties": {}});
    let parameters = members::read(function, "parameters", |value| object(value).map(|_| value))?;
    let parameters = parameters.unwrap_or(&without);
    let (definition, _warnings) = ToolDefinition::from_json_schema(name, description, parameters)
        .map_err(|error| Problem::invalid_schema(&error).at("parameters"))?;
    Ok(Tool::client(definition))
}

/// OpenAI's rule has no dot.
fn tool_name(text: &str) -> Result<ToolName> {
    ToolName::new(text).filter(|_| !text.contains('.')).ok_or_else(|| {
        let predicate = format!("must be 1 to 64 of A-Z a-z 0-9 _ -; got '{}'.", echo(text));
        Problem::invalid_value(predicate)
    })
}

/// `tool_choice`; `is_known` knows the names of all tools, `has_tools` whether there are any.
pub(crate) fn tool_use(
    body: &Object,
    dialect: Dialect,
    has_tools: bool,
    is_known: impl Fn(&str) -> bool,
) -> Result<ToolUse> {
    let choice = |choice| ToolUse { choice, only: None };
    let read = members::read(body, "tool_choice", |value| match value {
        Value::String(text) => match &**text {
            "auto" => Ok(choice(ToolChoice::Auto)),
            "none" => Ok(choice(ToolChoice::None)),
            "required" if has_tools => Ok(choice(ToolChoice::Required)),
            "required" => Err(Problem::invalid_value("is 'required', and there are no tools.")),
            _ => Err(Problem::invalid_value("must be 'auto', 'none', 'required' or an object.")),
        },
        Value::Object(object) => match members::required(object, "type", string)? {
            "function" => {
                known(&function_name(object, dialect)?, &is_known).map(|name| choice(ToolChoice::Tool(name)))
            }
            "allowed_tools" => allowed_tools(object, dialect, &is_known),
            _ => Err(Problem::invalid_value("must be 'function' or 'allowed_tools'.").at("type")),
        },
        _ => Err(Problem::unnamed(must_be("a string or an object", value))),
    })?;
    Ok(read.unwrap_or(choice(ToolChoice::Auto)))
}

/// Of `{"type": "function", "function": {"name"}}` in chat completions, or of `{"name"}`.
fn function_name(value: &Object, dialect: Dialect) -> Result<String> {
    let is_flat =
        members::optional(value, "function").is_none() && members::optional(value, "name").is_some();
    if is_flat || dialect == Dialect::Responses {
        return members::required(value, "name", string).map(str::to_owned);
    }
    members::required(value, "function", |value| {
        members::required(object(value)?, "name", string).map(str::to_owned)
    })
}

fn known(name: &str, is_known: impl Fn(&str) -> bool) -> Result<String> {
    if is_known(name) {
        return Ok(name.to_owned());
    }
    Err(Problem::new(
        "unknown_tool",
        format!("names the tool '{}', which is not among the tools.", echo(name)),
    ))
}

fn allowed_tools(choice: &Object, dialect: Dialect, is_known: impl Fn(&str) -> bool) -> Result<ToolUse> {
    let (mode, names) = match dialect {
        Dialect::Chat => {
            members::required(choice, "allowed_tools", |value| mode_and_names(object(value)?, dialect))
        }
        Dialect::Responses => mode_and_names(choice, dialect),
    }?;
    let only = names.iter().map(|name| known(name, &is_known)).collect::<Result<_>>()?;
    Ok(ToolUse { choice: mode, only: Some(only) })
}

fn mode_and_names(allowed: &Object, dialect: Dialect) -> Result<(ToolChoice, Vec<String>)> {
    let mode = members::read(allowed, "mode", |value| match value.as_str() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("required") => Ok(ToolChoice::Required),
        _ => Err(Problem::invalid_value("must be 'auto' or 'required'.")),
    })?;
    let names = members::required(allowed, "tools", |value| {
        let names = array(value)?.iter().enumerate();
        names
            .map(|(i, value)| function_name(element(value)?, dialect).within(|| format!("[{i}]")))
            .collect::<Result<Vec<_>>>()
    })?;
    Ok((mode.unwrap_or_default(), names))
}
