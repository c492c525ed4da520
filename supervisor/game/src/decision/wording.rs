//! What the model reads when it decides. The form of the prompt is that of docs/PROTOCOL.md (`decision/decide`), so
//! that scripts may rely on it; the words are kept few and peaceful.

use serde_json::{Value, json};

use super::{DecisionOptions, DecisionRequest};
use crate::{
    one_off::facts,
    persona::Persona,
    sentences::{labelled, list, sentence},
    wording::{GOALS, PERSONALITY},
};

/// The instructions of an engine that brings none.
pub(super) const DEFAULT_INSTRUCTIONS: &str = "You make decisions for characters in a video game. Choose the option that fits \
    the situation and the character best. First give your reason in one short sentence, then the id of the option, \
    then how confident you are, from 0 to 100.";

/// What is told of a decision that leaves nothing to decide.
pub(super) const ONLY_OPTION: &str = "It is the only option.";

const NO_SITUATION: &str = "(none given)";

/// The instructions, given or default, and who is deciding. What an actor knows and hides stays out of it.
pub(super) fn instructions(given: Option<&str>, actor: Option<&Persona>) -> String {
    let given = given.filter(|text| !text.trim().is_empty());
    let mut lines = vec![given.unwrap_or(DEFAULT_INSTRUCTIONS).to_owned()];
    if let Some(Persona { name, role, personality, goals, .. }) = actor {
        let who = [name.trim(), role.trim()].into_iter().filter(|part| !part.is_empty());
        let who = sentence(&who.collect::<Vec<_>>().join(", "));
        lines.extend(who.map(|who| format!("You decide for {who}")));
        lines.extend(labelled(PERSONALITY, sentence(personality)));
        lines.extend(labelled(GOALS, list(goals)));
    }
    lines.join("\n")
}

/// The situation, the facts, the options.
pub(super) fn prompt(request: &DecisionRequest) -> String {
    let situation = match request.situation.trim() {
        "" => NO_SITUATION,
        situation => situation,
    };
    let mut lines = vec![format!("Situation: {situation}")];
    let is_empty = |context: &Value| context.as_object().is_some_and(serde_json::Map::is_empty);
    lines.extend(request.context.as_ref().filter(|context| !is_empty(context)).and_then(facts));
    lines.push("Options:".to_owned());
    lines.extend(request.options.as_slice().iter().map(|option| match option.description.trim() {
        "" => format!("- {}", option.id),
        description => format!("- {}: {description}", option.id),
    }));
    lines.join("\n")
}

/// The form of the answer as JSON Schema. The reason comes first: a choice that follows from it is a better one.
pub(super) fn schema(options: &DecisionOptions) -> Value {
    let ids: Vec<_> = options.ids().collect();
    json!({
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "description": "The reason for the choice, in one short sentence."},
            "choice": {"type": "string", "enum": ids, "description": "The id of the chosen option."},
            "confidence": {
                "type": "integer", "minimum": 0, "maximum": 100,
                "description": "How sure the choice is: 0 is a guess, 100 is certain.",
            },
        },
        "required": ["reasoning", "choice", "confidence"],
    })
}
