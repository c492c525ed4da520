//! Bodies of requests with something odd in them: values where others belong, and bytes that are no JSON.

use std::iter::repeat_n;

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// What requests say, in other places.
const WORDS: &[&str] = &[
    "",
    "a",
    "system",
    "user",
    "assistant",
    "tool",
    "developer",
    "function",
    "auto",
    "none",
    "required",
    "allowed_tools",
    "text",
    "image_url",
    "input_text",
    "input_image",
    "output_text",
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "json_schema",
    "json_object",
    "object",
    "string",
    "{}",
    "[1]",
    "1e400",
    "https://x/",
    "data:,",
    "data:image/png;base64,iVBORw0KGgo",
];

/// Names of members that requests know.
const NAMES: &[&str] = &[
    "model",
    "messages",
    "input",
    "stream",
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "call_id",
    "output",
    "format",
    "id",
    "type",
    "function",
    "name",
    "arguments",
    "text",
    "url",
    "image_url",
    "parameters",
    "properties",
    "items",
    "required",
    "enum",
    "schema",
    "json_schema",
    "$ref",
    "anyOf",
    "mode",
    "tools",
    "tool_choice",
    "refusal",
];

/// Values as they may be written, and some as they may not.
const ODD_VALUES: &[&str] = &[
    "null",
    "true",
    "-1",
    "0",
    "-0.0",
    "1.5",
    "1e400",
    "-1e400",
    "[1e400]",
    "1e-400",
    "1.7976931348623157e308",
    "9007199254740993",
    "18446744073709551616",
    r#""\ud800""#,
    r#""\udc00\ud800""#,
    r#""\u0000""#,
    r#""\ud83d\ude00""#,
    r#""\q""#,
    "\"\u{202e}\u{2028}\"",
    "\"\n\"",
    "\"open",
    "[]",
    "{}",
    "[[]]",
    r#"{"":{"":[]}}"#,
    r##"{"$ref":"#"}"##,
    r#"{"a":1,"a":2}"#,
    "NaN",
    "-Infinity",
    "01",
    "+1",
    ".5",
    "1.",
    "tru",
    "'a'",
];

/// Bytes that mean something between others, or nothing anywhere.
const PIECES: &[&[u8]] = &[
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r\n",
    b"\"",
    b"\\",
    b"\\u",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"//",
    b"0",
    b"e",
    b"-",
];

/// Some members of `body` with at least one thing odd in them.
pub(super) fn mutated(rng: &mut Rng, body: &Map<String, Value>) -> Vec<u8> {
    let (changes, corruptions) = *pick(rng, &[(1, 0), (1, 0), (2, 0), (0, 1), (1, 1), (3, 2)]);
    let is_kept = |name: &str, rng: &mut Rng| matches!(name, "messages" | "input" | "stream") || rng.bool();
    let some = body.iter().filter(|(name, _)| is_kept(name, rng));
    let mut body: Value = some.map(|(name, value)| (name.clone(), value.clone())).collect();
    for _ in 0..changes {
        change(rng, &mut body);
    }
    let mut bytes = body.to_string().into_bytes();
    for _ in 0..corruptions {
        corrupt(rng, &mut bytes);
    }
    bytes
}

/// Puts another value somewhere in `body`.
fn change(rng: &mut Rng, body: &mut Value) {
    let other = place(rng, body).clone();
    let place = place(rng, body);
    *place = match rng.u8(0..8) {
        0..2 => other,
        2 => (*pick(rng, WORDS)).into(),
        3 => scalar(rng),
        4 => Value::Array(vec![place.take()]),
        5 => Value::Object(Map::from_iter([((*pick(rng, NAMES)).to_owned(), place.take())])),
        6 => with_more(rng, place.take(), other),
        _ => with_less(rng, place.take()),
    };
}

fn scalar(rng: &mut Rng) -> Value {
    match rng.u8(0..6) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => rng.i64(..).into(),
        3 => json!(f64::from_bits(rng.u64(..))),
        4 => rng.i8(..).into(),
        _ => json!(rng.f64()),
    }
}

fn with_more(rng: &mut Rng, mut value: Value, more: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.insert(rng.usize(..=items.len()), more),
        Value::Object(members) => {
            members.insert((*pick(rng, NAMES)).to_owned(), more);
        }
        _ => {}
    }
    value
}

fn with_less(rng: &mut Rng, mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) if !items.is_empty() => {
            items.remove(rng.usize(..items.len()));
        }
        Value::Object(members) => {
            let name = members.keys().nth(rng.usize(..=members.len())).cloned();
            name.and_then(|name| members.shift_remove(&name));
        }
        _ => {}
    }
    value
}

/// A value somewhere within.
fn place<'a>(rng: &mut Rng, value: &'a mut Value) -> &'a mut Value {
    let members = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if members == 0 || rng.u8(0..5) == 0 {
        return value;
    }
    let at = rng.usize(..members);
    let member = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(members) => members.values_mut().nth(at),
        _ => None,
    };
    place(rng, member.expect("it is within"))
}

/// Changes the text, whatever that makes of the JSON.
fn corrupt(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.usize(..bytes.len());
    let until = |most: usize| bytes.len().min(at + most);
    match rng.u8(0..10) {
        0 => bytes[at] ^= 1 << rng.u8(0..8),
        1 => bytes[at] = rng.u8(..),
        2 => {
            bytes.splice(at..at, pick(rng, PIECES).iter().copied());
        }
        3 => {
            bytes.drain(at..until(rng.usize(1..20)));
        }
        4 => {
            let again = bytes[at..until(rng.usize(1..60))].to_vec();
            bytes.splice(at..at, again);
        }
        5 => bytes.truncate(at),
        6 => {
            let member = [b"\"", pick(rng, NAMES).as_bytes(), b"\":", &odd_value(rng), b","].concat();
            let start = behind(bytes, at, b"{");
            bytes.splice(start..start, member);
        }
        _ => {
            let start = behind(bytes, at, b":[");
            let length = bytes[start..].iter().take_while(|byte| !b",]}".contains(byte)).count();
            bytes.splice(start..start + length, odd_value(rng));
        }
    }
}

/// The place behind the next of these bytes from `at`, or the end.
fn behind(bytes: &[u8], at: usize, any_of: &[u8]) -> usize {
    let next = bytes[at..].iter().position(|byte| any_of.contains(byte));
    next.map_or(bytes.len(), |next| at + next + 1)
}

fn odd_value(rng: &mut Rng) -> Vec<u8> {
    let repeated = |text: &str, times: usize| text.repeat(times).into_bytes();
    match rng.u8(0..24) {
        0 => nested(rng, "[", "]"),
        1 => nested(rng, r#"{"a":"#, "}"),
        2 => nested(rng, r#"{"properties":{"a":"#, "}}"),
        3 => repeated("[", 100_000),
        4 => repeated("9", rng.usize(1..500)),
        5 => [b"\"".as_slice(), &repeated("x", 1 << rng.u8(8..19)), b"\""].concat(),
        6 => [b"[".as_slice(), &repeated("{},", rng.usize(1..2000)), b"0]"].concat(),
        _ => pick(rng, ODD_VALUES).as_bytes().to_vec(),
    }
}

fn nested(rng: &mut Rng, open: &str, close: &str) -> Vec<u8> {
    let levels = rng.usize(1..200);
    repeat_n(open, levels).chain(["1"]).chain(repeat_n(close, levels)).collect::<String>().into_bytes()
}

fn pick<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(..all.len())]
}
