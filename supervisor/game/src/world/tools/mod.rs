//! The tools that let a model look at a world and change it, each within given paths.
//!
//! Small models write paths and values with many small faults, so the tools forgive what they can: keys match whatever
//! their case, and texts become what the place holds. What cannot be forgiven is answered with what would work.

mod read;
mod update;

use std::sync::Arc;

use oam_agent::{Tool, ToolCall};
use serde_json::Value;

use super::{World, path::WorldPath, value, wording};
use crate::{line::same_words, local_tool::local_tool, wording::wrong_argument};

impl World {
    /// `read_world_state`, unless nothing is `readable`, and `update_world_state`, unless nothing is `writable`.
    ///
    /// The tools keep to these paths and what is within; [`WorldPath::root`] is everything. Their descriptions name
    /// the paths, or the top-level keys that the world has now. They answer mistakes with an error output that names the
    /// alternatives.
    pub fn tools(&self, readable: &[WorldPath], writable: &[WorldPath]) -> Vec<Tool> {
        let mut tools = Vec::new();
        if !readable.is_empty() {
            let readable: Arc<[WorldPath]> = readable.into();
            let description = self.read(|world| read::description(world.root, &readable));
            let world = self.clone();
            let parameters = wording::read_parameters();
            tools.push(local_tool(wording::READ_TOOL, description, &parameters, move |call| {
                read::read(&world, call, &readable)
            }));
        }
        if !writable.is_empty() {
            let writable: Arc<[WorldPath]> = writable.into();
            let description = wording::update(&writable);
            let world = self.clone();
            let parameters = wording::update_parameters();
            tools.push(local_tool(wording::UPDATE_TOOL, description, &parameters, move |call| {
                update::update(&world, call, &writable)
            }));
        }
        tools
    }
}

/// The path that a model means: a key that is not there stands for the first that differs only in case.
fn resolved(root: &Value, path: &WorldPath) -> WorldPath {
    let mut resolved = WorldPath::root();
    let mut here = Some(root);
    for segment in path.segments() {
        let key = here.and_then(|value| key_meant(value, segment)).unwrap_or(segment);
        resolved.push(key);
        here = here.and_then(|value| value::child(value, key));
    }
    resolved
}

fn key_meant<'v>(value: &'v Value, segment: &str) -> Option<&'v str> {
    let members = value.as_object()?;
    if let Some((key, _)) = members.get_key_value(segment) {
        return Some(key);
    }
    members.keys().find(|key| same_words(key, segment)).map(String::as_str)
}

fn is_within_any(path: &WorldPath, allowed: &[WorldPath]) -> bool {
    allowed.iter().any(|allowed| path.is_within(allowed))
}

/// The path in a call's arguments.
fn path_argument(call: &ToolCall) -> Result<WorldPath, String> {
    match call.arguments.get("path") {
        Some(Value::String(path)) => path.parse().map_err(|error: super::WorldError| error.to_string()),
        other => Err(wrong_argument(&call.name, "path", "a string", other)),
    }
}

#[cfg(test)]
mod tests;
