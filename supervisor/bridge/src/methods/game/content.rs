//! `content/generate`: content in the form of a schema.

use std::sync::Arc;

use oam_agent::check_tool_names;
use oam_game::{ContentGenerator, ContentRequest};
use serde::Serialize;
use serde_json::Value;

use crate::{
    coding::{self, ReadSchema},
    config::ModelUse,
    message::{BridgeError, Members, Payload},
    registry::{MethodRegistry, MethodSet, Reply, Request},
    turn_host::calls_only,
};

const GENERATE: &str = "content/generate";
const GENERATE_MEMBERS: &[&str] =
    &["prompt", "schema", "instructions", "context", "tools", "toolTimeoutSeconds", "temperature", "model"];

pub(super) struct ContentMethods;

impl MethodSet for ContentMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register(GENERATE, generate);
    }
}

#[derive(Serialize)]
struct Generated {
    content: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn generate(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, id, params } = request;
    let mut warnings = params.unknown_members(GENERATE_MEMBERS);
    let prompt = params.string("prompt")?.to_owned();
    let ReadSchema { schema, warnings: schema_warnings } =
        coding::required_schema(&params, "schema", "Content")?;
    warnings.extend(schema_warnings);
    let instructions = params.optional_string("instructions")?.map(str::to_owned);
    let model = coding::model(bridge.config(), &params, ModelUse::Request(GENERATE))?.model;
    let temperature = params.optional_number("temperature", 0.0)?;
    let tool_timeout = params.time_limit("toolTimeoutSeconds", bridge.config().tool_timeout)?;
    let tool_set = coding::optional_tools(&params, "tools", tool_timeout)?;
    check_tool_names(&tool_set.tools)?;
    warnings.extend(tool_set.warnings);

    let generator = ContentGenerator { model, instructions, temperature };
    let context = params.get("context").cloned();
    let request = ContentRequest { prompt, schema: Arc::new(schema), context, tools: tool_set.tools };
    Reply::later(async move {
        let mut host = calls_only(&bridge, Members::new().with("requestId", &id));
        let generated = generator.generate(&request, &mut host).await?;
        Ok(Payload::of(&Generated { content: generated, warnings }))
    })
}
