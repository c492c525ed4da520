//! The tools that let a model look at a world and change it, each within given paths.
//!
//! Small models write paths and values with many small faults, so the tools forgive what they can: keys match whatever
//! their case, and texts become what the place holds. What cannot be forgiven is answered with what would work.

mod read;
mod update;

use std::sync::Arc;

use oam_agent::{Tool, ToolCall, ToolDefinition, ToolName, ToolOutput, json_text};
use serde_json::{Map, Value};

use super::{World, path::WorldPath, value, wording};

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
            tools.push(self.tool(
                wording::READ_TOOL,
                description,
                &wording::read_parameters(),
                move |world, arguments| read::read(world, arguments, &readable),
            ));
        }
        if !writable.is_empty() {
            let writable: Arc<[WorldPath]> = writable.into();
            tools.push(self.tool(
                wording::UPDATE_TOOL,
                wording::update(&writable),
                &wording::update_parameters(),
                move |world, arguments| update::update(world, arguments, &writable),
            ));
        }
        tools
    }

    fn tool(
        &self,
        name: &str,
        description: String,
        parameters: &Value,
        run: impl Fn(&Self, &Map<String, Value>) -> Result<ToolOutput, String> + Send + Sync + 'static,
    ) -> Tool {
        let name = ToolName::new(name).expect("the name is one of a tool");
        let (definition, _) = ToolDefinition::from_json_schema(name, description, parameters)
            .expect("the parameters are a schema of an object");
        let world = self.clone();
        let run = move |call: Arc<ToolCall>| {
            let output = run(&world, &call.arguments).unwrap_or_else(ToolOutput::Error);
            std::future::ready(output)
        };
        Tool::local(definition, run).lenient()
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
    let wanted = segment.to_lowercase();
    members.keys().find(|key| key.to_lowercase() == wanted).map(String::as_str)
}

fn is_within_any(path: &WorldPath, allowed: &[WorldPath]) -> bool {
    allowed.iter().any(|allowed| path.is_within(allowed))
}

/// The argument, read as a path.
fn path_argument(tool: &str, path: Option<&Value>) -> Result<WorldPath, String> {
    let Some(Value::String(path)) = path else {
        return Err(bad_argument(tool, "path", "a string", path));
    };
    path.parse().map_err(|error: super::WorldError| error.to_string())
}

fn bad_argument(tool: &str, argument: &str, expected: &str, got: Option<&Value>) -> String {
    let got = got.map_or_else(|| "nothing".to_owned(), json_text::abridged);
    wording::bad_argument(tool, argument, expected, &got)
}

#[cfg(test)]
mod tests;
