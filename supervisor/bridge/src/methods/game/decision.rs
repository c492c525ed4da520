//! `decision/*`: a choice between options, for one character or a crowd.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use oam_agent::{Tool, ToolChoice, check_tool_names, json_text};
use oam_game::{
    Decision, DecisionEngine, DecisionOption, DecisionOptions, DecisionRequest, InvalidOptions, OptionId,
    Persona,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    bridge::Bridge,
    coding::{self, ToolAdvice},
    config::ModelUse,
    message::{BridgeError, Members, Payload},
    params::Params,
    registry::{MethodRegistry, MethodSet, Reply, Request},
    turn_host::calls_only,
};

const DECIDE: &str = "decision/decide";
const DECIDE_MANY: &str = "decision/decideMany";

/// The members of one decision.
const REQUEST_MEMBERS: [&str; 7] =
    ["situation", "options", "actor", "context", "tools", "toolChoice", "fallbackOptionID"];
/// The members that all decisions of a request share.
const ENGINE_MEMBERS: [&str; 5] =
    ["instructions", "temperature", "maxToolRounds", "toolTimeoutSeconds", "model"];
const CROWD_MEMBERS: [&str; 2] = ["requests", "maxConcurrency"];

/// The on-device model mostly does one thing at a time; more at once only wait there.
const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

pub(super) struct DecisionMethods;

impl MethodSet for DecisionMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register_look(DECIDE, decide);
        registry.register_look(DECIDE_MANY, decide_many);
    }
}

#[derive(Serialize)]
struct Decided {
    #[serde(flatten)]
    decision: Decision,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn decide(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, id, params } = request;
    let Engine { engine, tool_timeout } = Engine::read(&bridge, &params, DECIDE)?;
    let known = [&REQUEST_MEMBERS[..], &ENGINE_MEMBERS].concat();
    let ReadRequest { request, unknown, tool_warnings } =
        ReadRequest::read(&bridge, &params, &known, tool_timeout)?;
    let warnings = [unknown, tool_warnings].concat();
    Reply::later(async move {
        let mut host = calls_only(&bridge, Members::new().with("requestId", &id));
        let decision = engine.decide(&request, &mut host).await?;
        Ok(Payload::of(&Decided { decision, warnings }))
    })
}

#[derive(Serialize)]
struct DecidedMany {
    results: Vec<Slot>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// How one decision of a crowd ended.
#[derive(Serialize)]
#[serde(untagged)]
enum Slot {
    Decided(Decision),
    Failed { error: BridgeError },
}

fn decide_many(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, id, params } = request;
    let mut warnings = params.unknown_members(&[&CROWD_MEMBERS[..], &ENGINE_MEMBERS].concat());
    let Engine { engine, tool_timeout } = Engine::read(&bridge, &params, DECIDE_MANY)?;
    let max_concurrency = match params.optional_integer("maxConcurrency", 1)? {
        // More than there can be requests is as good as all.
        Some(count) => usize::try_from(count).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MAX),
        None => DEFAULT_CONCURRENCY,
    };
    let elements = params.array("requests")?;
    if elements.is_empty() {
        return Err(params.invalid("requests", "must not be empty."));
    }
    let mut requests = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let path = format!("requests[{index}]");
        let members = Params::at(&path, element)?;
        let read = ReadRequest::read(&bridge, &members, &REQUEST_MEMBERS, tool_timeout)?;
        requests.push(read.request);
        warnings.extend(read.unknown);
        warnings.extend(read.tool_warnings.iter().map(|warning| format!("{path}: {warning}")));
    }
    Reply::later(async move {
        let host =
            |index: usize| calls_only(&bridge, Members::new().with("index", &index).with("requestId", &id));
        let results = engine.decide_many(&requests, max_concurrency, host).await;
        let results = results.into_iter().map(|result| match result {
            Ok(decision) => Slot::Decided(decision),
            Err(error) => Slot::Failed { error: error.into() },
        });
        Ok(Payload::of(&DecidedMany { results: results.collect(), warnings }))
    })
}

/// The engine of a request, and the time limit of tools that bring none.
struct Engine {
    engine: DecisionEngine,
    tool_timeout: Option<Duration>,
}

impl Engine {
    fn read(bridge: &Bridge, params: &Params<'_>, method: &str) -> Result<Self, BridgeError> {
        let defaults =
            DecisionEngine::new(coding::model(bridge.config(), params, ModelUse::Request(method))?.model);
        let engine = DecisionEngine {
            instructions: params.optional_string("instructions")?.map(str::to_owned),
            temperature: params.optional_number("temperature", 0.0)?,
            max_tool_rounds: coding::optional_count(params, "maxToolRounds", 0)?
                .unwrap_or(defaults.max_tool_rounds),
            ..defaults
        };
        let tool_timeout = params.time_limit("toolTimeoutSeconds", bridge.config().tool_timeout)?;
        Ok(Self { engine, tool_timeout })
    }
}

/// A decision that a request asks for, and what there is to say about it.
struct ReadRequest {
    request: DecisionRequest,
    /// Warnings about unknown members, with their paths.
    unknown: Vec<String>,
    /// Warnings about its tools.
    tool_warnings: Vec<String>,
}

impl ReadRequest {
    /// Reads the members of one decision. `known` are the members that mean something here.
    fn read(
        bridge: &Bridge,
        members: &Params<'_>,
        known: &[&str],
        tool_timeout: Option<Duration>,
    ) -> Result<Self, BridgeError> {
        let mut unknown = members.unknown_members(known);
        let situation = match members.value("situation")? {
            Value::String(text) => text.clone(),
            value => json_text::compact(value),
        };
        let options = options(members)?;
        let actor = actor(bridge, members, &mut unknown)?;
        let tool_set = coding::optional_tools(members, "tools", tool_timeout)?;
        check_tool_names(&tool_set.tools)?;
        let mut tool_warnings = tool_set.warnings;
        tool_warnings.extend(coding::tool_count_warning(tool_set.tools.len(), ToolAdvice::GiveFewer));
        let tool_choice = tool_choice(members, &tool_set.tools)?;
        let options = with_fallback(options, members)?;
        let context = members.get("context").cloned();
        let tools = tool_set.tools;
        let request = DecisionRequest { situation, options, actor, context, tools, tool_choice };
        Ok(Self { request, unknown, tool_warnings })
    }
}

fn options(members: &Params<'_>) -> Result<DecisionOptions, BridgeError> {
    let elements = members.array("options")?.iter().enumerate();
    let options = elements
        .map(|(index, element)| option(members, &format!("options[{index}]"), element))
        .collect::<Result<_, _>>()?;
    DecisionOptions::new(options).map_err(|error| match error {
        InvalidOptions::Empty => members.invalid("options", "must not be empty."),
        InvalidOptions::Duplicate(id) => {
            let path = members.path("options");
            BridgeError::invalid_params(format!("Duplicate option id '{id}' in '{path}'."))
        }
    })
}

/// An option: its id, or an object with one.
fn option(members: &Params<'_>, name: &str, element: &Value) -> Result<DecisionOption, BridgeError> {
    let path = members.path(name);
    let empty = |path: &str| BridgeError::invalid_params(format!("Parameter '{path}' must not be empty."));
    match element {
        Value::String(id) => {
            let id = OptionId::new(id).ok_or_else(|| empty(&path))?;
            Ok(DecisionOption { id, description: String::new() })
        }
        Value::Object(_) => {
            let option = Params::at(&path, element)?;
            let id = OptionId::new(option.string("id")?).ok_or_else(|| empty(&option.path("id")))?;
            let description = option.optional_string("description")?.unwrap_or_default().to_owned();
            Ok(DecisionOption { id, description })
        }
        _ => Err(BridgeError::invalid_params(format!(
            "Parameter '{path}' must be an option id or an object with an 'id'; got {}.",
            json_text::abridged(element)
        ))),
    }
}

/// Who decides: an NPC as it is now, or a persona.
fn actor(
    bridge: &Bridge,
    members: &Params<'_>,
    unknown: &mut Vec<String>,
) -> Result<Option<Persona>, BridgeError> {
    match members.get("actor") {
        None => Ok(None),
        Some(Value::String(npc)) => bridge.realm().npcs.get(npc).map(|found| Some(found.npc.persona())),
        Some(Value::Object(_)) => coding::persona(members, "actor", unknown).map(Some),
        Some(_) => Err(members.mistyped("actor", "an NPC id or a persona object")),
    }
}

fn tool_choice(members: &Params<'_>, tools: &[Tool]) -> Result<ToolChoice, BridgeError> {
    let choice = coding::tool_choice(members, "toolChoice")?.unwrap_or_default();
    if let ToolChoice::Tool(name) = &choice
        && !tools.iter().any(|tool| tool.name().as_str() == name)
    {
        return Err(BridgeError::invalid_params(format!(
            "'{}' names tool '{name}', which is not in '{}'.",
            members.path("toolChoice"),
            members.path("tools")
        )));
    }
    Ok(choice)
}

fn with_fallback(options: DecisionOptions, members: &Params<'_>) -> Result<DecisionOptions, BridgeError> {
    let Some(id) = members.optional_string("fallbackOptionID")? else { return Ok(options) };
    options
        .with_fallback(id)
        .ok_or_else(|| members.mistyped("fallbackOptionID", "the id of one of the options"))
}
