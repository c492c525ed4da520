//! Reading what a client says of an NPC: options and memory (docs/PROTOCOL.md, `npc/create`).

use std::time::Duration;

use oam_game::{AllowedEmotions, Emotion, Memory, MemoryTools, NpcOptions, Relationship, ReplyFormat};
use serde_json::Value;

use crate::{coding, message::BridgeError, params::Params};

const OPTION_MEMBERS: &[&str] = &[
    "replyFormat",
    "groundingTool",
    "toolChoice",
    "maxToolRounds",
    "maxToolCalls",
    "toolTimeoutSeconds",
    "worldReadable",
    "worldWritable",
    "worldContextPaths",
    "memoryTools",
    "maxFacts",
    "maxRelationshipChange",
    "secretsUnlockAtRelationship",
    "emotions",
    "playerOptionCount",
    "canEndConversation",
    "extraInstructions",
    "compactAfterTurns",
    "keepRecentTurns",
    "fallbackOnGuardrail",
    "fallbackLines",
    "temperature",
    "maximumResponseTokens",
    "barkMaximumTokens",
];
const MEMORY_MEMBERS: &[&str] = &["facts", "relationship", "summary"];

/// The most replies that an NPC may suggest to the player.
const MAX_PLAYER_OPTIONS: i64 = 4;

/// The options at `key`; the defaults when absent.
pub(crate) fn npc_options(
    params: &Params<'_>,
    key: &str,
    tool_timeout: Option<Duration>,
    warnings: &mut Vec<String>,
) -> Result<NpcOptions, BridgeError> {
    let defaults = NpcOptions { tool_timeout, ..NpcOptions::default() };
    let Some(options) = params.optional_object(key)? else { return Ok(defaults) };
    warnings.extend(options.unknown_members(OPTION_MEMBERS));
    let integer = |name, default| integer(&options, name).map(|value| value.unwrap_or(default));
    let flag = |name, default| options.optional_bool(name).map(|value| value.unwrap_or(default));
    Ok(NpcOptions {
        reply_format: reply_format(&options, "replyFormat")?.unwrap_or(defaults.reply_format),
        grounding_tool: options.optional_string("groundingTool")?.map(str::to_owned),
        tool_choice: coding::tool_choice(&options, "toolChoice")?.unwrap_or(defaults.tool_choice),
        max_tool_rounds: integer("maxToolRounds", defaults.max_tool_rounds)?,
        max_tool_calls: integer("maxToolCalls", defaults.max_tool_calls)?,
        tool_timeout: options.time_limit("toolTimeoutSeconds", tool_timeout)?,
        world_readable: options.optional_texts("worldReadable")?.unwrap_or(defaults.world_readable),
        world_writable: options.optional_texts("worldWritable")?.unwrap_or(defaults.world_writable),
        world_context_paths: options
            .optional_texts("worldContextPaths")?
            .unwrap_or(defaults.world_context_paths),
        memory_tools: memory_tools(&options, "memoryTools")?.unwrap_or(defaults.memory_tools),
        max_facts: integer("maxFacts", defaults.max_facts)?,
        max_relationship_change: integer("maxRelationshipChange", defaults.max_relationship_change)?,
        secrets_unlock_at_relationship: secrets_threshold(&options, defaults.secrets_unlock_at_relationship)?,
        emotions: emotions(&options, "emotions")?.unwrap_or(defaults.emotions),
        player_option_count: player_option_count(&options)?.unwrap_or(defaults.player_option_count),
        can_end_conversation: flag("canEndConversation", defaults.can_end_conversation)?,
        extra_instructions: options.optional_string("extraInstructions")?.map(str::to_owned),
        compact_after_turns: integer("compactAfterTurns", defaults.compact_after_turns)?,
        keep_recent_turns: integer("keepRecentTurns", defaults.keep_recent_turns)?,
        fallback_on_guardrail: flag("fallbackOnGuardrail", defaults.fallback_on_guardrail)?,
        fallback_lines: options.optional_texts("fallbackLines")?.unwrap_or(defaults.fallback_lines),
        temperature: options.optional_number("temperature", f64::NEG_INFINITY)?,
        maximum_response_tokens: self::integer(&options, "maximumResponseTokens")?,
        bark_maximum_tokens: integer("barkMaximumTokens", defaults.bark_maximum_tokens)?,
    })
}

/// The memory at `key`; an empty one when absent.
pub(crate) fn memory(
    params: &Params<'_>,
    key: &str,
    warnings: &mut Vec<String>,
) -> Result<Memory, BridgeError> {
    let Some(memory) = params.optional_object(key)? else { return Ok(Memory::default()) };
    warnings.extend(memory.unknown_members(MEMORY_MEMBERS));
    Ok(Memory {
        facts: memory.optional_texts("facts")?.unwrap_or_default(),
        relationship: Relationship::new(integer(&memory, "relationship")?.unwrap_or_default()),
        summary: memory.optional_string("summary")?.map(str::to_owned),
    })
}

fn integer(params: &Params<'_>, key: &str) -> Result<Option<i64>, BridgeError> {
    params.optional_integer(key, i64::MIN)
}

fn reply_format(options: &Params<'_>, key: &str) -> Result<Option<ReplyFormat>, BridgeError> {
    let Some(name) = options.optional_string(key)? else { return Ok(None) };
    let format = ReplyFormat::ALL.into_iter().find(|format| format.as_str() == name);
    format.map(Some).ok_or_else(|| {
        let names: Vec<_> =
            ReplyFormat::ALL.iter().map(|format| format!("\"{}\"", format.as_str())).collect();
        let path = options.path(key);
        BridgeError::invalid_params(format!("'{path}' must be one of {}; got \"{name}\".", names.join(", ")))
    })
}

fn player_option_count(options: &Params<'_>) -> Result<Option<u8>, BridgeError> {
    let key = "playerOptionCount";
    let Some(count) = integer(options, key)? else { return Ok(None) };
    let in_range = u8::try_from(count).ok().filter(|_| count <= MAX_PLAYER_OPTIONS);
    in_range.map(Some).ok_or_else(|| {
        let path = options.path(key);
        BridgeError::invalid_params(format!(
            "'{path}' must be between 0 and {MAX_PLAYER_OPTIONS}; got {count}."
        ))
    })
}

/// `null` is a value here: secrets are in the prompt from the start, guarded.
fn secrets_threshold(options: &Params<'_>, default: Option<i64>) -> Result<Option<i64>, BridgeError> {
    let key = "secretsUnlockAtRelationship";
    if options.has(key) { integer(options, key) } else { Ok(default) }
}

/// The emotions at `key`. A word that is none counts as neutral.
fn emotions(options: &Params<'_>, key: &str) -> Result<Option<AllowedEmotions>, BridgeError> {
    let names = options.optional_strings(key)?;
    let read = |name| Emotion::read(name).unwrap_or_default();
    Ok(names.map(|names| AllowedEmotions::new(names.into_iter().map(read))))
}

const MEMORY_TOOL_FORMS: &str = "a list of \"rememberFact\" and \"changeRelationship\", \"all\" or \"none\"";

/// The memory tools at `key`: a list of names, one name, `all`, `none`, or a bit mask.
fn memory_tools(options: &Params<'_>, key: &str) -> Result<Option<MemoryTools>, BridgeError> {
    let mut tools = MemoryTools::NONE;
    match options.get(key) {
        None => return Ok(None),
        Some(Value::String(name)) => match name.to_lowercase().as_str() {
            "all" => tools = MemoryTools::ALL,
            "none" => {}
            _ => add_memory_tool(&mut tools, name).map_err(|()| unknown_memory_tool(options, key, name))?,
        },
        Some(Value::Array(names)) => {
            for name in names {
                let name = name.as_str().ok_or_else(|| options.mistyped(key, MEMORY_TOOL_FORMS))?;
                add_memory_tool(&mut tools, name).map_err(|()| unknown_memory_tool(options, key, name))?;
            }
        }
        Some(Value::Number(_)) => {
            let mask = options.optional_integer_in(key, 0, 3)?.unwrap_or_default();
            tools = MemoryTools { remember_fact: mask & 1 != 0, change_relationship: mask & 2 != 0 };
        }
        Some(_) => return Err(options.mistyped(key, MEMORY_TOOL_FORMS)),
    }
    Ok(Some(tools))
}

fn add_memory_tool(tools: &mut MemoryTools, name: &str) -> Result<(), ()> {
    match name.replace('_', "").to_lowercase().as_str() {
        "rememberfact" => tools.remember_fact = true,
        "changerelationship" => tools.change_relationship = true,
        _ => return Err(()),
    }
    Ok(())
}

fn unknown_memory_tool(options: &Params<'_>, key: &str, name: &str) -> BridgeError {
    let path = options.path(key);
    BridgeError::invalid_params(format!(
        "'{path}' names unknown memory tool '{name}'; use {MEMORY_TOOL_FORMS}."
    ))
}
