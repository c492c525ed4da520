//! The form in which a conversation's file keeps its tools: `OpenAI`'s, with everything in `x-oam` looked up, so that the
//! file can be used from any folder.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    Collector, DefinedTool, Runs, ToolSet,
    command::{CommandTool, DEFAULT_LONGEST_OUTPUT},
    definition::Definitions,
    unusable, x_oam,
};
use crate::failure::Failure;

impl ToolSet {
    /// The tools as a file keeps them. Environment variables are among it, values and all.
    pub(crate) fn to_saved(&self) -> Value {
        self.tools.iter().map(saved_tool).collect()
    }

    /// The tools as [`to_saved`](Self::to_saved) wrote them. Failures name `source`, the file. What there was to warn
    /// about has been told when they were defined.
    pub(crate) fn from_saved(saved: &Value, source: &str) -> Result<Self, Failure> {
        let list = format!("{source}: oam.tools");
        let definitions = Definitions::of_file(saved).map_err(|reason| unusable(&list, reason))?;
        let mut set = Collector::default();
        set.add(&list, Path::new("."), &definitions)?;
        let mut set = set.finish();
        set.warnings.clear();
        Ok(set)
    }
}

fn saved_tool(tool: &DefinedTool) -> Value {
    let definition = &tool.definition;
    let mut saved = json!({
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": tool.parameters,
        },
    });
    if let Runs::Command(command) = &tool.runs {
        saved[x_oam::KEY] = Value::Object(saved_command(command));
    }
    saved
}

fn saved_command(command: &CommandTool) -> Map<String, Value> {
    let mut saved = Map::new();
    saved.insert("command".to_owned(), command.words().into());
    saved.insert("cwd".to_owned(), command.working_folder.to_string_lossy().into());
    saved.insert("timeout".to_owned(), command.time_limit.as_secs_f64().into());
    if !command.environment.is_empty() {
        let variables = command.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        saved.insert("env".to_owned(), Value::Object(variables.collect()));
    }
    if command.longest_output != DEFAULT_LONGEST_OUTPUT {
        saved.insert("maxOutputChars".to_owned(), command.longest_output.into());
    }
    saved
}
