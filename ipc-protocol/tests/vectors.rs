//! The golden vectors: frames and what they say, for every implementation of this protocol.
//!
//! * `to-worker.json`, `from-worker.json`: `{name, message, hex}`. The frame reads as the message, and this is how it
//!   is written.
//! * `also-read.json`: `{name, direction, message, hex}`. Another way to write it, or what a newer side might send:
//!   reads as the message.
//! * `refused.json`: `{name, direction, hex}`. No message.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

use oam_ipc::{
    DecodeError, Entry, FromWorker, Generate, LogLevel, Message, Outcome, Sampling, Segment, ToWorker,
    ToolMode, decode, encode,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize)]
struct Vector {
    name: String,
    message: Value,
    hex: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Direction {
    ToWorker,
    FromWorker,
}

#[derive(Deserialize)]
struct AlsoRead {
    name: String,
    direction: Direction,
    message: Value,
    hex: String,
}

#[derive(Deserialize)]
struct Refused {
    name: String,
    direction: Direction,
    hex: String,
}

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "vectors", file].iter().collect()
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> Vec<T> {
    serde_json::from_str(&fs::read_to_string(path(file)).unwrap()).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Without its length.
fn written<M: Message>(message: &M) -> String {
    let mut frame = Vec::new();
    encode(message, &mut frame).unwrap();
    hex(&frame[4..])
}

fn check_both_directions<M: Message>(file: &str) -> Vec<M> {
    let check = |Vector { name, message, hex }: Vector| {
        let read: M = decode(&bytes(&hex)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), message.to_string(), "{name}");
        let from_json: M = serde_json::from_value(message).unwrap();
        assert_eq!(written(&from_json), hex, "{name}");
        from_json
    };
    read(file).into_iter().map(check).collect()
}

#[test]
fn what_a_supervisor_says_is_read_and_written_as_the_vectors_show() {
    let messages = check_both_directions::<ToWorker>("to-worker.json");
    let kinds = messages.iter().filter_map(|message| match message {
        ToWorker::Generate(_) => Some("generate"),
        ToWorker::Cancel { .. } => Some("cancel"),
        ToWorker::CountTokens(_) => Some("countTokens"),
        ToWorker::Prewarm { .. } => Some("prewarm"),
        ToWorker::Availability { .. } => Some("availability"),
        ToWorker::Ping { .. } => Some("ping"),
        ToWorker::Shutdown { .. } => Some("shutdown"),
        ToWorker::Unknown => None,
    });
    let all = ["availability", "cancel", "countTokens", "generate", "ping", "prewarm", "shutdown"];
    assert_eq!(kinds.collect::<BTreeSet<_>>(), BTreeSet::from(all));
}

#[test]
fn the_vectors_show_every_kind_of_entry_segment_tool_mode_and_sampling() {
    let messages: Vec<Vector> = read("to-worker.json");
    let requests: Vec<Generate> = messages
        .into_iter()
        .filter_map(|vector| match serde_json::from_value(vector.message).unwrap() {
            ToWorker::Generate(request) => Some(*request),
            _ => None,
        })
        .collect();
    let entries = requests.iter().flat_map(|request| &request.transcript);
    let kinds = entries.clone().filter_map(|entry| match entry {
        Entry::Prompt { .. } => Some("prompt"),
        Entry::ToolCalls { .. } => Some("toolCalls"),
        Entry::ToolOutput { .. } => Some("toolOutput"),
        Entry::Response { .. } => Some("response"),
        Entry::Opaque { .. } => Some("opaque"),
        Entry::Unknown => None,
    });
    let all = ["opaque", "prompt", "response", "toolCalls", "toolOutput"];
    assert_eq!(kinds.collect::<BTreeSet<_>>(), BTreeSet::from(all));

    let segments = entries.flat_map(|entry| match entry {
        Entry::Prompt { segments } | Entry::ToolOutput { segments, .. } | Entry::Response { segments } => {
            segments.as_slice()
        }
        _ => &[],
    });
    let kinds = segments.filter_map(|segment| match segment {
        Segment::Text { .. } => Some("text"),
        Segment::Structure { .. } => Some("structure"),
        Segment::Attachment { .. } => Some("attachment"),
        Segment::Unknown => None,
    });
    assert_eq!(kinds.collect::<BTreeSet<_>>(), BTreeSet::from(["attachment", "structure", "text"]));

    let modes = requests.iter().map(|request| match request.tool_mode {
        ToolMode::Allowed => "allowed",
        ToolMode::Required => "required",
        ToolMode::Disallowed => "disallowed",
    });
    assert_eq!(modes.collect::<BTreeSet<_>>(), BTreeSet::from(["allowed", "disallowed", "required"]));

    let samplings =
        requests.iter().filter_map(|request| request.options.sampling).map(|sampling| match sampling {
            Sampling::Greedy => "greedy",
            Sampling::TopK { seed: Some(_), .. } => "topK, seed",
            Sampling::TopK { seed: None, .. } => "topK",
            Sampling::TopP { seed: Some(_), .. } => "topP, seed",
            Sampling::TopP { seed: None, .. } => "topP",
        });
    let all = ["greedy", "topK", "topK, seed", "topP", "topP, seed"];
    assert_eq!(samplings.collect::<BTreeSet<_>>(), BTreeSet::from(all));
}

#[test]
fn what_a_worker_says_is_read_and_written_as_the_vectors_show() {
    let messages = check_both_directions::<FromWorker>("from-worker.json");
    let kinds = messages.iter().filter_map(|message| match message {
        FromWorker::Ready(_) => Some("ready"),
        FromWorker::Delta { .. } => Some("delta"),
        FromWorker::Reset { .. } => Some("reset"),
        FromWorker::Partial { .. } => Some("partial"),
        FromWorker::Finished { outcome: Outcome::Text { .. }, .. } => Some("finished, text"),
        FromWorker::Finished { outcome: Outcome::Structured { .. }, .. } => Some("finished, structured"),
        FromWorker::Finished { outcome: Outcome::ToolCalls { .. }, .. } => Some("finished, toolCalls"),
        FromWorker::Failed { data: None, .. } => Some("failed"),
        FromWorker::Failed { data: Some(_), .. } => Some("failed, data"),
        FromWorker::Tokens { .. } => Some("tokens"),
        FromWorker::Availability { .. } => Some("availability"),
        FromWorker::Pong { .. } => Some("pong"),
        FromWorker::Log { level: LogLevel::Debug, .. } => Some("log, debug"),
        FromWorker::Log { level: LogLevel::Info, .. } => Some("log, info"),
        FromWorker::Log { level: LogLevel::Warning, .. } => Some("log, warning"),
        FromWorker::Log { level: LogLevel::Error, .. } => Some("log, error"),
        FromWorker::Unknown => None,
    });
    let all = [
        "availability",
        "delta",
        "failed",
        "failed, data",
        "finished, structured",
        "finished, text",
        "finished, toolCalls",
        "log, debug",
        "log, error",
        "log, info",
        "log, warning",
        "partial",
        "pong",
        "ready",
        "reset",
        "tokens",
    ];
    assert_eq!(kinds.collect::<BTreeSet<_>>(), BTreeSet::from(all));
}

/// The message of a frame as JSON.
fn json_of(direction: Direction, hex: &str) -> Result<Value, DecodeError> {
    Ok(match direction {
        Direction::ToWorker => serde_json::to_value(decode::<ToWorker>(&bytes(hex))?).unwrap(),
        Direction::FromWorker => serde_json::to_value(decode::<FromWorker>(&bytes(hex))?).unwrap(),
    })
}

#[test]
fn other_ways_to_write_a_message_are_read() {
    for AlsoRead { name, direction, message, hex } in read("also-read.json") {
        let read = json_of(direction, &hex).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.to_string(), message.to_string(), "{name}");
    }
}

#[test]
fn what_is_no_message_is_refused() {
    for Refused { name, direction, hex } in read("refused.json") {
        let error = json_of(direction, &hex).err();
        assert!(matches!(error, Some(DecodeError::Malformed { .. })), "{name}: {error:?}");
    }
}

/// Writes the bytes of each vector anew from its message: `cargo test -p oam-ipc --test vectors -- --ignored`
#[test]
#[ignore = "changes the vectors"]
fn write_the_vectors() {
    fn write<M: Message>(file: &str) {
        let again = |vector: Vector| {
            let message: M = serde_json::from_value(vector.message).unwrap();
            let message_json = serde_json::to_value(&message).unwrap();
            let vector = Vector { name: vector.name, message: message_json, hex: written(&message) };
            serde_json::to_string(&vector).unwrap()
        };
        let lines: Vec<_> = read(file).into_iter().map(again).collect();
        fs::write(path(file), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    write::<ToWorker>("to-worker.json");
    write::<FromWorker>("from-worker.json");
}
