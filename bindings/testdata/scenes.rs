//! The scenes for tests in Rust, each of which includes this module: what the README beside it says of steps and of comparing,
//! but for what a binding does in its own way.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::{Map, Value};

/// The method of a step, and the member of the protocol's result that is the step's; none where it is all of it.
const METHODS: &[(&str, &str, Option<&str>)] = &[
    ("createSession", "session/create", None),
    ("createNpc", "npc/create", None),
    ("createWorld", "world/create", None),
    ("restoreNpc", "npc/restore", None),
    ("respond", "session/respond", None),
    ("transcript", "session/transcript", Some("transcript")),
    ("resetSession", "session/reset", None),
    ("deleteSession", "session/delete", None),
    ("setInstructions", "session/setInstructions", None),
    ("setContextNote", "session/setContextNote", None),
    ("setTools", "session/setTools", Some("warnings")),
    ("cancelSession", "session/cancel", Some("cancelled")),
    ("cancelNpc", "npc/cancel", Some("cancelled")),
    ("compact", "session/compact", Some("summary")),
    ("talk", "npc/talk", None),
    ("bark", "npc/bark", Some("line")),
    ("npcState", "npc/state", Some("state")),
    ("updateNpc", "npc/update", Some("warnings")),
    ("resetNpc", "npc/reset", None),
    ("deleteNpc", "npc/delete", None),
    ("deleteWorld", "world/delete", None),
    ("get", "world/get", Some("value")),
    ("remove", "world/remove", Some("oldValue")),
    ("set", "world/set", Some("version")),
    ("merge", "world/merge", Some("version")),
    ("snapshot", "world/snapshot", Some("state")),
    ("subscribe", "world/subscribe", Some("subscription")),
    ("unsubscribe", "world/unsubscribe", None),
    ("decide", "decision/decide", None),
    ("decideMany", "decision/decideMany", Some("results")),
    ("generate", "content/generate", Some("content")),
];

/// Plays all scenes: `begin` one, then `play` its steps.
pub(crate) fn play_all<Player>(begin: impl Fn(&Value) -> Player, play: impl Fn(&mut Player, &Value)) {
    let scenes: Value = serde_json::from_str(include_str!("scenes.json")).unwrap();
    let scenes = scenes["scenes"].as_array().unwrap();
    assert!(!scenes.is_empty());
    for scene in scenes {
        let mut player = begin(scene);
        for (number, step) in scene["steps"].as_array().unwrap().iter().enumerate() {
            let outcome = catch_unwind(AssertUnwindSafe(|| play(&mut player, step)));
            assert!(outcome.is_ok(), "in step {} of the scene {}", number + 1, scene["name"]);
        }
    }
}

/// A member of a step, or of what belongs to one, that must be text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("'{name}' in {value}"))
}

/// The method that a step asks for, and the member of its result that is the step's.
fn asked(step: &Value) -> (&str, Option<&str>) {
    match text(step, "do") {
        "request" | "callBlocking" => (text(step, "method"), None),
        name => {
            let known = METHODS.iter().find(|(known, ..)| *known == name);
            let (_, method, member) = known.unwrap_or_else(|| panic!("no such step: {name}"));
            (method, *member)
        }
    }
}

pub(crate) fn method(step: &Value) -> &str {
    asked(step).0
}

/// What is the step's of the protocol's result.
pub(crate) fn result_of(step: &Value, result: Value) -> Value {
    match asked(step).1 {
        Some(member) => result[member].clone(),
        None => result,
    }
}

/// The params of a step: what it says, with what was saved filled in, the handle, and whether to stream. Tools are still
/// named as in the scene.
pub(crate) fn params(step: &Value, saved: &HashMap<String, Value>) -> Map<String, Value> {
    let arguments = step.get("arguments").or_else(|| step.get("params")).and_then(Value::as_object);
    let mut params = arguments.cloned().unwrap_or_default();
    for value in params.values_mut() {
        if let Some(name) = value["$saved"].as_str() {
            *value = saved[name].clone();
        }
    }
    for name in ["session", "npc", "world", "stream"] {
        if let Some(value) = step.get(name) {
            params.insert(name.to_owned(), value.clone());
        }
    }
    params
}

/// Compares what came with what a step, or its end, expects: a result, or `code`, `name` and `message` of an error.
pub(crate) fn check_outcome(step: &Value, outcome: &Result<Value, Value>) {
    match (step.get("error"), outcome) {
        (Some(expected), Err(error)) => check(expected, error),
        (None, Ok(result)) => step.get("result").into_iter().for_each(|expected| check(expected, result)),
        _ => panic!("{step}: {outcome:?}"),
    }
}

/// Whether the types of events that a step, or its end, expects are among those that came, in this order.
pub(crate) fn check_events<'a>(step: &Value, came: impl IntoIterator<Item = &'a str>) {
    let mut came = came.into_iter();
    for expected in step["events"].as_array().into_iter().flatten() {
        assert!(came.any(|kind| expected == kind), "{expected} is missing in {step}");
    }
}

pub(crate) fn check(expected: &Value, actual: &Value) {
    assert!(matches(expected, actual), "expected {expected}\nbut it was {actual}");
}

fn matches(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(members), _) if members.contains_key("$contains") => {
            let part = text(expected, "$contains").to_lowercase();
            actual.as_str().is_some_and(|text| text.to_lowercase().contains(&part))
        }
        (Value::Object(members), Value::Object(actual)) => match members.get("$keys") {
            Some(keys) => *keys == actual.keys().cloned().collect::<Value>(),
            None => members.iter().all(|(name, expected)| match actual.get(name) {
                None => expected["$absent"] == true,
                Some(actual) => expected["$absent"] != true && matches(expected, actual),
            }),
        },
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| matches(expected, actual))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        _ => expected == actual,
    }
}
