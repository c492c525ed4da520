//! Whatever clients do, and whenever the process ends: what they saw is what they find.

use std::sync::Arc;

use crate::support::{Client, Directory, Rewriting, seen};
use proptest::{collection, prelude::*, sample::select};
use serde_json::{Value, json};

const REALM: &str = "valley";

#[derive(Debug, Clone)]
enum Act {
    Call {
        by: usize,
        method: &'static str,
        params: Value,
    },
    /// The process is killed and another one starts.
    Crash,
}

fn id(kind: &'static str) -> impl Strategy<Value = Value> {
    let names: &[_] = match kind {
        "session" => &["gorm", "s1", "s2"],
        "npc" => &["mira", "npc1"],
        _ => &["inn", "w1"],
    };
    select(names).prop_map(Value::from)
}

/// Steps that answer, call tools, fail.
fn model() -> impl Strategy<Value = Value> {
    let step = select(vec![
        json!({"text": "Aye."}),
        json!({"error": "guardrail_violation"}),
        json!({"json": {"emotion": "happy", "line": "Hm.", "player_options": [], "ends_conversation": false}}),
        json!({"toolCalls": [{"name": "nothing", "arguments": {"a": [1.0, {"b": null}]}}]}),
        json!({"toolCalls": [{"name": "remember_fact", "arguments": {"fact": "It rains."}}]}),
        json!({"toolCalls": [{"name": "update_world_state", "arguments": {"path": "fire.hot", "value": "[1, {}]"}}]}),
    ]);
    collection::vec(step, 0..6).prop_map(|steps| json!({"type": "scripted", "steps": steps}))
}

fn tools() -> impl Strategy<Value = Value> {
    let tool = |name: &str| json!({"name": name, "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}});
    select(vec![json!([]), json!([tool("look")]), json!([tool("pay"), tool("look")])])
}

fn text() -> impl Strategy<Value = Value> {
    select(vec![Value::Null, json!(""), json!("Be brief."), json!("Ü\u{2028}\n\"")])
}

fn path() -> impl Strategy<Value = Value> {
    select(vec!["", "fire", "fire.hot", "list.0", "list.1.x", "a\\.b"]).prop_map(Value::from)
}

fn value() -> impl Strategy<Value = Value> {
    select(vec![
        Value::Null,
        json!(1.0),
        json!(-0.5),
        json!({}),
        json!([{"x": 1e300}]),
        json!({"fire": {"hot": true, "": 18_446_744_073_709_551_615_u64}, "list": [0, null]}),
    ])
}

fn act() -> impl Strategy<Value = Act> {
    let calls = prop_oneof![
        2 => (id("session"), model(), tools(), text()).prop_map(|(session, model, tools, instructions)| (
            "session/create",
            json!({"session": session, "model": model, "tools": tools, "instructions": instructions}),
        )),
        1 => Just(("session/create", json!({"model": "scripted"}))),
        4 => (id("session"), text()).prop_map(|(session, prompt)| {
            ("session/respond", json!({"session": session, "prompt": prompt.as_str().unwrap_or("Hm?")}))
        }),
        1 => (id("session"), text()).prop_map(|(session, text)| {
            ("session/setInstructions", json!({"session": session, "instructions": text}))
        }),
        1 => (id("session"), text())
            .prop_map(|(session, note)| ("session/setContextNote", json!({"session": session, "note": note}))),
        1 => (id("session"), tools())
            .prop_map(|(session, tools)| ("session/setTools", json!({"session": session, "tools": tools}))),
        1 => (id("session"), 0..3).prop_map(|(session, keep)| {
            ("session/compact", json!({"session": session, "keepRecentTurns": keep}))
        }),
        1 => id("session").prop_map(|session| ("session/reset", json!({"session": session}))),
        1 => id("session").prop_map(|session| ("session/delete", json!({"session": session}))),
        2 => (id("npc"), id("world"), model(), tools()).prop_map(|(npc, world, model, tools)| (
            "npc/create",
            json!({"npc": npc, "world": world, "model": model, "tools": tools, "persona": {"name": "Mira"},
                "options": {"memoryTools": "all", "worldWritable": ["fire"], "compactAfterTurns": 2, "keepRecentTurns": 1}}),
        )),
        1 => Just(("npc/create", json!({"persona": {"name": "Bo"}, "model": "scripted"}))),
        4 => id("npc").prop_map(|npc| ("npc/talk", json!({"npc": npc, "line": "Hello."}))),
        1 => id("npc").prop_map(|npc| ("npc/bark", json!({"npc": npc}))),
        2 => (id("npc"), tools(), text()).prop_map(|(npc, tools, text)| (
            "npc/update",
            json!({"npc": npc, "tools": tools, "persona": {"role": text}, "memory": {"summary": text},
                "options": {"extraInstructions": text}}),
        )),
        1 => (id("npc"), any::<bool>())
            .prop_map(|(npc, clear)| ("npc/reset", json!({"npc": npc, "clearMemory": clear}))),
        1 => id("npc").prop_map(|npc| ("npc/delete", json!({"npc": npc}))),
        2 => (id("world"), value())
            .prop_map(|(world, state)| ("world/create", json!({"world": world, "state": state}))),
        4 => (id("world"), path(), value()).prop_map(|(world, path, value)| {
            ("world/set", json!({"world": world, "path": path, "value": value}))
        }),
        3 => (id("world"), path(), value()).prop_map(|(world, path, patch)| {
            ("world/merge", json!({"world": world, "path": path, "patch": patch}))
        }),
        2 => (id("world"), path())
            .prop_map(|(world, path)| ("world/remove", json!({"world": world, "path": path}))),
        1 => id("world").prop_map(|world| ("world/delete", json!({"world": world}))),
    ];
    prop_oneof![
        6 => (0..2_usize, calls).prop_map(|(by, (method, params))| Act::Call { by, method, params }),
        1 => Just(Act::Crash),
    ]
}

async fn clients(directory: &Arc<Directory>) -> [Client; 2] {
    [directory.client_in(REALM).await, directory.client_in(REALM).await]
}

/// Lets compactions end that go on behind a turn.
async fn settle(client: &mut Client) {
    for npc in client.call("npc/list", json!({})).await["npcs"].as_array().unwrap() {
        client.call("npc/state", json!({"npc": npc["npc"]})).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_clients_saw_is_what_they_find(
        acts in collection::vec(act(), 1..40), rewriting in select(vec![Rewriting::Never, Rewriting::Always])
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut directory = Directory::new(rewriting);
            let mut two = clients(&directory).await;
            for act in acts.iter().chain([&Act::Crash]) {
                match act {
                    // Many are refused: that changes nothing either.
                    Act::Call { by, method, params } => drop(two[*by].try_call(method, params.clone()).await),
                    Act::Crash => {
                        settle(&mut two[0]).await;
                        let before = seen(&mut two[0]).await;
                        directory = directory.after_a_crash();
                        two = clients(&directory).await;
                        assert_eq!(seen(&mut two[0]).await, before);
                    }
                }
            }
        });
    }
}
