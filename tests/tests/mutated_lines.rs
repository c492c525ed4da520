//! Lines that are almost messages: whatever comes in, the program lives, and what is a request is answered once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use assert_cmd::Command;
use oam_tests::{DEADLINE, Id, oam_command};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

/// What clients really send, in an order that makes sense.
fn messages() -> Vec<Value> {
    let requests = sessions().into_iter().chain(games()).chain([("ping", json!({}))]);
    let mut messages: Vec<_> = requests
        .enumerate()
        .map(|(id, (method, params))| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        .collect();
    messages.push(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"session": "a"}}));
    messages.push(json!({"jsonrpc": "2.0", "method": "npc/cancel", "params": {"npc": "n"}}));
    messages
        .push(json!({"jsonrpc": "2.0", "id": "t-1", "result": {"output": {"seen": true}, "isError": false}}));
    messages.push(json!({"jsonrpc": "2.0", "id": "t-1", "error": {"code": -32000, "message": "Jammed"}}));
    messages
}

fn sessions() -> Vec<(&'static str, Value)> {
    vec![
        ("initialize", json!({"client": {"name": "Game"}, "protocolVersion": "1.0"})),
        (
            "session/create",
            json!({"session": "a", "instructions": "You guard.", "options": {"toolChoice": "auto",
            "maxToolRounds": 2, "sampling": {"topK": 3, "seed": 1}}, "model": {"type": "scripted", "steps":
            [{"text": "Hm. Well.", "chunks": 2}, {"toolCalls": [{"name": "look", "arguments": {"what": "door"}}]},
                {"json": {"choice": "open"}}, {"error": "refusal", "message": "No."}, {"template": "{prompt}"}]},
            "tools": [{"name": "look", "description": "Looks.", "parameters": {"type": "object",
                "properties": {"what": {"type": "string", "enum": ["door", "gate"]}}, "required": ["what"]}}]}),
        ),
        ("session/respond", json!({"session": "a", "prompt": "Hello", "stream": true})),
        (
            "session/respond",
            json!({"session": "a", "prompt": "Look", "maxToolCalls": 1, "enabledTools": ["look"]}),
        ),
        (
            "session/respond",
            json!({"session": "a", "prompt": "Choose", "schema": {"type": "object", "properties":
            {"choice": {"type": "string", "enum": ["open", "refuse"]}}, "required": ["choice"]}}),
        ),
        ("session/setTools", json!({"session": "a", "tools": []})),
        ("session/setContextNote", json!({"session": "a", "note": "Rain."})),
        ("session/setInstructions", json!({"session": "a", "instructions": null})),
        ("session/compact", json!({"session": "a", "keepRecentTurns": 1})),
        ("session/transcript", json!({"session": "a"})),
        ("session/list", json!({})),
        ("session/cancel", json!({"session": "a"})),
        (
            "session/create",
            json!({"session": "b", "model": "scripted", "history": {"type": "FoundationModels.Transcript",
            "version": "1.1", "transcript": {"entries": [{"id": "1", "role": "user", "contents":
                [{"id": "2", "type": "text", "text": "Hi"}], "options": {}}]}}}),
        ),
        (
            "schema/validate",
            json!({"schema": {"anyOf": [{"type": "integer", "minimum": 1}, {"$ref": "#/$defs/x"}],
            "$defs": {"x": {"type": "array", "items": {"const": 1}}}}}),
        ),
        ("tools/validate", json!({"tools": [{"type": "function", "function": {"name": "f"}}]})),
        ("session/reset", json!({"session": "b"})),
        ("session/delete", json!({"session": "b"})),
    ]
}

fn games() -> Vec<(&'static str, Value)> {
    let look =
        json!({"name": "look", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}});
    let reply = json!({"json": {"emotion": "happy", "line": "Gorm: Hm.", "player_options": ["Go on."],
        "ends_conversation": false}});
    let call = |name: &str, arguments: Value| json!({"toolCalls": [{"name": name, "arguments": arguments}]});
    let model = |steps: &[Value]| json!({"type": "scripted", "steps": steps});
    let choice = json!({"json": {"reasoning": "So.", "choice": "flee", "confidence": 60}});
    let persona = json!({"name": "Gorm", "role": "the smith", "goals": ["Sell."], "secrets": ["Kind."],
        "defaultEmotion": "proud", "maxSentences": 2});
    let steps = [
        call("look", json!({"what": "door"})),
        call("update_world_state", json!({"path": "player.gold", "value": "45"})),
        call("read_world_state", json!({"path": "player"})),
        call("remember_fact", json!({"fact": "Aria is brave."})),
        call("change_relationship", json!({"reason": "Kind.", "delta": 5})),
        reply.clone(),
        json!({"error": "guardrail_violation"}),
        json!({"text": "[sad] Gorm: {toolOutput}", "chunks": 4}),
        json!({"text": "They talked."}),
        reply.clone(),
    ];
    let state = json!({"version": 1, "persona": persona, "memory": {"facts": ["Old."], "relationship": 3},
        "transcript": {"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [
            {"id": "1", "role": "user", "contents": [{"id": "2", "type": "text", "text": "Player: Hi"}], "options": {}},
            {"id": "3", "role": "response", "contents": [{"id": "4", "type": "structure",
                "structure": {"source": "DialogueReply", "content": {"emotion": "sad", "line": "Hm."}}}]}]}},
        "npc": "n", "options": {"replyFormat": "text", "memoryTools": ["rememberFact"]}, "tools": [look], "world": "w"});
    let decision = json!({"situation": {"hp": 3}, "options": ["fight", {"id": "flee", "description": "Run"}],
        "actor": "n", "context": {"gold": 1}, "tools": [look], "toolChoice": "auto", "fallbackOptionID": "flee"});
    let mut one = decision.clone();
    one["model"] = model(&[call("look", json!({})), choice.clone()]);
    vec![
        (
            "world/create",
            json!({"world": "w", "state": {"player": {"gold": 60}, "party": [{"name": "Brom"}]}}),
        ),
        ("world/subscribe", json!({"world": "w", "path": "player"})),
        ("world/set", json!({"world": "w", "path": "party.1.name", "value": "Lysa"})),
        (
            "world/merge",
            json!({"world": "w", "patch": {"player": {"gold": null, "title": "Knight"}}, "path": ""}),
        ),
        ("world/get", json!({"world": "w", "path": "party[0].name"})),
        ("world/remove", json!({"world": "w", "path": "party.0"})),
        (
            "npc/create",
            json!({"npc": "n", "persona": persona, "tools": [look], "world": "w",
                "memory": {"facts": ["Old."], "relationship": 3, "summary": "They met."},
                "options": {"worldWritable": ["player"], "worldContextPaths": ["player"], "memoryTools": "all",
                    "maxToolRounds": 9, "compactAfterTurns": 2, "keepRecentTurns": 1}, "model": model(&steps)}),
        ),
        ("npc/talk", json!({"npc": "n", "line": "Hello", "context": {"rain": true}, "stream": true})),
        ("npc/bark", json!({"npc": "n", "situation": "Rain."})),
        ("npc/talk", json!({"npc": "n", "line": "", "toolChoice": {"tool": "look"}})),
        (
            "npc/update",
            json!({"npc": "n", "persona": {"role": null}, "memory": {"relationship": 40},
                "options": {"playerOptionCount": 0, "groundingTool": "look"}, "tools": [look]}),
        ),
        ("npc/state", json!({"npc": "n", "settle": true})),
        ("npc/list", json!({})),
        ("decision/decide", one),
        (
            "decision/decideMany",
            json!({"requests": [decision, decision], "maxConcurrency": 2, "temperature": 0.5,
                "model": model(&[choice.clone(), choice])}),
        ),
        (
            "content/generate",
            json!({"prompt": "A sword", "context": {"level": 3}, "tools": [look], "schema": {"type": "object",
                "properties": {"name": {"type": "string"}, "damage": {"type": "integer", "minimum": 1}}},
                "model": model(&[json!({"json": {"damage": 3, "name": "Fang"}})])}),
        ),
        ("npc/reset", json!({"npc": "n", "clearMemory": true})),
        ("npc/delete", json!({"npc": "n"})),
        ("npc/restore", json!({"state": state, "model": model(&[reply])})),
        ("npc/talk", json!({"npc": "n", "line": "Still there?", "stream": true})),
        ("world/list", json!({})),
        ("world/snapshot", json!({"world": "w"})),
        ("world/unsubscribe", json!({"subscription": "sub1"})),
        ("world/delete", json!({"world": "w"})),
    ]
}

/// One way to spoil a message.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(Index, usize),
    Remove(Index),
    Rename(Index, usize),
    Nest(Index, usize),
    Flip(Index, u8),
    Insert(Index, u8),
    Delete(Index),
    Cut(Index),
    Double,
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("2.0"),
        json!("\u{0}\u{2028}😀"),
        json!("x".repeat(10_000)),
        json!([]),
        json!([[1, {"a": null}]]),
        json!({}),
        json!({"tool": "look", "type": "object"}),
    ]
}

const ODD_NAMES: [&str; 9] = ["", "session", "id", "method", "options", "$ref", "npc", "persona", "path"];

impl Mutation {
    fn spoil(&self, line: &mut Vec<u8>) {
        let parsed = serde_json::from_slice::<Value>(line);
        match (self, parsed) {
            (Self::Flip(at, bits), _) if !line.is_empty() => *at.get_mut(line) ^= *bits,
            (Self::Insert(at, byte), _) => line.insert(at.index(line.len() + 1), *byte),
            (Self::Delete(at), _) if !line.is_empty() => drop(line.remove(at.index(line.len()))),
            (Self::Cut(at), _) => line.truncate(at.index(line.len() + 1)),
            (Self::Double, _) => line.extend_from_within(..),
            (_, Ok(mut value)) => {
                self.spoil_value(&mut value);
                *line = value.to_string().into_bytes();
            }
            _ => {}
        }
        // What is one line must stay one line.
        line.retain(|byte| *byte != b'\n');
    }

    fn spoil_value(&self, value: &mut Value) {
        let (Self::Replace(at, _) | Self::Remove(at) | Self::Rename(at, _) | Self::Nest(at, _)) = self else {
            return;
        };
        let pointers = pointers(value);
        let pointer = &pointers[at.index(pointers.len())];
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        let name = name.replace("~1", "/").replace("~0", "~");
        match (self, value.pointer_mut(parent)) {
            (Self::Remove(_), Some(Value::Object(members))) => drop(members.shift_remove(&name)),
            (Self::Rename(_, new), Some(Value::Object(members))) => {
                if let Some(member) = members.shift_remove(&name) {
                    members.insert(ODD_NAMES[new % ODD_NAMES.len()].to_owned(), member);
                }
            }
            (Self::Replace(_, new), _) => {
                let odd = odd_values();
                *value.pointer_mut(pointer).unwrap() = odd[new % odd.len()].clone();
            }
            (Self::Nest(_, levels), _) => {
                let place = value.pointer_mut(pointer).unwrap();
                *place = (0..*levels).fold(place.take(), |inner, _| json!([inner]));
            }
            _ => {}
        }
    }
}

/// The places of all values inside of `value`.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    walk(member, &format!("{at}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{at}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), any::<usize>()).prop_map(|(at, new)| Mutation::Replace(at, new)),
        2 => at().prop_map(Mutation::Remove),
        1 => (at(), any::<usize>()).prop_map(|(at, new)| Mutation::Rename(at, new)),
        1 => (at(), prop_oneof![Just(3_usize), Just(99), Just(120)]).prop_map(|(at, levels)| Mutation::Nest(at, levels)),
        1 => (at(), 1_u8..).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        1 => at().prop_map(Mutation::Delete),
        1 => at().prop_map(Mutation::Cut),
        1 => Just(Mutation::Double),
    ]
}

/// All messages, each spoilt in up to three ways.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let spoilt = messages().into_iter().map(|message| {
        prop::collection::vec(mutation(), 0..=3).prop_map(move |mutations| {
            let mut line = message.to_string().into_bytes();
            for mutation in &mutations {
                mutation.spoil(&mut line);
            }
            line
        })
    });
    spoilt.collect::<Vec<_>>()
}

/// What a line is answered with.
#[derive(Debug, PartialEq)]
enum Answer {
    None,
    WithId(Id),
    WithNull,
    /// This test's parser is too narrow to tell: bytes that are no UTF-8, numbers without end, deep nesting.
    Unclear,
}

/// The rules of the envelope (docs/PROTOCOL.md, Framing), said once more.
fn answer(line: &[u8]) -> Answer {
    let Ok(text) = std::str::from_utf8(line) else { return Answer::Unclear };
    if text.chars().all(char::is_whitespace) {
        return Answer::None;
    }
    let message: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(message) => message,
        Err(error)
            if error.to_string().contains("out of range") || error.to_string().contains("recursion") =>
        {
            return Answer::Unclear;
        }
        Err(_) => return Answer::WithNull,
    };
    if depth(&message) > 100 {
        return Answer::WithNull;
    }
    let Value::Object(members) = &message else { return Answer::WithNull };
    let id = match members.get("id") {
        None => None,
        Some(id) if id.as_f64().is_some_and(|number| number.abs() > 9_007_199_254_740_991.0) => {
            return Answer::WithNull;
        }
        Some(id) => match Id::of(id) {
            None => return Answer::WithNull,
            id => id,
        },
    };
    let with_id = |id: Option<Id>| id.map_or(Answer::WithNull, Answer::WithId);
    if message["jsonrpc"] != "2.0" {
        return with_id(id);
    }
    match (members.get("method"), id) {
        (Some(Value::String(method)), id) if !method.is_empty() => id.map_or(Answer::None, Answer::WithId),
        (None, Some(_)) if members.contains_key("result") || members.contains_key("error") => Answer::None,
        (_, id) => with_id(id),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_among_spoilt_lines_is_answered_once(lines in lines()) {
        let mut input = lines.join(&b'\n');
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n");
        let run = Command::from_std(oam_command())
            .args(["stdio", "--tool-timeout", "0.05"])
            .timeout(DEADLINE)
            .write_stdin(input)
            .output()
            .unwrap();
        prop_assert!(run.status.success(), "{}: {}", run.status, String::from_utf8_lossy(&run.stderr));

        let mut balance: HashMap<Option<Id>, i64> = HashMap::from([(Some(Id::from("last")), 1)]);
        let mut unclear = 0;
        for line in &lines {
            match answer(line) {
                Answer::None => {}
                Answer::WithId(id) => *balance.entry(Some(id)).or_default() += 1,
                Answer::WithNull => *balance.entry(None).or_default() += 1,
                Answer::Unclear => unclear += 1,
            }
        }
        for line in String::from_utf8(run.stdout).unwrap().lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!(&message["jsonrpc"], "2.0");
            if message.get("method").is_none() {
                prop_assert_ne!(&message["error"]["data"]["code"], "internal_error", "{}", line);
                *balance.entry(Id::of(&message["id"])).or_default() -= 1;
            }
        }
        let unexpected: i64 = balance.values().filter(|count| **count < 0).sum();
        prop_assert!(balance.values().all(|count| *count <= 0), "without an answer: {balance:?}");
        prop_assert!(-unexpected <= unclear, "answered without a question: {balance:?}");
    }
}
