//! The scene of docs/GAMES.md, with and without a worker that dies in the middle of a line.

use oam_tests::{Message, Oam, oam_binary};
use serde_json::{Value, json};

use crate::{read, root};

/// The worker of the guide: it crashes while it streams the line about the attic.
const CRASH: &str = "--piece-delay 20 --fault crash-streaming:word=attic";

#[test]
fn the_scene_ends_the_same_when_its_worker_dies_in_the_middle_of_a_line() {
    let without_workers = play("tavern.jsonl", None);
    let in_peace = play("tavern-worker.jsonl", Some(""));
    let with_a_crash = play("tavern-worker.jsonl", Some(CRASH));
    assert_eq!(deaths(&in_peace), 0);
    assert_eq!(deaths(&with_a_crash), 1);
    assert_eq!(story(&in_peace), story(&without_workers));
    assert_eq!(story(&with_a_crash), story(&without_workers));

    let at = |kind: &str| with_a_crash.iter().rposition(|message| event_type(message) == Some(kind));
    let first_words = with_a_crash.iter().position(|message| {
        event_type(message) == Some("lineDelta") && message.value["params"]["requestId"] == 7
    });
    assert!(first_words < at("workerDied"), "the line has begun when the worker dies");
    assert!(at("stepReplayed") < at("lineDelta"), "and goes on when the step is played again");
}

#[test]
fn both_files_tell_the_same_scene() {
    let expected = requests("tavern.jsonl").into_iter().map(with_its_script_in_the_instructions);
    let events = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"client": {"name": "tavern", "workerEvents": true}}});
    let expected: Vec<_> = std::iter::once(events).chain(expected).collect();
    assert_eq!(requests("tavern-worker.jsonl"), expected);
}

fn lines(file: &str) -> Vec<String> {
    read(&root().join("docs/examples").join(file)).lines().map(str::to_owned).collect()
}

fn requests(file: &str) -> Vec<Value> {
    lines(file).iter().map(|line| serde_json::from_str(line).expect("a request is JSON")).collect()
}

/// Sends a file and returns all that came back. `worker` are the arguments of a scripted worker, if there is to be one.
fn play(file: &str, worker: Option<&str>) -> Vec<Message> {
    let mut oam = Oam::builder();
    if let Some(arguments) = worker {
        let program = oam_binary().display().to_string();
        let command = format!("{} worker scripted {arguments}", shell_words::quote(&program));
        oam = oam.arg("--worker").arg(command);
    }
    let mut oam = oam.start();
    for line in lines(file) {
        oam.send_line(&line);
    }
    oam.close_input();
    assert!(oam.wait_exit().success(), "{}", oam.stderr());
    oam.messages().to_vec()
}

fn event_type(message: &Message) -> Option<&str> {
    message.value["params"]["event"]["type"].as_str()
}

fn deaths(messages: &[Message]) -> usize {
    messages.iter().filter(|message| event_type(message) == Some("workerDied")).count()
}

/// What a player would notice of the scene, by request: lines, feelings, deeds, and what is remembered.
fn story(messages: &[Message]) -> Vec<Value> {
    let result = |id: u64| {
        let answer = messages.iter().find(|message| message.method().is_none() && message.value["id"] == id);
        answer.map(|answer| answer.value["result"].clone()).unwrap_or_default()
    };
    let changes = messages.iter().filter(|message| message.method() == Some("world/changed"));
    let turns = [5, 7].map(|id| {
        let turn = result(id);
        let calls = turn["toolCalls"].as_array().cloned().unwrap_or_default();
        let calls = calls.iter().map(|record| {
            json!([record["call"]["name"], record["call"]["arguments"], record["output"], record["isError"]])
        });
        json!([
            turn["line"],
            turn["emotion"],
            turn["playerOptions"],
            turn["relationship"],
            turn["isFallback"],
            calls.collect::<Vec<_>>()
        ])
    });
    let bark = result(6)["line"].clone();
    let decision = json!([result(8)["optionID"], result(8)["reasoning"], result(8)["confidence"]]);
    let memory = result(9)["state"]["memory"].clone();
    let story: Vec<_> = turns
        .into_iter()
        .chain([bark, decision, memory])
        .chain(changes.map(|change| change.value["params"].clone()))
        .collect();
    assert!(story.iter().flat_map(|part| part.as_array().into_iter().flatten()).all(|part| !part.is_null()));
    story
}

/// A request as the worker needs it: the script is no model of its own, but a line of the instructions.
fn with_its_script_in_the_instructions(mut request: Value) -> Value {
    let Some(params) = request["params"].as_object_mut() else { return request };
    if let Some(model) = params.shift_remove("model") {
        let script = format!("oam-script: {}", model["steps"]);
        if request["method"] == "npc/create" {
            request["params"]["options"]["extraInstructions"] = script.into();
        } else {
            request["params"]["instructions"] = script.into();
        }
    }
    request
}
