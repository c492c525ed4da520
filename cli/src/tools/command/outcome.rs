//! What a model hears of a process that has ended.

use std::{fmt::Write as _, io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use nix::sys::signal::Signal;
use oam_agent::{ToolOutput, json_text};
use serde_json::Value;

use super::{
    CommandTool,
    captured::Captured,
    process::{End, Exited},
};

/// The most that an error output tells of what a process printed, in characters.
const LONGEST_DETAIL: usize = 2000;
/// JSON that nests deeper is handed on as text: results that hold it must be readable.
const DEEPEST_JSON: usize = 64;

pub(super) fn output(tool: &str, end: End, command: &CommandTool) -> ToolOutput {
    match end {
        End::Exited(exited) if exited.status.success() => printed(&exited.stdout, command.longest_output),
        End::Exited(exited) => ToolOutput::Error(failed(tool, &exited)),
        End::TimedOut => {
            let limit = seconds(command.time_limit);
            ToolOutput::Error(format!("Tool '{tool}' timed out after {limit}s and was stopped."))
        }
        End::Cancelled => ToolOutput::Error(format!("Tool '{tool}' was cancelled.")),
        End::Lost(error) => ToolOutput::Error(format!("Tool '{tool}' ended, and nobody knows how: {error}")),
    }
}

pub(super) fn not_started(tool: &str, error: &io::Error, command: &CommandTool) -> ToolOutput {
    let program = command.program.display();
    ToolOutput::Error(format!("Tool '{tool}' could not be started: {program}: {error}"))
}

fn printed(stdout: &Captured, longest: usize) -> ToolOutput {
    let (mut text, more) = stdout.beginning(longest);
    if more > 0 {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        // Writing to a text does not fail.
        let _ = write!(text, "(… and {more} more bytes)");
        return ToolOutput::Text(text);
    }
    if let Some(json) = json(text.trim()) {
        return ToolOutput::Json(json);
    }
    if text.trim().is_empty() {
        return ToolOutput::Text("(no output)".to_owned());
    }
    if text.ends_with('\n') {
        text.pop();
    }
    ToolOutput::Text(text)
}

/// An object or array. A lone number or string is text like any other.
fn json(text: &str) -> Option<Value> {
    let value = text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())??;
    (!json_text::nests_deeper(&value, DEEPEST_JSON)).then_some(value)
}

fn failed(tool: &str, exited: &Exited) -> String {
    let stderr = exited.stderr.lossy();
    let detail = if stderr.trim().is_empty() {
        // The end of an error says what went wrong, the beginning of an output what it is about.
        beginning(exited.stdout.lossy().trim())
    } else {
        end(stderr.trim())
    };
    let how = ending(exited.status);
    if detail.is_empty() { format!("Tool '{tool}' {how}.") } else { format!("Tool '{tool}' {how}: {detail}") }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => format!("was killed by signal {number} ({signal})"),
            Err(_) => format!("was killed by signal {number}"),
        },
        (None, None) => format!("ended ({status})"),
    }
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DETAIL) {
        None => text.to_owned(),
        Some(_) => text.chars().take(LONGEST_DETAIL - 1).chain(['…']).collect(),
    }
}

fn end(text: &str) -> String {
    let characters = text.chars().count();
    if characters <= LONGEST_DETAIL {
        return text.to_owned();
    }
    ['…'].into_iter().chain(text.chars().skip(characters - (LONGEST_DETAIL - 1))).collect()
}

/// Seconds as people write them: `5`, `1.5`, `0.02`.
fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    if limit.subsec_nanos() == 0 || seconds < 0.1 { seconds.to_string() } else { format!("{seconds:.1}") }
}
