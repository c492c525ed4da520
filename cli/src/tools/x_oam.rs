//! `x-oam`: how `oam` runs a tool itself.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use oam_agent::json_text;
use serde_json::{Map, Value};

use super::{
    command::{CommandTool, DEFAULT_LONGEST_OUTPUT, DEFAULT_TIME_LIMIT},
    definition::{given, invalid},
};
use crate::{failure::Failure, files, program};

pub(super) const KEY: &str = "x-oam";

const KNOWN: [&str; 5] = ["command", "timeout", "cwd", "env", "maxOutputChars"];

/// The longest time limit, in seconds: a day.
const LONGEST_TIMEOUT: f64 = 86_400.0;
/// The most that `maxOutputChars` may be: what is kept stays in memory.
const MOST_OUTPUT: u64 = 64 << 20;

/// A warning for each key that means nothing: it may be a misspelled one.
pub(super) fn unknown_keys(members: &Map<String, Value>) -> impl Iterator<Item = String> {
    members.keys().filter(|key| !KNOWN.contains(&key.as_str())).map(|key| {
        format!("{KEY} has no key {}; the known ones are {}.", json_text::abridged(key), KNOWN.join(", "))
    })
}

/// The command that runs the tool; none if it is external.
pub(super) fn read(
    place: &str,
    members: &Map<String, Value>,
    folder: &Path,
) -> Result<Option<CommandTool>, Failure> {
    // What is wrong is told also where it would not be used.
    let time_limit = time_limit(place, members)?;
    let working_folder = working_folder(place, members, folder)?;
    let environment = environment(place, members)?;
    let longest_output = longest_output(place, members)?;
    let Some(command) = given(members, "command") else { return Ok(None) };
    let (program, arguments) = command_line(place, command, folder)?;
    Ok(Some(CommandTool { program, arguments, working_folder, time_limit, environment, longest_output }))
}

/// Program and arguments. Only the program is looked up.
fn command_line(place: &str, command: &Value, folder: &Path) -> Result<(PathBuf, Vec<String>), Failure> {
    let failed = |what: &str| invalid(place, format_args!(".command {what}"));
    let words: Vec<&str> = match command {
        Value::String(line) if !line.trim().is_empty() => vec!["/bin/sh", "-c", line],
        Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().ok_or_else(|| failed("must hold strings only")))
            .collect::<Result<_, _>>()?,
        Value::String(_) => Vec::new(),
        _ => return Err(failed("must be an array (program and arguments) or a string (for /bin/sh -c)")),
    };
    if words.iter().any(|word| word.contains('\0')) {
        return Err(failed("must not hold the character U+0000"));
    }
    let Some((&program, arguments)) = words.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(failed("is empty; leave it out for an external tool"));
    };
    let program = program::find(program, folder)
        .map_err(|reason| invalid(place, format_args!(".command: {reason}")))?;
    Ok((program, arguments.iter().map(|&argument| argument.to_owned()).collect()))
}

fn time_limit(place: &str, members: &Map<String, Value>) -> Result<Duration, Failure> {
    let Some(written) = given(members, "timeout") else { return Ok(DEFAULT_TIME_LIMIT) };
    let seconds = written.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_TIMEOUT);
    let limit = seconds.map(|seconds| Duration::from_secs_f64(seconds).max(Duration::from_millis(1)));
    limit.ok_or_else(|| {
        let written = json_text::abridged(written);
        let what = format!("must be a positive number of seconds, at most {LONGEST_TIMEOUT}, not {written}");
        invalid(place, format_args!(".timeout {what}"))
    })
}

fn working_folder(place: &str, members: &Map<String, Value>, folder: &Path) -> Result<PathBuf, Failure> {
    let Some(written) = given(members, "cwd") else { return Ok(files::absolute(Path::new("."))) };
    let path = written.as_str().ok_or_else(|| invalid(place, ".cwd must be a string (a folder)"))?;
    let path = files::absolute(&folder.join(files::with_home(Path::new(path))));
    if path.is_dir() {
        Ok(path)
    } else {
        Err(invalid(place, format_args!(".cwd: there is no folder {}", path.display())))
    }
}

fn environment(place: &str, members: &Map<String, Value>) -> Result<Vec<(String, String)>, Failure> {
    let Some(written) = given(members, "env") else { return Ok(Vec::new()) };
    let variables = written
        .as_object()
        .ok_or_else(|| invalid(place, ".env must be an object of variables and their values"))?;
    let variable = |(name, value): (&String, &Value)| {
        // Names may be shown, values not: they may be secrets.
        let failed = |what: &str| invalid(place, format_args!(".env[{}] {what}", json_text::abridged(name)));
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(failed("is no name for a variable"));
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) => json_text::compact(value),
            _ => return Err(failed("must be a string or a number")),
        };
        if value.contains('\0') {
            return Err(failed("must not hold the character U+0000"));
        }
        Ok((name.clone(), value))
    };
    variables.iter().map(variable).collect()
}

fn longest_output(place: &str, members: &Map<String, Value>) -> Result<usize, Failure> {
    let Some(written) = given(members, "maxOutputChars") else { return Ok(DEFAULT_LONGEST_OUTPUT) };
    let bytes = integer(written).filter(|bytes| (1..=MOST_OUTPUT).contains(bytes));
    bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| {
        let written = json_text::abridged(written);
        let what = format!("must be a positive integer, at most {MOST_OUTPUT}, not {written}");
        invalid(place, format_args!(".maxOutputChars {what}"))
    })
}

/// An integer, also as `8e3`.
fn integer(value: &Value) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integral and in range")]
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..=1e15).contains(&number)).then_some(number as u64)
    })
}
