//! `oam tools validate`: whether a tools file can be used, and what a model sees of it.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::{
    console::{Console, counted},
    failure::ReportForm,
    files::InputPath,
    tools::{DefinedTool, Runs, ToolSet},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    Validate(ValidateArguments),
}

/// Check a tools file, and list its tools and who runs them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArguments {
    /// The tools file; `-` is standard input.
    file: InputPath,

    /// One JSON object with the tools as the model gets them.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = concat!(
    r#"Example:
  oam tools validate tools.json

A tools file is an array of definitions in OpenAI's form. With x-oam, oam runs the tool itself:
  [{"type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city.",
                 "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "x-oam": {"command": ["./weather.sh"], "timeout": 10}}]

"#,
    "Keys of x-oam: command (an array, or a string for /bin/sh), timeout (seconds, 30), cwd, env, maxOutputChars (8000 \
     bytes). Without a command the tool is external: its calls are handed to whoever asked.

Exit codes: 0 the file can be used, if with warnings; 2 it cannot."
);

pub(crate) fn run(command: &ToolsCommand) -> ExitCode {
    let ToolsCommand::Validate(arguments) = command;
    match ToolSet::load(Some(&arguments.file), &[]) {
        Ok(set) if arguments.json => {
            Console::stdout().json(&described(&set));
            ExitCode::SUCCESS
        }
        Ok(set) => {
            tell(&arguments.file, &set);
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(if arguments.json { ReportForm::Json } else { ReportForm::Text }),
    }
}

fn described(set: &ToolSet) -> Value {
    let tools: Vec<_> = set.tools().iter().map(described_tool).collect();
    json!({"tools": tools, "warnings": set.warnings()})
}

fn described_tool(tool: &DefinedTool) -> Value {
    let mut described = Map::new();
    described.insert("name".to_owned(), tool.name().as_str().into());
    described.insert("execution".to_owned(), tool.runs.as_str().into());
    if let Runs::Command(command) = &tool.runs {
        described.insert("command".to_owned(), command.words().into());
        described.insert("cwd".to_owned(), command.working_folder.to_string_lossy().into());
        described.insert("timeoutSeconds".to_owned(), command.time_limit.as_secs_f64().into());
    }
    described.insert("warnings".to_owned(), tool.warnings.clone().into());
    described.insert("generationSchema".to_owned(), tool.definition.parameters.json().clone());
    Value::Object(described)
}

fn tell(file: &InputPath, set: &ToolSet) {
    let mut lines = vec![format!("{} in {file}", counted(set.tools().len() as u64, "tool"))];
    for tool in set.tools() {
        lines.push(String::new());
        lines.push(tool.name().to_string());
        lines.push(match &tool.runs {
            Runs::Command(command) => format!("  command: {}", shell_words::join(command.words())),
            Runs::External => "  external: its calls are yours to answer (exit code 10)".to_owned(),
        });
        lines.extend(tool.definition.description.lines().map(|line| format!("  {line}")));
        lines.push(format!("  arguments: {}", arguments(tool)));
    }
    let stdout = Console::stdout();
    stdout.line(&stdout.shown(&lines.join("\n")));
    let stderr = Console::stderr();
    for warning in set.warnings() {
        stderr.warning(warning);
    }
    if set.tools().is_empty() {
        stderr.warning("there is no tool in it");
    } else if set.warnings().is_empty() {
        stderr.line("All is well.");
    }
}

/// The names of a tool's arguments, in the order in which the model writes them.
fn arguments(tool: &DefinedTool) -> String {
    let order = tool.definition.parameters.json().get("x-order").and_then(Value::as_array);
    let names: Vec<_> = order.into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() { "(none)".to_owned() } else { names.join(", ") }
}
