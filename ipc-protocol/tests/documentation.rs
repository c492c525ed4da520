//! The messages in docs/IPC.md are messages, and all of them are there.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fs};

use oam_ipc::{
    FromWorker, MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES, Message, PROTOCOL_VERSION, ToWorker, encode,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

fn page() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/IPC.md")).unwrap()
}

/// The JSON blocks with this mark.
fn examples(page: &str, mark: &str) -> Vec<Value> {
    let fence = format!("```json {mark}\n");
    let blocks = page.split(&fence).skip(1);
    let texts = blocks.map(|block| block.split("```").next().unwrap());
    texts.map(|text| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))).collect()
}

/// Everything in `part` is also in `whole`, so no member of it was ignored.
fn assert_holds(whole: &Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (name, value) in part {
                assert_holds(whole.get(name).unwrap_or_else(|| panic!("'{name}' is no member")), value);
            }
        }
        (Value::Array(whole), Value::Array(part)) if whole.len() == part.len() => {
            whole.iter().zip(part).for_each(|(whole, part)| assert_holds(whole, part));
        }
        _ => assert_eq!(whole, part),
    }
}

fn types_of<M: Message + DeserializeOwned>(examples: &[Value]) -> BTreeSet<&str> {
    for example in examples {
        let message: M =
            serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{error}: {example}"));
        assert_holds(&serde_json::to_value(&message).unwrap(), example);
    }
    examples.iter().map(|example| example["type"].as_str().unwrap()).collect()
}

fn types_in_vectors(file: &str) -> BTreeSet<String> {
    let path = format!("{}/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let vectors: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    vectors.iter().map(|vector| vector["message"]["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_message_is_shown_as_it_is() {
    let page = page();
    let (to_worker, from_worker) = (examples(&page, "to worker"), examples(&page, "from worker"));
    assert!(types_of::<ToWorker>(&to_worker).iter().eq(&types_in_vectors("to-worker.json")));
    assert!(types_of::<FromWorker>(&from_worker).iter().eq(&types_in_vectors("from-worker.json")));
}

#[test]
fn the_frame_that_is_shown_is_the_frame() {
    let mut frame = Vec::new();
    encode(&ToWorker::Ping { n: 1 }, &mut frame).unwrap();
    let page = page();
    let line = page.lines().find(|line| line.starts_with("00 00 00 0e")).unwrap();
    let shown = line.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap());
    assert_eq!(shown.collect::<Vec<_>>(), frame);
}

#[test]
fn the_limits_are_told() {
    let page = page();
    assert!(page.contains(&format!("# The worker protocol, version {PROTOCOL_VERSION}\n")));
    assert!(page.contains(&format!("64 MiB ({MAX_FRAME_BYTES})")));
    assert!(page.contains(&format!("| {MAX_DEPTH} | the frame is malformed |")));
    assert!(page.contains(&format!("| {MAX_VALUES} | the frame is malformed |")));
}
