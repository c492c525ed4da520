//! `read_world_state`.

use std::collections::HashMap;

use oam_agent::ToolOutput;
use serde_json::{Map, Value};

use super::{is_within_any, path_argument, resolved};
use crate::world::{World, abridge, path::WorldPath, value, wording};

/// How many characters of a value an error shows.
const SHOWN_VALUE: usize = 80;

pub(super) fn description(root: &Value, readable: &[WorldPath]) -> String {
    match root {
        Value::Object(members) if readable.iter().any(WorldPath::is_root) => {
            wording::read_everything(members.keys().map(String::as_str))
        }
        _ => wording::read_some(readable),
    }
}

pub(super) fn read(
    world: &World,
    arguments: &Map<String, Value>,
    readable: &[WorldPath],
) -> Result<ToolOutput, String> {
    let path = match arguments.get("path") {
        None | Some(Value::Null) => WorldPath::root(),
        path => path_argument(wording::READ_TOOL, path)?,
    };
    world.read(|world| look(world.root, &path, readable)).map(ToolOutput::Json)
}

fn look(root: &Value, path: &WorldPath, readable: &[WorldPath]) -> Result<Value, String> {
    let path = resolved(root, path);
    if is_within_any(&path, readable) {
        return match value::get(root, &path) {
            Some(value) => Ok(abridge::abridged(value)),
            None => Err(absent(root, &path, readable)),
        };
    }
    match readable_part(root, &path, readable) {
        Some(part) => Ok(abridge::abridged(&Value::Object(part))),
        None => Err(wording::cannot_read(&path, readable)),
    }
}

/// The error for a path without a value: tells what is at the nearest place above it.
fn absent(root: &Value, path: &WorldPath, readable: &[WorldPath]) -> String {
    let mut nearest = root;
    let mut len = 0;
    for child in path.segments() {
        let Some(value) = value::child(nearest, child) else { break };
        nearest = value;
        len += 1;
    }
    let ancestor = path.ancestor(len);
    match nearest {
        // Above the readable paths, only what leads to them may be named.
        Value::Object(_) if !is_within_any(&ancestor, readable) => {
            let part = readable_part(root, &ancestor, readable).unwrap_or_default();
            wording::absent_from_object(path, &ancestor, part.keys().map(String::as_str))
        }
        Value::Object(members) => {
            wording::absent_from_object(path, &ancestor, members.keys().map(String::as_str))
        }
        Value::Array(items) => wording::absent_from_list(path, &ancestor, items.len()),
        Value::Null => wording::absent_from_value(path, &ancestor, value::kind(nearest), None),
        single => {
            let may_show = is_within_any(&ancestor, readable);
            let json = may_show.then(|| abridge::cut_json(single, SHOWN_VALUE));
            wording::absent_from_value(path, &ancestor, value::kind(single), json.as_deref())
        }
    }
}

/// What may be read within a path that lies above readable paths; `None` when it does not.
fn readable_part(root: &Value, path: &WorldPath, readable: &[WorldPath]) -> Option<Map<String, Value>> {
    let below: Vec<Vec<&str>> = readable
        .iter()
        .filter(|readable| readable.is_within(path))
        .map(|readable| readable.segments().skip(path.len()).collect())
        .collect();
    if below.is_empty() {
        return None;
    }
    let below: Vec<_> = below.iter().map(Vec::as_slice).collect();
    Some(value::get(root, path).map(|value| part(value, &below)).unwrap_or_default())
}

/// The members that lead to one of the paths, which all have a segment. The items of a list become members.
fn part(value: &Value, paths: &[&[&str]]) -> Map<String, Value> {
    let mut wanted: HashMap<&str, Vec<&[&str]>> = HashMap::new();
    for path in paths {
        if let Some((first, rest)) = path.split_first() {
            wanted.entry(first).or_default().push(rest);
        }
    }
    let taken = |key: &str, value: &Value| {
        let paths = wanted.get(key)?;
        if paths.iter().any(|path| path.is_empty()) {
            return Some(value.clone());
        }
        let part = part(value, paths);
        (!part.is_empty()).then_some(Value::Object(part))
    };
    match value {
        Value::Object(members) => {
            members.iter().filter_map(|(key, member)| Some((key.clone(), taken(key, member)?))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| (position.to_string(), item))
            .filter_map(|(key, item)| taken(&key, item).map(|value| (key, value)))
            .collect(),
        _ => Map::new(),
    }
}
