//! Tools that a character brings along: they run here and at once, whatever arguments a model sends.

use std::sync::Arc;

use oam_agent::{Tool, ToolCall, ToolDefinition, ToolName, ToolOutput};
use serde_json::Value;

/// A tool that `run` executes. Its name and parameters are fixed here in the program. `Err` is what the model is told.
pub(crate) fn local_tool(
    name: &str,
    description: impl Into<String>,
    parameters: &Value,
    run: impl Fn(&ToolCall) -> Result<ToolOutput, String> + Send + Sync + 'static,
) -> Tool {
    let name = ToolName::new(name).expect("the name is one of a tool");
    let (definition, _) = ToolDefinition::from_json_schema(name, description, parameters)
        .expect("the parameters are a schema of an object");
    let run = move |call: Arc<ToolCall>| std::future::ready(run(&call).unwrap_or_else(ToolOutput::Error));
    Tool::local(definition, run).lenient()
}
