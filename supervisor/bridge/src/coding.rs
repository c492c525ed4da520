//! Values that several methods share: options, tool choices, tools, schemas, models, histories.
//!
//! Each reader names the parameter it complains about; paths such as `tools[0].parameters` lead to the place.

mod npc;
mod persona;

use std::{borrow::Cow, collections::HashSet, sync::Arc, time::Duration};

use oam_agent::{
    AgentOptions, GenerationOptions, Model, Sampling, Script, ScriptedModel, Tool, ToolChoice,
    ToolDefinition, ToolExecutor, ToolName, ToolPolicy, UnavailableModel, UnavailableReason, json_text,
    schema::GenerationSchema,
    transcript::json::{SavedTranscript, UnreadableTool},
};
use serde_json::{Map, Value, json};

use crate::{
    config::{BridgeConfig, ModelUse},
    message::BridgeError,
    params::Params,
};

pub(crate) use npc::{memory, npc_options};
pub(crate) use persona::persona;

/// A definition that nests deeper would be saved, but could not be sent back in a message.
const DEEPEST_TOOL: usize = 90;

/// Tools beyond this number make the on-device model unreliable.
const RECOMMENDED_TOOLS: usize = 5;

const OPTION_MEMBERS: &[&str] = &[
    "toolChoice",
    "maxToolRounds",
    "maxToolCalls",
    "enabledTools",
    "temperature",
    "maxResponseTokens",
    "sampling",
    "toolTimeoutSeconds",
    "trimHistory",
    "reservedResponseTokens",
    "maxAttempts",
];

/// The `options` of `session/create`.
pub(crate) struct SessionOptions {
    pub(crate) agent: AgentOptions,
    pub(crate) tool_timeout: Option<Duration>,
}

impl SessionOptions {
    pub(crate) fn read(
        params: &Params<'_>,
        tool_timeout: Option<Duration>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, BridgeError> {
        let defaults = AgentOptions::default();
        let Some(options) = params.optional_object("options")? else {
            return Ok(Self { agent: defaults, tool_timeout });
        };
        warnings.extend(options.unknown_members(OPTION_MEMBERS));
        let policy = policy(&options, &defaults.policy)?;
        let generation = GenerationOptions {
            temperature: options.optional_number("temperature", 0.0)?,
            max_response_tokens: optional_count(&options, "maxResponseTokens", 1)?,
            sampling: sampling(&options, "sampling")?,
        };
        let tool_timeout = options.time_limit("toolTimeoutSeconds", tool_timeout)?;
        let agent = AgentOptions {
            policy: policy.unwrap_or(defaults.policy),
            generation,
            trim_history: options.optional_bool("trimHistory")?.unwrap_or(defaults.trim_history),
            reserved_response_tokens: optional_count(&options, "reservedResponseTokens", 0)?
                .unwrap_or(defaults.reserved_response_tokens),
            max_attempts: optional_count(&options, "maxAttempts", 1)?.unwrap_or(defaults.max_attempts),
            call_ids: defaults.call_ids,
        };
        Ok(Self { agent, tool_timeout })
    }
}

/// The policy members of `params` over `base`; `None` when there are none.
pub(crate) fn policy(params: &Params<'_>, base: &ToolPolicy) -> Result<Option<ToolPolicy>, BridgeError> {
    let choice = tool_choice(params, "toolChoice")?;
    let max_tool_rounds = optional_count(params, "maxToolRounds", 0)?;
    let max_tool_calls = optional_count(params, "maxToolCalls", 0)?;
    let enabled_tools = params.optional_texts("enabledTools")?;
    if choice.is_none() && max_tool_rounds.is_none() && max_tool_calls.is_none() && enabled_tools.is_none() {
        return Ok(None);
    }
    Ok(Some(ToolPolicy {
        choice: choice.unwrap_or_else(|| base.choice.clone()),
        max_tool_rounds: max_tool_rounds.unwrap_or(base.max_tool_rounds),
        max_tool_calls: max_tool_calls.unwrap_or(base.max_tool_calls),
        enabled_tools: enabled_tools.or_else(|| base.enabled_tools.clone()),
    }))
}

const TOOL_CHOICE_FORMS: &str = "\"auto\", \"none\", \"required\", \"explicit\" or {\"tool\": \"<name>\"}";

/// The tool choice at `key`, if given.
pub(crate) fn tool_choice(params: &Params<'_>, key: &str) -> Result<Option<ToolChoice>, BridgeError> {
    let Some(value) = params.get(key) else { return Ok(None) };
    let choice = match value {
        Value::String(name) => match name.as_str() {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "required" => Some(ToolChoice::Required),
            "explicit" => Some(ToolChoice::Explicit),
            _ => None,
        },
        Value::Object(members) => {
            let tool = members.get("tool").filter(|tool| !tool.is_null());
            let name = tool.or_else(|| members.get("function")?.get("name"));
            let name = name.and_then(Value::as_str).filter(|name| !name.is_empty()).ok_or_else(|| {
                let path = params.path(key);
                BridgeError::invalid_params(format!("'{path}' object must be {{\"tool\": \"<name>\"}}."))
            })?;
            Some(ToolChoice::Tool(name.to_owned()))
        }
        _ => None,
    };
    choice.map(Some).ok_or_else(|| params.mistyped(key, TOOL_CHOICE_FORMS))
}

fn sampling(params: &Params<'_>, key: &str) -> Result<Option<Sampling>, BridgeError> {
    let forms = || params.mistyped(key, "\"greedy\", {\"topK\": n, \"seed\"?} or {\"topP\": p, \"seed\"?}");
    match params.get(key) {
        None => Ok(None),
        Some(Value::String(name)) if name == "greedy" => Ok(Some(Sampling::Greedy)),
        Some(value @ Value::Object(_)) => {
            let members = Params::at(&params.path(key), value)?;
            let seed = members.optional_integer("seed", 0)?.map(i64::unsigned_abs);
            if let Some(k) = optional_count(&members, "topK", 1)? {
                Ok(Some(Sampling::TopK { k, seed }))
            } else if let Some(p) = members.optional_number_in("topP", 0.0, 1.0)? {
                Ok(Some(Sampling::TopP { p, seed }))
            } else {
                Err(forms())
            }
        }
        Some(_) => Err(forms()),
    }
}

/// An integer of at least `min`. Counts that no run could reach mean the largest that fits.
pub(crate) fn optional_count(params: &Params<'_>, key: &str, min: i64) -> Result<Option<u32>, BridgeError> {
    let count = params.optional_integer(key, min)?;
    Ok(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
}

/// A converted schema with its warnings as text.
pub(crate) struct ReadSchema {
    pub(crate) schema: GenerationSchema,
    pub(crate) warnings: Vec<String>,
}

/// The schema at `key`, if given. `name` names its root type when it has no title.
pub(crate) fn optional_schema(
    params: &Params<'_>,
    key: &str,
    name: &str,
) -> Result<Option<ReadSchema>, BridgeError> {
    let Some(json_schema) = json_schema(params, key)? else { return Ok(None) };
    let converted = GenerationSchema::from_json_schema(&json_schema, name)
        .map_err(|error| BridgeError::invalid_schema(&params.path(key), &error))?;
    let warnings = converted.warnings.iter().map(ToString::to_string).collect();
    Ok(Some(ReadSchema { schema: converted.schema, warnings }))
}

/// The schema at `key`.
pub(crate) fn required_schema(params: &Params<'_>, key: &str, name: &str) -> Result<ReadSchema, BridgeError> {
    params.value(key)?;
    optional_schema(params, key, name)?.ok_or_else(|| params.mistyped(key, "a JSON Schema object"))
}

/// A JSON Schema: an object, or a text that holds one.
fn json_schema<'a>(params: &'a Params<'_>, key: &str) -> Result<Option<Cow<'a, Value>>, BridgeError> {
    let refused = |why: &str| {
        BridgeError::invalid_params(format!("'{}' must be a JSON Schema object{why}.", params.path(key)))
    };
    match params.get(key) {
        None => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(Cow::Borrowed(value))),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(schema @ Value::Object(_)) => Ok(Some(Cow::Owned(schema))),
            Ok(_) => Err(refused("; the text holds another JSON value")),
            Err(error) => Err(refused(&format!("; the text is not JSON: {error}"))),
        },
        Some(_) => Err(refused("")),
    }
}

/// Tools as a request defines them.
#[derive(Default)]
pub(crate) struct ToolSet {
    pub(crate) tools: Vec<Tool>,
    /// The schema warnings of each tool.
    pub(crate) schema_warnings: Vec<Vec<String>>,
    /// All warnings, each beginning with its tool's name.
    pub(crate) warnings: Vec<String>,
}

/// The tool definitions at `key`; none when absent. `timeout` is the limit of tools that bring none.
pub(crate) fn optional_tools(
    params: &Params<'_>,
    key: &str,
    timeout: Option<Duration>,
) -> Result<ToolSet, BridgeError> {
    tools(&params.path(key), params.optional_array(key)?.unwrap_or_default(), timeout)
}

/// The tools that are defined at `path`.
pub(crate) fn tools(
    path: &str,
    definitions: &[Value],
    timeout: Option<Duration>,
) -> Result<ToolSet, BridgeError> {
    let mut set = ToolSet::default();
    let mut names = HashSet::new();
    for (index, definition) in definitions.iter().enumerate() {
        let (tool, schema_warnings) = tool(&format!("{path}[{index}]"), definition, timeout, &mut names)?;
        let name = tool.name();
        if tool.definition.description.is_empty() {
            set.warnings.push(format!("{name}: no description; the model may not know when to call it."));
        }
        set.warnings.extend(schema_warnings.iter().map(|warning| format!("{name}: {warning}")));
        set.schema_warnings.push(schema_warnings);
        set.tools.push(tool);
    }
    Ok(set)
}

/// The tool definitions at `key`, which must be there.
pub(crate) fn required_tools(
    params: &Params<'_>,
    key: &str,
    timeout: Option<Duration>,
) -> Result<ToolSet, BridgeError> {
    params.array(key)?;
    optional_tools(params, key, timeout)
}

/// One tool definition and its schema warnings. `names` are those of the tools before it.
fn tool(
    path: &str,
    element: &Value,
    timeout: Option<Duration>,
    names: &mut HashSet<ToolName>,
) -> Result<(Tool, Vec<String>), BridgeError> {
    let outer = Params::at(path, element)?;
    let wrapped = outer.get("function").filter(|function| function.is_object());
    let members = match wrapped {
        Some(function) => Params::at(&outer.path("function"), function)?,
        None => outer,
    };
    let name = members.string("name")?;
    let name = ToolName::new(name).ok_or_else(|| members.mistyped("name", "1-64 of A-Z a-z 0-9 _ - ."))?;
    if !names.insert(name.clone()) {
        return Err(BridgeError::invalid_params(format!("Duplicate tool name '{name}'.")));
    }
    let description = members.optional_string("description")?.unwrap_or_default();
    if let Some(execution) = members.get("execution")
        && execution != "client"
    {
        return Err(members.mistyped("execution", "\"client\""));
    }
    let parameters = json_schema(&members, "parameters")?;
    let timeout = members.time_limit("timeoutSeconds", timeout)?;
    let no_parameters = json!({"type": "object", "properties": {}});
    let schema = parameters.as_deref().unwrap_or(&no_parameters);
    let (definition, warnings) = ToolDefinition::from_json_schema(name, description, schema)
        .map_err(|error| BridgeError::invalid_schema(&format!("{path}.parameters"), &error))?;
    if json_text::nests_deeper(element, DEEPEST_TOOL) {
        return Err(BridgeError::invalid_params(format!(
            "'{path}' nests deeper than {DEEPEST_TOOL} levels."
        )));
    }
    let tool = Tool::client(definition).with_timeout(timeout);
    Ok((tool, warnings.iter().map(ToString::to_string).collect()))
}

/// What a client can do about too many tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolAdvice {
    /// Show a turn fewer of them.
    Narrow,
    /// Give an NPC or a decision fewer.
    GiveFewer,
}

/// The warning for more tools than the on-device model copes with.
pub(crate) fn tool_count_warning(count: usize, advice: ToolAdvice) -> Option<String> {
    let advice = match advice {
        ToolAdvice::Narrow => "narrow them per turn with 'enabledTools'",
        ToolAdvice::GiveFewer => "give only those that are needed here",
    };
    (count > RECOMMENDED_TOOLS).then(|| {
        format!("{count} tools: Apple recommends at most 3-5 tools per request on-device; {advice}.")
    })
}

/// The transcript at `key`, if given.
pub(crate) fn history(params: &Params<'_>, key: &str) -> Result<Option<SavedTranscript>, BridgeError> {
    let Some(value) = params.get(key) else { return Ok(None) };
    let saved = SavedTranscript::from_json(value)
        .map_err(|reason| params.invalid(key, format_args!("cannot be restored: {reason}")))?;
    Ok(Some(saved))
}

/// The tools of a saved transcript as client tools. One that cannot be rebuilt becomes a warning.
pub(crate) fn restored_tools(
    saved: Vec<Result<Arc<ToolDefinition>, UnreadableTool>>,
    timeout: Option<Duration>,
    warnings: &mut Vec<String>,
) -> Vec<Tool> {
    let mut tools = Vec::with_capacity(saved.len());
    for definition in saved {
        match definition {
            Ok(definition) => {
                tools.push(Tool { definition, timeout, executor: ToolExecutor::Client, is_lenient: false });
            }
            Err(UnreadableTool { name, reason }) => warnings.push(format!(
                "{name}: could not be restored from 'history' ({reason}); send its definition in 'tools'."
            )),
        }
    }
    tools
}

/// The model that a request asks for.
pub(crate) struct ModelChoice {
    pub(crate) model: Arc<dyn Model>,
    /// `system`, `scripted` or a custom type.
    pub(crate) kind: String,
    /// The model, if it is a scripted one.
    pub(crate) script: Option<Arc<ScriptedModel>>,
}

/// The member that names a model.
const KEY: &str = "model";
const SYSTEM: &str = "system";
const SCRIPTED: &str = "scripted";

impl ModelChoice {
    /// Tells that the system model cannot be asked now.
    pub(crate) fn availability_warning(&self) -> Option<String> {
        let reason = self.model.availability().unavailable.filter(|_| self.kind == SYSTEM)?;
        Some(format!(
            "The system model is unavailable ({}); turns will fail with model_unavailable until it is ready.",
            reason.as_str()
        ))
    }
}

/// The model that the member `model` names; the system model when absent.
pub(crate) fn model(
    config: &BridgeConfig,
    params: &Params<'_>,
    for_use: ModelUse<'_>,
) -> Result<ModelChoice, BridgeError> {
    let no_members = Map::new();
    let (kind, members) = kind(params, &no_members)?;
    model_of_kind(config, params, for_use, kind, members, 0)
}

/// The same for an object that is restored, with the step from which on a script is played. A model that cannot be had any
/// more is unavailable.
pub(crate) fn restored_model(
    config: &BridgeConfig,
    params: &Params<'_>,
    for_use: ModelUse<'_>,
    position: usize,
) -> ModelChoice {
    let no_members = Map::new();
    let (kind, members) = kind(params, &no_members).unwrap_or((SYSTEM, &no_members));
    model_of_kind(config, params, for_use, kind, members, position).unwrap_or_else(|error| {
        tracing::warn!(?for_use, "a model that was there before cannot be had: {}", error.message);
        let model = Arc::new(UnavailableModel::new(UnavailableReason::Unknown, error.message));
        ModelChoice { model, kind: kind.to_owned(), script: None }
    })
}

/// The type of the model that the member `model` names, and its members.
fn kind<'p>(
    params: &'p Params<'_>,
    no_members: &'p Map<String, Value>,
) -> Result<(&'p str, &'p Map<String, Value>), BridgeError> {
    Ok(match params.get(KEY) {
        None => (SYSTEM, no_members),
        Some(Value::String(kind)) => (kind.as_str(), no_members),
        Some(Value::Object(members)) => {
            let kind = members.get("type").and_then(Value::as_str).ok_or_else(|| {
                let path = params.path(KEY);
                BridgeError::invalid_params(format!(
                    "Parameter '{path}.type' must be a string that names a model type."
                ))
            })?;
            (kind, members)
        }
        Some(_) => return Err(params.mistyped(KEY, "a model name or an object with a 'type'")),
    })
}

fn model_of_kind(
    config: &BridgeConfig,
    params: &Params<'_>,
    for_use: ModelUse<'_>,
    kind: &str,
    members: &Map<String, Value>,
    position: usize,
) -> Result<ModelChoice, BridgeError> {
    let model: Arc<dyn Model> = match kind {
        SYSTEM => config.models.system(for_use),
        SCRIPTED if !config.allow_scripted_models => {
            return Err(BridgeError::invalid_params("Scripted models are switched off here."));
        }
        SCRIPTED => {
            let value = params.get(KEY).filter(|value| value.is_object());
            let script = value.map(|value| Script::from_json(value, &params.path(KEY))).transpose();
            let script = script.map_err(|error| BridgeError::invalid_params(error.message))?;
            let model = Arc::new(ScriptedModel::starting_at(script.unwrap_or_default(), position));
            return Ok(ModelChoice {
                model: Arc::clone(&model) as _,
                kind: kind.to_owned(),
                script: Some(model),
            });
        }
        custom => match config.models.custom(custom, members) {
            Some(model) => model.map_err(|reason| params.invalid(KEY, reason))?,
            None => return Err(unknown_model(config, custom)),
        },
    };
    Ok(ModelChoice { model, kind: kind.to_owned(), script: None })
}

fn unknown_model(config: &BridgeConfig, kind: &str) -> BridgeError {
    let known: Vec<_> = config.model_types().iter().map(|kind| format!("\"{kind}\"")).collect();
    BridgeError::invalid_params(format!("Unknown model type '{kind}'. Supported: {}.", known.join(", ")))
}
