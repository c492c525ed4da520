use std::{sync::Arc, time::Duration};

use oam_agent::{
    CallId, RoundCall, ToolCall, ToolOutput, ToolRecord,
    transcript::json::{OpenTranscript, SavedTranscript},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Conversation, TranscriptFile, WaitingTurn};
use crate::models::ModelName;

fn envelope(entries: &Value) -> Value {
    json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": entries}})
}

fn call(id: &str) -> Value {
    json!({"id": id, "name": "look", "arguments": "{}"})
}

/// A conversation that ends with these calls.
fn open(ids: &[&str]) -> Value {
    let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
    envelope(&json!([
        {"id": "p", "role": "user", "contents": [{"id": "s", "type": "text", "text": "Look!"}]},
        {"id": "c", "role": "response", "toolCalls": calls},
    ]))
}

/// As a file says it and it is read again.
fn reread(file: &TranscriptFile) -> TranscriptFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.json");
    file.save(&path, ModelName::Scripted).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    TranscriptFile::from_json(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn waiting(file: TranscriptFile) -> WaitingTurn {
    let Conversation::Waiting(turn) = file.conversation else { panic!("it waits for nothing") };
    *turn
}

#[test]
fn a_file_without_pending_waits_for_all_calls_of_the_last_round() {
    for file in [open(&["a", "b"]), json!({"transcript": open(&["a", "b"])})] {
        let turn = waiting(TranscriptFile::from_json(&file).unwrap());
        assert_eq!(turn.pending().map(|call| call.id.to_string()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((turn.rounds_used, turn.calls_used), (1, 2));
    }
}

#[test]
fn what_is_completed_does_not_wait() {
    let completed = json!([{"id": "a", "name": "look", "output": {"seen": 1}, "isError": false}]);
    let file =
        json!({"transcript": open(&["a", "b"]), "oam": {"version": 1, "pending": {"completed": completed}}});
    let turn = waiting(TranscriptFile::from_json(&file).unwrap());
    assert_eq!(turn.pending().count(), 1);
    let (transcript, progress) = turn.answered(|call| ToolOutput::Text(format!("output of {}", call.id)));
    let entries = transcript.to_json()["transcript"]["entries"].clone();
    let texts: Vec<_> = (2..4).map(|index| entries[index]["contents"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["{\"seen\":1}", "output of b"]);
    assert_eq!(progress.tool_calls.len(), 1, "only records that were saved and outputs that were given");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let with = |oam: Value| json!({"transcript": open(&["a"]), "oam": oam});
    let completed = |call: Value| with(json!({"pending": {"completed": [call]}}));
    let idle = envelope(&json!([{"id": "p", "role": "user", "contents": []}]));
    for (file, part) in [
        (json!(5), "not a transcript"),
        (json!({"transcript": {}}), "not a transcript"),
        (with(json!([])), "oam must be an object"),
        (with(json!({"version": 2})), "version 2"),
        (with(json!({"pending": 1})), "oam.pending must be an object"),
        (with(json!({"pending": {"toolCalls": [{}]}})), "oam.pending.toolCalls[0].call.id is missing"),
        (with(json!({"pending": {"roundsUsed": -1}})), "oam.pending.roundsUsed must be a whole number"),
        (completed(json!({"id": "a"})), "oam.pending.completed[].output is missing"),
        (completed(json!({"id": "a", "output": "x"})), "all calls are completed"),
        (json!({"transcript": open(&["a", "a"])}), "have the id 'a'"),
        (json!({"transcript": idle, "oam": {"pending": {}}}), "does not end with tool calls"),
    ] {
        let error = TranscriptFile::from_json(&file).unwrap_err();
        assert!(error.contains(part), "{file}: {error}");
    }
}

fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map(text(), text().prop_map(Value::from), 0..3)
        .prop_map(|members| members.into_iter().collect())
}

fn output() -> impl Strategy<Value = ToolOutput> {
    prop_oneof![
        text().prop_map(ToolOutput::Text),
        text().prop_map(ToolOutput::Error),
        arguments().prop_map(|members| ToolOutput::Json(members.into())),
    ]
}

fn record(call: Arc<ToolCall>) -> impl Strategy<Value = Arc<ToolRecord>> {
    (output(), 0..1_000_000u64).prop_map(move |(output, millis)| {
        let duration = Duration::from_millis(millis);
        Arc::new(ToolRecord { call: Arc::clone(&call), output, duration })
    })
}

/// A round of one pending call and others.
fn waiting_turn() -> impl Strategy<Value = WaitingTurn> {
    let call = |id: usize| {
        (text(), arguments()).prop_map(move |(name, arguments)| {
            Arc::new(ToolCall { id: CallId::from_text(&format!("call{id}")), name, arguments })
        })
    };
    let calls = (1usize..5).prop_flat_map(move |count| (0..count).map(call).collect::<Vec<_>>());
    let round = calls.prop_flat_map(|calls| {
        let round: Vec<_> = calls
            .into_iter()
            .enumerate()
            .map(|(index, call)| {
                if index == 0 {
                    Just(RoundCall::Pending(call)).boxed()
                } else {
                    record(call).prop_map(RoundCall::Completed).boxed()
                }
            })
            .collect();
        round
    });
    (round, any::<u32>(), any::<u32>(), proptest::option::of(arguments())).prop_map(
        |(round, rounds_used, calls_used, schema)| {
            let entry = |call: &RoundCall| match call {
                RoundCall::Pending(call) => serde_json::to_value(call).unwrap(),
                RoundCall::Completed(record) => serde_json::to_value(&record.call).unwrap(),
            };
            let calls: Vec<_> = round.iter().map(entry).collect();
            let tool_calls = round.iter().filter_map(|call| match call {
                RoundCall::Pending(_) => None,
                RoundCall::Completed(record) => Some(Arc::clone(record)),
            });
            WaitingTurn {
                transcript: OpenTranscript::from_json(&envelope(
                    &json!([{"id": "c", "role": "response", "toolCalls": calls}]),
                ))
                .unwrap(),
                tool_calls: tool_calls.collect(),
                round,
                rounds_used,
                calls_used,
                schema: schema.map(Value::Object),
            }
        },
    )
}

proptest! {
    #[test]
    fn a_turn_that_waits_is_read_as_it_was_saved(turn in waiting_turn()) {
        let file = TranscriptFile { conversation: Conversation::Waiting(Box::new(turn.clone())), tools: Some(json!([{"name": "look"}])) };
        let read = reread(&file);
        prop_assert_eq!(&read.tools, &file.tools);
        let read = waiting(read);
        prop_assert_eq!(&read.round, &turn.round);
        prop_assert_eq!(&read.tool_calls, &turn.tool_calls);
        prop_assert_eq!((read.rounds_used, read.calls_used, &read.schema), (turn.rounds_used, turn.calls_used, &turn.schema));
        prop_assert_eq!(serde_json::to_value(&read.transcript).unwrap(), serde_json::to_value(&turn.transcript).unwrap());
    }

    #[test]
    fn whatever_stands_in_a_file_is_read_or_refused(pending in arguments(), member in "calls|completed|order|toolCalls|roundsUsed", value in arguments()) {
        let mut pending = pending;
        pending.insert(member, json!([value]));
        let _ = TranscriptFile::from_json(&json!({"transcript": open(&["a"]), "oam": {"pending": pending}}));
    }
}

#[test]
fn an_idle_conversation_is_read_as_it_was_saved() {
    let transcript = SavedTranscript::from_json(&envelope(&json!([]))).unwrap();
    let file = TranscriptFile { conversation: Conversation::Idle(transcript), tools: None };
    let read = reread(&file);
    assert!(matches!(read.conversation, Conversation::Idle(_)) && read.tools.is_none());
    assert!(read.setup().is_none());
}
