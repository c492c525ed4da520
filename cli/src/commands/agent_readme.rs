//! `oam agent-readme`: how to use `oam`, for agents that have nothing but a shell.
//!
//! The commands come from the command line itself, so that none is missing.

use std::{fmt::Write, process::ExitCode};

use clap::{Args, Command, CommandFactory};
use oam_agent::DEFAULT_CONTEXT_SIZE;
use serde_json::{Value, json};

use crate::{arguments::Arguments, console::Console};

/// Print a manual for AI agents.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentReadmeArguments {
    /// Facts for programs, as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  oam agent-readme > OAM.md";

const MANUAL: &str = include_str!("agent_readme/manual.md");

/// Code, name and meaning. An interrupt is none of the ways that a command ends by itself.
const EXIT_CODES: [(u8, &str, &str); 8] = [
    (0, "ok", "done"),
    (
        1,
        "error",
        "another failure: generation failed, a file could not be written, a server could not listen",
    ),
    (2, "usage", "the command line, a file or a value that it names cannot be used"),
    (3, "model_unavailable", "no model can be asked here and now"),
    (4, "guardrail_or_refusal", "the model's safety rules, or the model itself, refused"),
    (5, "context_size_exceeded", "the request does not fit into the model's context"),
    (6, "rate_limited", "the system limits how often the model may be asked"),
    (10, "tool_calls", "calls of external tools wait for their outputs; not an error"),
];

pub(crate) fn run(arguments: &AgentReadmeArguments) -> ExitCode {
    let stdout = Console::stdout();
    let commands = commands();
    if arguments.json {
        stdout.json(&facts(&commands));
    } else {
        stdout.write(&manual(&commands));
    }
    ExitCode::SUCCESS
}

/// How a command is used, and what for.
struct Described {
    usage: String,
    summary: String,
}

/// The commands that do something themselves, in the order of the help.
fn commands() -> Vec<Described> {
    fn walk(command: &mut Command, path: &str, found: &mut Vec<Described>) {
        for child in command.get_subcommands_mut().filter(|child| child.get_name() != "help") {
            let path = format!("{path} {}", child.get_name());
            if child.has_subcommands() {
                walk(child, &path, found);
                continue;
            }
            let usage = child.clone().bin_name(&path).render_usage().to_string();
            let usage = usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" ");
            let about = child.get_about().map(ToString::to_string).unwrap_or_default();
            found.push(Described { usage, summary: about.trim_end_matches('.').to_owned() });
        }
    }
    let mut found = Vec::new();
    let mut command = Arguments::command();
    command.build();
    walk(&mut command, "oam", &mut found);
    found
}

fn manual(commands: &[Described]) -> String {
    let mut listed = String::new();
    for Described { usage, summary } in commands {
        // Writing to a text does not fail.
        let _ = writeln!(listed, "* `{usage}`: {summary}");
    }
    let mut codes = String::new();
    for (code, name, meaning) in EXIT_CODES {
        let _ = writeln!(codes, "| {code} | `{name}` | {meaning} |");
    }
    MANUAL
        .replace("{commands}\n", &listed)
        .replace("{exit_codes}\n", &codes)
        .replace("{context}", &DEFAULT_CONTEXT_SIZE.to_string())
}

fn facts(commands: &[Described]) -> Value {
    let commands: Vec<_> = commands
        .iter()
        .map(|Described { usage, summary }| json!({"usage": usage, "summary": summary}))
        .collect();
    let exit_codes =
        EXIT_CODES.map(|(code, name, meaning)| json!({"code": code, "name": name, "meaning": meaning}));
    json!({
        "tool": "oam",
        "version": env!("CARGO_PKG_VERSION"),
        "commands": commands,
        "exitCodes": exit_codes,
        "shapes": {
            "completed": "{status: \"completed\", text, structured?, toolCalls: [{call: {id, name, arguments}, output, \
                isError, durationSeconds}], usage: {inputTokens, cachedInputTokens, outputTokens, totalTokens}, \
                steps: [{index, completedToolRounds, toolCallingMode, enabledTools, trimmedEntries}], transcript?, \
                warnings?}",
            "toolCallsPending": "{status: \"tool_calls\", calls: [{id, name, arguments}], transcript}",
            "error": "{error: {code, message}}",
            "events": "{type: \"modelStep\", step} | {type: \"text\", delta, text, isReset} | {type: \"partial\", value} | \
                {type: \"toolCallStarted\", call, execution: \"local\" | \"client\"} | {type: \"toolCallCompleted\", \
                record} | {type: \"completed\", response} | {type: \"tool_calls\", status, calls, transcript} | \
                {type: \"error\", error}",
            "toolsFile": "[{type: \"function\", function: {name, description?, parameters?}, \"x-oam\"?: {command: \
                [string] | string, timeout?: seconds, cwd?, env?: {name: value}, maxOutputChars?}}]",
        },
        "environment": {
            "OAM_SCRIPT": "a script file that is played instead of asking a model",
            "OAM_WORKER": "the program that asks the model, with its arguments",
            "OAM_RECORD": "a file to write what the model answers to: a script for OAM_SCRIPT",
            "OAM_RECORD_APPEND": "not empty: what is in that file stays",
            "OAM_API_KEY": "the key that clients of oam serve must send",
            "NO_COLOR": "not empty: no colours",
        },
        "limits": {"contextTokens": DEFAULT_CONTEXT_SIZE, "recommendedToolsPerRequest": "3-5"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{failure::FailureCode, runtime::INTERRUPTED};

    #[test]
    fn every_exit_code_of_a_failure_is_explained() {
        for failure in FailureCode::all() {
            let code = failure.exit_code();
            let is_explained = EXIT_CODES.iter().any(|(explained, ..)| *explained == code);
            assert!(is_explained || code == INTERRUPTED, "{failure:?}");
        }
    }
}
