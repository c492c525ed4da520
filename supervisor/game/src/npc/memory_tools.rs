//! The tools by which a character changes its own memory. They stage; the turn applies.

use oam_agent::{Tool, ToolCall, ToolOutput};
use serde_json::{Value, json};

use super::{mind::Mind, options::NpcOptions};
use crate::{local_tool::local_tool, memory::Remembered, wording};

pub(super) fn is_memory_tool(tool: &Tool) -> bool {
    [wording::REMEMBER_FACT, wording::CHANGE_RELATIONSHIP].contains(&tool.name().as_str())
}

/// The memory tools that the options ask for.
pub(super) fn tools(options: &NpcOptions, mind: &Mind) -> Vec<Tool> {
    let mut tools = Vec::new();
    if options.memory_tools.remember_fact {
        let mind = mind.clone();
        let parameters = json!({
            "type": "object",
            "properties": {"fact": {"type": "string", "description": wording::FACT_DESCRIPTION}},
            "required": ["fact"],
        });
        tools.push(local_tool(
            wording::REMEMBER_FACT,
            wording::REMEMBER_FACT_DESCRIPTION,
            &parameters,
            move |call| remember_fact(&mind, call).map(ToolOutput::Text),
        ));
    }
    if options.memory_tools.change_relationship {
        let mind = mind.clone();
        let most = options.max_relationship_change.max(1);
        let parameters = json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": wording::REASON_DESCRIPTION},
                "delta": {
                    "type": "integer", "minimum": -most, "maximum": most,
                    "description": wording::delta_description(most),
                },
            },
            "required": ["reason", "delta"],
        });
        tools.push(local_tool(
            wording::CHANGE_RELATIONSHIP,
            wording::CHANGE_RELATIONSHIP_DESCRIPTION,
            &parameters,
            move |call| change_relationship(&mind, call, most).map(ToolOutput::Text),
        ));
    }
    tools
}

fn remember_fact(mind: &Mind, call: &ToolCall) -> Result<String, String> {
    let fact = argument(call, "fact", "a string", Value::as_str)?;
    match mind.remember(fact) {
        Remembered::New => Ok(wording::REMEMBERED.to_owned()),
        Remembered::Known => Ok(wording::ALREADY_KNOWN.to_owned()),
        Remembered::Blank => Err(wording::EMPTY_FACT.to_owned()),
    }
}

fn change_relationship(mind: &Mind, call: &ToolCall, most: i64) -> Result<String, String> {
    argument(call, "reason", "a string", Value::as_str)?;
    let delta = argument(call, "delta", "an integer", whole_number)?.clamp(-most, most);
    Ok(wording::you_now_feel(mind.change_relationship(delta)))
}

/// An integer, however it is written.
fn whole_number(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates, and is clamped afterwards")]
    value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64)
}

fn argument<'a, T>(
    call: &'a ToolCall,
    name: &str,
    kind: &str,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<T, String> {
    let value = call.arguments.get(name);
    value.and_then(read).ok_or_else(|| wording::wrong_argument(&call.name, name, kind, value))
}
