//! Tools as resources of the inspector.

use std::time::Duration;

use godot::{builtin::AnyArray, prelude::*};
use serde_json::{Map, Value};

use super::{json, link::SharedTools};
use crate::client::{RequestError, Toolbox};

/// What the model is told of a tool. Who answers its calls is said by `handle_tool` of the node that has it.
#[derive(GodotClass)]
#[class(init, base = Resource)]
pub(super) struct OamTool {
    /// Letters, digits, `_`, `-` and `.`; unique among the tools of a node.
    #[export]
    name: GString,
    /// What it does, and what it says. The model goes by this.
    #[export(multiline)]
    description: GString,
    /// A JSON Schema of its arguments. Empty: it has none.
    #[export]
    parameters: VarDictionary,
    /// How long the game may take to answer, in seconds. 0 is the node's own limit.
    #[export(range = (0.0, 86400.0, or_greater, suffix = "s"))]
    timeout_seconds: f64,
    base: Base<Resource>,
}

/// Adds the tools that the inspector lists for a node.
pub(super) fn define_all(tools: &Array<Gd<OamTool>>, toolbox: &SharedTools) -> Result<(), RequestError> {
    // As the editor keeps them: a place that nothing was put into yet holds null.
    let places: &AnyArray = tools;
    for (index, tool) in places.iter_shared().enumerate() {
        let tool = tool.try_to::<Gd<OamTool>>().map_err(|_| {
            RequestError::invalid_params(format!(
                "'tools[{index}]' is empty: put an OamTool there, or remove it."
            ))
        })?;
        let tool = tool.bind();
        let (name, description) = (tool.name.to_string(), tool.description.to_string());
        define(&mut toolbox.borrow_mut(), &name, &description, &tool.parameters, tool.timeout_seconds)?;
    }
    Ok(())
}

/// Adds a tool as scripts and the inspector describe it.
fn define<H>(
    toolbox: &mut Toolbox<H>,
    name: &str,
    description: &str,
    parameters: &VarDictionary,
    timeout_seconds: f64,
) -> Result<(), RequestError> {
    let schema = json::to_object(&format!("parameters of tool '{name}'"), parameters)?;
    let schema = if schema.is_empty() { Value::Null } else { schema.into() };
    toolbox.define(name, description, schema, limit(name, timeout_seconds)?);
    Ok(())
}

fn limit(tool: &str, seconds: f64) -> Result<Option<Duration>, RequestError> {
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| {
        RequestError::invalid_params(format!(
            "The time limit of tool '{tool}' must be 0 or more seconds; got {seconds}."
        ))
    })?;
    Ok((!limit.is_zero()).then_some(limit))
}

/// Adds a tool and its handler. A definition that cannot be used is told in the log, and the tool is not there.
pub(super) fn add(
    tools: &SharedTools,
    name: &GString,
    description: &GString,
    parameters: &VarDictionary,
    handler: Callable,
    timeout_seconds: f64,
) {
    let name = name.to_string();
    let mut tools = tools.borrow_mut();
    match define(&mut tools, &name, &description.to_string(), parameters, timeout_seconds) {
        Ok(()) => tools.handle(&name, handler),
        Err(error) => godot_error!("tool '{name}' was not added: {}", error.message),
    }
}

/// Replaces the names in the param `tools` by definitions.
pub(super) fn resolve(tools: &SharedTools, params: &mut Map<String, Value>) -> Result<(), RequestError> {
    if let Some(Value::Array(named)) = params.get_mut("tools") {
        *named = tools.borrow().resolve(named)?;
    }
    Ok(())
}
