//! What can be said on the command line: the commands, and the arguments that several of them share. What only one
//! command takes stands with that command. Some of it can be said by variables, too.

pub(crate) mod model;
pub(crate) mod recording;
pub(crate) mod seconds;
pub(crate) mod turn;

use std::{env, ffi::OsString};

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        agent_readme::AgentReadmeArguments, available::AvailableArguments, chat::ChatArguments,
        completions::CompletionsArguments, demo::DemoArguments, man::ManArguments, record::RecordArguments,
        respond::RespondArguments, schema::SchemaCommand, serve::ServeArguments, service::ServiceCommand,
        status::StatusArguments, stdio::StdioArguments, tools::ToolsCommand,
    },
    failure::Failure,
};

/// Agents and game characters on on-device language models, with real tool calls.
#[derive(Debug, Parser)]
#[command(
    name = "oam",
    version,
    max_term_width = 100,
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// Without one, help is what was asked for.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Respond(Box<RespondArguments>),
    Chat(ChatArguments),
    Demo(DemoArguments),
    Serve(Box<ServeArguments>),
    Stdio(StdioArguments),
    /// Run, manage and look at the service that programs share.
    #[command(subcommand, after_help = crate::commands::service::EXAMPLES)]
    Service(ServiceCommand),
    Record(RecordArguments),
    Available(AvailableArguments),
    Status(StatusArguments),
    /// Look at JSON Schemas as the model sees them.
    #[command(subcommand, after_help = SCHEMA_EXAMPLES)]
    Schema(SchemaCommand),
    /// Look at tools before a model gets them.
    #[command(subcommand, after_help = TOOLS_EXAMPLES)]
    Tools(ToolsCommand),
    AgentReadme(AgentReadmeArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
    /// Run as a worker; for trying one out, the supervisor starts them by itself.
    #[command(subcommand, after_help = WORKER_EXAMPLES)]
    Worker(WorkerCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Play scripts as a worker process, with faults on demand.
    #[command(disable_help_flag = true)]
    Scripted {
        /// Passed on to the worker.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// What a variable of the environment says. An empty one says nothing.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The same, where it must be text.
pub(crate) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let text = variable(name).map(OsString::into_string).transpose();
    text.map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
}

const EXAMPLES: &str = "\
Examples:
  oam demo tavern                           talk to an innkeeper, with or without a model
  oam respond 'Name three colours of autumn.'
  oam chat --tools tools.json
  oam serve                                 answer OpenAI's clients at http://127.0.0.1:1976/v1
  oam service install                       one oam for all programs of this user
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | oam stdio

Environment:
  OAM_WORKER=CMD     the worker program, like --worker
  OAM_SCRIPT=FILE    a script or recording that is played instead of asking a model
  OAM_RECORD=FILE    write what the model answers, like oam record

Each command has a --help of its own.";

const SCHEMA_EXAMPLES: &str = "\
Example:
  oam schema convert person.json";

const TOOLS_EXAMPLES: &str = "\
Example:
  oam tools validate tools.json";

const WORKER_EXAMPLES: &str = "\
Example:
  oam stdio --worker 'oam worker scripted --fault kill:p=0.01'";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
