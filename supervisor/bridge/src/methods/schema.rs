//! `schema/validate` and `tools/validate`: conversion without running a model.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::{
    coding,
    message::BridgeError,
    registry::{MethodRegistry, MethodSet, Reply, Request},
};

pub(super) struct SchemaMethods;

impl MethodSet for SchemaMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register("schema/validate", validate_schema);
        registry.register("tools/validate", validate_tools);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SchemaResult<'a> {
    warnings: Vec<String>,
    generation_schema: &'a Value,
}

fn validate_schema(request: Request) -> Result<Reply, BridgeError> {
    let name = request.params.optional_string("name")?.unwrap_or("Response");
    let converted = coding::required_schema(&request.params, "schema", name)?;
    Reply::now(&SchemaResult { warnings: converted.warnings, generation_schema: converted.schema.json() })
}

#[derive(Serialize)]
struct ToolsResult<'a> {
    tools: Vec<ToolResult<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    name: &'a str,
    warnings: &'a [String],
    generation_schema: &'a Value,
}

fn validate_tools(request: Request) -> Result<Reply, BridgeError> {
    let set = coding::required_tools(&request.params, "tools", request.bridge.config().tool_timeout)?;
    let tools = set
        .tools
        .iter()
        .zip(&set.schema_warnings)
        .map(|(tool, warnings)| ToolResult {
            name: tool.name().as_str(),
            warnings,
            generation_schema: tool.definition.parameters.json(),
        })
        .collect();
    Reply::now(&ToolsResult { tools, warnings: &set.warnings })
}
