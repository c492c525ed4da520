//! The tools that a command gives to the model (docs/CLI.md, Tools files).
//!
//! They come from a tools file, from `--tool-json`, or from a saved conversation. [`definition`] reads one of them,
//! [`x_oam`] what it says of the command that runs it, [`saved`] keeps a set for later. A tool with a command runs by
//! itself ([`command`]); one without is external: whoever asked is told of its calls.

mod command;
mod definition;
mod saved;
#[cfg(test)]
mod tests;
mod x_oam;

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
    sync::Arc,
};

use oam_agent::{Tool, ToolDefinition, ToolName};
use serde_json::Value;

use crate::{
    failure::Failure,
    files::{self, InputPath},
};

pub(crate) use command::{CommandTool, all_ended, end_all};
use definition::Definitions;

/// A small model chooses badly among more tools.
const RECOMMENDED_TOOLS: usize = 5;

/// Tools with different names, in the order in which they were defined.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolSet {
    tools: Vec<DefinedTool>,
    warnings: Vec<String>,
}

/// A tool, and who runs it.
#[derive(Debug, Clone)]
pub(crate) struct DefinedTool {
    /// What the model knows of it.
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) runs: Runs,
    /// What should be better about it, without its name.
    pub(crate) warnings: Vec<String>,
    /// The arguments' JSON Schema, as it was written.
    parameters: Value,
}

/// Who runs a tool.
#[derive(Debug, Clone)]
pub(crate) enum Runs {
    /// `oam` itself, as a process.
    Command(Arc<CommandTool>),
    /// Whoever asked.
    External,
}

impl Runs {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::External => "external",
        }
    }
}

impl ToolSet {
    /// The tools of a tools file and of the values of `--tool-json`. The failure names the file or value and the place
    /// in it.
    pub(crate) fn load(file: Option<&InputPath>, inline: &[String]) -> Result<Self, Failure> {
        let mut set = Collector::default();
        if let Some(file) = file {
            let value = file.read_json()?;
            let definitions = Definitions::of_file(&value).map_err(|reason| unusable(file, reason))?;
            set.add(&format!("{file}: tools"), &file.folder(), &definitions)?;
        }
        for (index, text) in inline.iter().enumerate() {
            let source = format!("--tool-json #{}", index + 1);
            let value = files::parse_json(text.as_bytes()).map_err(|reason| unusable(&source, &reason))?;
            let definitions = Definitions::of_argument(&value).map_err(|reason| unusable(&source, reason))?;
            set.add(&format!("{source}: tools"), Path::new("."), &definitions)?;
        }
        Ok(set.finish())
    }

    /// External tools, as a conversation's instructions list them.
    pub(crate) fn external(definitions: impl IntoIterator<Item = Arc<ToolDefinition>>) -> Self {
        let external = |definition: Arc<ToolDefinition>| DefinedTool {
            parameters: definition.parameters.json().clone(),
            definition,
            runs: Runs::External,
            warnings: Vec::new(),
        };
        Self { tools: definitions.into_iter().map(external).collect(), warnings: Vec::new() }
    }

    pub(crate) fn tools(&self) -> &[DefinedTool] {
        &self.tools
    }

    /// What should be better about the tools, each with the tool's name. Never a reason not to use them.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The tools as an agent takes them: command tools are local, and keep to their time limits themselves, once they run;
    /// external ones are the client's, and have none.
    pub(crate) fn for_agent(&self) -> Vec<Tool> {
        self.tools.iter().map(DefinedTool::for_agent).collect()
    }
}

impl DefinedTool {
    pub(crate) fn name(&self) -> &ToolName {
        &self.definition.name
    }

    fn for_agent(&self) -> Tool {
        let definition = ToolDefinition::clone(&self.definition);
        match &self.runs {
            Runs::External => Tool::client(definition).with_timeout(None),
            Runs::Command(command) => {
                let command = Arc::clone(command);
                Tool::local(definition, move |call| Arc::clone(&command).run(call)).with_timeout(None)
            }
        }
    }
}

/// Puts the definitions of several sources together.
#[derive(Default)]
struct Collector {
    tools: Vec<DefinedTool>,
    /// Where each name was defined.
    places: HashMap<ToolName, String>,
}

impl Collector {
    /// Adds definitions. `list` is how messages name all of them: `tools.json: tools`.
    fn add(&mut self, list: &str, folder: &Path, definitions: &Definitions<'_>) -> Result<(), Failure> {
        for (index, value) in definitions.elements().iter().enumerate() {
            let place = format!("{list}[{index}]");
            let tool = definition::read(&place, value, folder)?;
            match self.places.entry(tool.name().clone()) {
                Entry::Occupied(earlier) => {
                    let (name, earlier) = (earlier.key(), earlier.get());
                    return Err(Failure::invalid_input(format!(
                        "{place}.name: there is a tool '{name}' already ({earlier}); give one of them another name"
                    )));
                }
                Entry::Vacant(free) => free.insert(place),
            };
            self.tools.push(tool);
        }
        Ok(())
    }

    fn finish(self) -> ToolSet {
        let mut warnings: Vec<_> = self
            .tools
            .iter()
            .flat_map(|tool| tool.warnings.iter().map(|warning| format!("{}: {warning}", tool.name())))
            .collect();
        if self.tools.len() > RECOMMENDED_TOOLS {
            warnings.push(format!(
                "{} tools: on-device models choose best among 3 to 5; give only those that this task needs.",
                self.tools.len()
            ));
        }
        ToolSet { tools: self.tools, warnings }
    }
}

/// The reason is a sentence without subject and end.
fn unusable(source: impl std::fmt::Display, reason: &str) -> Failure {
    Failure::invalid_input(format!("{source}: {reason}"))
}
