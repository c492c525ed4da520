//! `read_world_state`.

use oam_agent::{ToolCall, ToolOutput};
use serde_json::Value;

use super::{is_within_any, path_argument, resolved};
use crate::world::{World, abridge, part::Part, path::WorldPath, value, wording};

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

pub(super) fn read(world: &World, call: &ToolCall, readable: &[WorldPath]) -> Result<ToolOutput, String> {
    let path = match call.arguments.get("path") {
        None | Some(Value::Null) => WorldPath::root(),
        Some(_) => path_argument(call)?,
    };
    world.read(|world| look(world.root, &path, readable)).map(ToolOutput::Json)
}

fn look(root: &Value, path: &WorldPath, readable: &[WorldPath]) -> Result<Value, String> {
    let path = resolved(root, path);
    if is_within_any(&path, readable) {
        return match value::get(root, &path) {
            Some(value) => Ok(abridge::abridged(&Part::Whole(value))),
            None => Err(absent(root, &path, readable)),
        };
    }
    match Part::above(root, &path, readable) {
        Some(part) => Ok(abridge::abridged(&part)),
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
            let part = Part::above(root, &ancestor, readable);
            let members = match &part {
                Some(Part::Members(members)) => members.as_slice(),
                _ => &[],
            };
            wording::absent_from_object(path, &ancestor, members.iter().map(|(key, _)| &**key))
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
