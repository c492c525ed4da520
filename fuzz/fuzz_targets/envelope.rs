//! Any line: reading it never panics, and what another parser takes for JSON is no parse error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oam_bridge::message::{Rejected, parse_line};
use serde_json::Value;

/// Deeper JSON is refused although it is JSON.
const NESTING: usize = 100;

fuzz_target!(|line: &[u8]| {
    let rejected = parse_line(line).err();
    let is_json = serde_json::from_slice(line).is_ok_and(|value| depth(&value) <= NESTING);
    if let (true, Some(Rejected { error, .. })) = (is_json, &rejected) {
        assert_ne!(error.name, "parse_error", "{}", error.message);
    }
});

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
