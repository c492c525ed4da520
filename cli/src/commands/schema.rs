//! `oam schema convert`: what a model is held to when it is given a JSON Schema.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use oam_agent::{json_text, schema::Converted};
use serde_json::json;

use crate::{
    console::Console,
    failure::{Failure, ReportForm},
    files::InputPath,
    schema_file,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    Convert(ConvertArguments),
}

/// Convert a JSON Schema to the form that the model is held to, and tell what it is not held to.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConvertArguments {
    /// The file with the JSON Schema; `-` is standard input.
    file: InputPath,

    /// What to call the root type, if the schema has no title.
    #[arg(long, value_name = "NAME", default_value = schema_file::ROOT_NAME)]
    name: String,

    /// One JSON object with schema and warnings.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  oam schema convert person.json
  echo '{\"type\":\"integer\",\"minimum\":1}' | oam schema convert - --name Dice --json

The schema goes to standard output, warnings about what is only described to the model (patterns, \
formats, lengths) to standard error. With --json: {\"warnings\":[…],\"generationSchema\":{…}}.

Exit codes: 0 converted; 2 the file is no JSON object, or nothing can be generated from it.";

pub(crate) fn run(command: &SchemaCommand) -> ExitCode {
    let SchemaCommand::Convert(arguments) = command;
    match convert(arguments) {
        Ok(converted) => {
            tell(arguments, &converted);
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(if arguments.json { ReportForm::Json } else { ReportForm::Text }),
    }
}

fn convert(arguments: &ConvertArguments) -> Result<Converted, Failure> {
    let schema = schema_file::read(&arguments.file)?;
    schema_file::convert(&schema, &arguments.file.to_string(), &arguments.name)
}

fn tell(arguments: &ConvertArguments, converted: &Converted) {
    let stdout = Console::stdout();
    let warnings: Vec<_> = converted.warnings.iter().map(ToString::to_string).collect();
    let schema = converted.schema.json();
    if arguments.json {
        return stdout.json(&json!({"warnings": warnings, "generationSchema": schema}));
    }
    stdout.json_text(&json_text::pretty(schema));
    let stderr = Console::stderr();
    for warning in &warnings {
        stderr.warning(warning);
    }
    if warnings.is_empty() {
        stderr.line("The model is held to all of it.");
    }
}
