//! What is wrong with a worker's message, in the words of docs/IPC.md: which member of which message is not what it
//! should be. Whoever writes a worker in another language reads this, and knows nothing of the types here.
//!
//! Looked for only once a message could not be read, so it says why and never whether.

use serde_json::{Map, Value};

/// What a member may be.
enum Form {
    Text,
    Boolean,
    /// From 0 to the given one.
    Integer(u64),
    /// Any value.
    Any,
    /// An object with any members.
    Object,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Array(&'static Form),
    Members(&'static [Member]),
    /// An object whose `type` is one of these, each with further members.
    Typed(&'static [(&'static str, &'static [Member])]),
}

struct Member {
    name: &'static str,
    form: Form,
    is_required: bool,
}

const fn required(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: true }
}

const fn optional(name: &'static str, form: Form) -> Member {
    Member { name, form, is_required: false }
}

const MAX_32: u64 = u32::MAX as u64;
const ID: Member = required("id", Form::Integer(u64::MAX));
const TEXT: Member = required("text", Form::Text);

const CAPABILITIES: &[Member] = &[
    optional("streaming", Form::Boolean),
    optional("nativeTools", Form::Boolean),
    optional("guidedGeneration", Form::Boolean),
    optional("tokenCount", Form::Boolean),
    optional("prewarm", Form::Boolean),
    optional("images", Form::Boolean),
    optional("parallelSteps", Form::Integer(MAX_32)),
];

const AVAILABILITY: Member = required(
    "availability",
    Form::Members(&[
        required("available", Form::Boolean),
        optional("reason", Form::Text),
        optional("contextSize", Form::Integer(MAX_32)),
        optional("variant", Form::Text),
        optional("supportedLanguages", Form::Array(&Form::Text)),
    ]),
);

const OUTCOMES: &[(&str, &[Member])] = &[
    ("text", &[TEXT]),
    ("structured", &[required("value", Form::Any)]),
    (
        "toolCalls",
        &[required(
            "calls",
            Form::Array(&Form::Members(&[
                required("id", Form::Text),
                required("name", Form::Text),
                optional("arguments", Form::Object),
            ])),
        )],
    ),
];

const USAGE: &[Member] = &[
    optional("inputTokens", Form::Integer(u64::MAX)),
    optional("cachedInputTokens", Form::Integer(u64::MAX)),
    optional("outputTokens", Form::Integer(u64::MAX)),
];

const MESSAGES: &[(&str, &[Member])] = &[
    (
        "ready",
        &[
            required("protocol", Form::Integer(MAX_32)),
            required(
                "worker",
                Form::Members(&[
                    required("name", Form::Text),
                    required("version", Form::Text),
                    required("pid", Form::Integer(MAX_32)),
                ]),
            ),
            optional("capabilities", Form::Members(CAPABILITIES)),
            AVAILABILITY,
        ],
    ),
    ("delta", &[ID, TEXT]),
    ("reset", &[ID, TEXT]),
    ("partial", &[ID, required("value", Form::Any)]),
    ("finished", &[ID, required("outcome", Form::Typed(OUTCOMES)), optional("usage", Form::Members(USAGE))]),
    (
        "failed",
        &[ID, required("code", Form::Text), required("message", Form::Text), optional("data", Form::Object)],
    ),
    ("tokens", &[ID, required("count", Form::Integer(MAX_32))]),
    ("availability", &[optional("id", Form::Integer(u64::MAX)), AVAILABILITY]),
    ("pong", &[required("n", Form::Integer(u64::MAX))]),
    (
        "log",
        &[
            required("level", Form::OneOf(&["debug", "info", "warning", "error"])),
            required("message", Form::Text),
        ],
    ),
];

/// What is wrong with a message of a worker, if that can be told. Completes "the frame …".
pub(crate) fn of_message(message: &Map<String, Value>) -> Option<String> {
    let Some(kind) = message.get("type") else { return Some("has no member `type`".to_owned()) };
    let Some(kind) = kind.as_str() else {
        return Some(format!("has a member `type` that is {}, not text", name_of(kind)));
    };
    let (kind, members) = MESSAGES.iter().find(|(name, _)| *name == kind)?;
    let wrong = of_members("", message, members)?;
    Some(format!("holds a message `{kind}` whose member {wrong}"))
}

/// Completes "a message whose member …", like those below.
fn of_members(path: &str, object: &Map<String, Value>, members: &[Member]) -> Option<String> {
    members.iter().find_map(|member| {
        let path = if path.is_empty() { member.name.to_owned() } else { format!("{path}.{}", member.name) };
        match object.get(member.name) {
            None if member.is_required => Some(format!("`{path}` is missing")),
            None => None,
            Some(Value::Null) if !member.is_required => None,
            Some(value) => of_value(&path, value, &member.form),
        }
    })
}

fn of_value(path: &str, value: &Value, form: &Form) -> Option<String> {
    let expected = match (form, value) {
        (Form::Any, _)
        | (Form::Text, Value::String(_))
        | (Form::Boolean, Value::Bool(_))
        | (Form::Object, Value::Object(_)) => return None,
        (Form::Integer(most), value) if value.as_u64().is_some_and(|number| number <= *most) => return None,
        (Form::OneOf(texts), Value::String(text)) if texts.contains(&text.as_str()) => return None,
        (Form::Array(form), Value::Array(items)) => {
            let mut items = items.iter().enumerate();
            return items.find_map(|(index, item)| of_value(&format!("{path}[{index}]"), item, form));
        }
        (Form::Members(members), Value::Object(object)) => return of_members(path, object, members),
        (Form::Typed(kinds), Value::Object(object)) => return of_typed(path, object, kinds),
        (Form::Text, _) => "text".to_owned(),
        (Form::Boolean, _) => "a boolean".to_owned(),
        (Form::Integer(most), _) => format!("an integer from 0 to {most}"),
        (Form::OneOf(texts), _) => format!("one of \"{}\"", texts.join("\", \"")),
        (Form::Array(_), _) => "an array".to_owned(),
        (Form::Object | Form::Members(_) | Form::Typed(_), _) => "an object".to_owned(),
    };
    Some(format!("`{path}` is {}, not {expected}", name_of(value)))
}

fn of_typed(path: &str, object: &Map<String, Value>, kinds: &[(&str, &[Member])]) -> Option<String> {
    let known = kinds.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join("\", \"");
    let kind = object.get("type").and_then(Value::as_str);
    match kinds.iter().find(|(name, _)| Some(*name) == kind) {
        Some((_, members)) => of_members(path, object, members),
        None => Some(format!(
            "`{path}.type` is {}, not one of \"{known}\"",
            match object.get("type") {
                Some(kind) => name_of(kind),
                None => "missing".to_owned(),
            }
        )),
    }
}

/// A value as it can be shown without showing too much of it.
fn name_of(value: &Value) -> String {
    const LONGEST_TEXT: usize = 40;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.len() <= LONGEST_TEXT => format!("{text:?}"),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{DecodeError, FromWorker, decode};

    fn complaint(message: &serde_json::Value) -> String {
        match decode::<FromWorker>(&rmp_serde::to_vec_named(message).unwrap()) {
            Err(DecodeError::Malformed { reason }) => reason,
            other => panic!("{message}: {other:?}"),
        }
    }

    #[test]
    fn message_and_member_are_named() {
        let cases = [
            (json!({}), "has no member `type`"),
            (json!({"type": 3}), "has a member `type` that is 3, not text"),
            (
                json!({"type": "delta", "id": "x", "text": ""}),
                "holds a message `delta` whose member `id` is \"x\", not an integer from 0 to 18446744073709551615",
            ),
            (json!({"type": "reset", "id": 1}), "holds a message `reset` whose member `text` is missing"),
            (
                json!({"type": "finished", "id": 1, "outcome": {"type": "dance"}}),
                "holds a message `finished` whose member `outcome.type` is \"dance\", not one of \"text\", \"structured\", \
                 \"toolCalls\"",
            ),
            (
                json!({"type": "finished", "id": 1, "outcome": {}}),
                "holds a message `finished` whose member `outcome.type` is missing, not one of \"text\", \"structured\", \
                 \"toolCalls\"",
            ),
            (
                json!({"type": "finished", "id": 1, "outcome": {"type": "toolCalls", "calls": [{"id": 5}]}}),
                "holds a message `finished` whose member `outcome.calls[0].id` is 5, not text",
            ),
            (
                json!({"type": "finished", "id": 1, "outcome": {"type": "text", "text": ""}, "usage": {"inputTokens": -5}}),
                "holds a message `finished` whose member `usage.inputTokens` is -5, not an integer from 0 to \
                 18446744073709551615",
            ),
            (
                json!({"type": "log", "level": "loud", "message": ""}),
                "holds a message `log` whose member `level` is \"loud\", not one of \"debug\", \"info\", \"warning\", \"error\"",
            ),
            (
                json!({"type": "availability", "availability": {"available": "yes"}}),
                "holds a message `availability` whose member `availability.available` is \"yes\", not a boolean",
            ),
            (
                json!({"type": "ready", "protocol": 1, "worker": [], "availability": {}}),
                "holds a message `ready` whose member `worker` is an array, not an object",
            ),
        ];
        for (message, reason) in cases {
            assert_eq!(complaint(&message), reason);
        }
    }
}
