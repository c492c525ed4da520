//! A session of work with all kinds of requests, recorded and replayed.

use std::{collections::BTreeMap, fs};

use oam_tests::{
    Id, Message, Oam, Reply,
    script::{call, calls, endless, error, feel, remember, reply, reply_in_pieces, text, tool, write_world},
};
use serde_json::{Value, json};

use crate::{finish, recording, replaying};

/// A line of instructions that tells the worker what to play.
fn script(steps: &[Value]) -> String {
    format!("oam-script:{}", json!(steps))
}

#[test]
fn everything_that_a_model_is_asked_is_replayed_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (file, again) = (folder.path().join("mix.json"), folder.path().join("again.json"));
    let mut oam = recording(&file).start();
    play(&mut oam);
    finish(&mut oam);
    let recorded = by_request(oam.messages());

    let mut oam = replaying(&file).env("OAM_RECORD", &again).start();
    play(&mut oam);
    finish(&mut oam);
    assert_eq!(oam.stderr(), "", "a replay that matches warns of nothing");
    let replayed = by_request(oam.messages());
    for (request, messages) in &recorded {
        assert_eq!(replayed.get(request), Some(messages), "{request:?}");
    }
    assert_eq!(replayed.len(), recorded.len());
    let (file, again) = (fs::read_to_string(file).unwrap(), fs::read_to_string(again).unwrap());
    assert_eq!(again, file, "the recording of a replay is the recording itself");
}

/// Plays everything; what must hold of it in any case is asserted on the way.
fn play(oam: &mut Oam) {
    oam.answer_tools(|call| match call.name.as_str() {
        "fail" => Reply::Error(json!({"code": -32000, "message": "It broke."})),
        _ => Reply::Output(json!({"from": call.name, "got": call.arguments})),
    });
    turns(oam);
    tools(oam);
    failures(oam);
    cancellation(oam);
    long_conversations(oam);
    characters(oam);
    questions(oam);
    all_at_once(oam);
}

fn session(oam: &mut Oam, id: &str, steps: &[Value], tools: &[&str], options: Value) {
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    let params = json!({"session": id, "instructions": script(steps), "tools": tools, "options": options});
    oam.ok("session/create", params);
}

fn turns(oam: &mut Oam) {
    let awkward = json!({"text": "Grüße, 👩‍👩‍👧 e\u{301}\r\n\u{2028}!", "chunks": 9});
    let shape = json!({"text": r#"{"mood":"gr\u00fcn \ud83d\udc09","words":["a","","c\n"]}"#, "chunks": 12});
    session(
        oam,
        "turns",
        &[awkward.clone(), awkward, shape.clone(), shape, json!({"json": {"mood": 1}})],
        &[],
        json!({}),
    );
    oam.turn_with("turns", "Hello", json!({"stream": true}));
    oam.turn("turns", "Hello");
    let schema =
        json!({"type": "object", "properties": {"mood": {"type": "string"}, "words": {"type": "array"}}});
    for stream in [true, false] {
        oam.turn_with("turns", "As JSON.", json!({"stream": stream, "schema": schema}));
    }
    let misfit = oam.start_turn_with("turns", "As JSON.", json!({"schema": schema}));
    assert_eq!(oam.wait_fails(&misfit).name, "generation_failed");
    // Another one of the same name, with other answers.
    oam.ok("session/delete", json!({"session": "turns"}));
    session(oam, "turns", &[text("I am another.")], &[], json!({}));
    assert_eq!(oam.turn("turns", "Hello")["text"], "I am another.");
}

fn tools(oam: &mut Oam) {
    let steps = [
        calls(&[("look", json!({"what": "gate"})), ("fail", json!({})), ("look", json!({"what": "moat"}))]),
        call("ghost", json!({})),
        call("look", json!({"what": 7})),
        json!({"template": "I saw {toolOutput}."}),
        call("look", json!({})),
        text("Done."),
    ];
    session(oam, "tools", &steps, &["look", "fail"], json!({"maxToolRounds": 5}));
    assert_eq!(
        oam.turn_with("tools", "Look.", json!({"stream": true}))["toolCalls"].as_array().unwrap().len(),
        5
    );
    oam.turn_with("tools", "Look.", json!({"toolChoice": "required"}));
    oam.entries("tools");
}

fn failures(oam: &mut Oam) {
    let steps = [
        error("guardrail_violation"),
        error("generation_failed"),
        json!({"text": "At the second try.", "chunks": 2}),
        error("rate_limited"),
        error("rate_limited"),
        text("Well."),
    ];
    session(oam, "failures", &steps, &[], json!({}));
    let blocked = oam.start_turn("failures", "Hello");
    assert_eq!(oam.wait_fails(&blocked).name, "guardrail_violation");
    assert_eq!(oam.turn_with("failures", "Hello", json!({"stream": true}))["text"], "At the second try.");
    let limited = oam.start_turn("failures", "Hello");
    assert_eq!(oam.wait_fails(&limited).name, "rate_limited");
    assert_eq!(oam.turn("failures", "Hello")["text"], "Well.");
}

fn cancellation(oam: &mut Oam) {
    session(oam, "patience", &[endless()], &[], json!({}));
    let turn = oam.start_turn_with("patience", "Hello", json!({"stream": true}));
    oam.take("the start of the step", |message| {
        message.request_id().as_ref() == Some(&turn) && message.event().is_some()
    });
    assert_eq!(oam.ok("session/cancel", json!({"session": "patience"}))["cancelled"], 1);
    oam.wait_fails(&turn);
    // Whether the worker had begun the step or not, it says this from now on.
    let script = format!("oam-script:{}", json!({"fallback": text("Yes?")}));
    oam.ok("session/setInstructions", json!({"session": "patience", "instructions": script}));
    assert_eq!(oam.turn("patience", "Hello")["text"], "Yes?");
}

fn long_conversations(oam: &mut Oam) {
    oam.ok("session/create", json!({"session": "long", "options": {"reservedResponseTokens": 200}}));
    let mut trimmed = 0;
    for number in 0..6 {
        let turn = oam.turn("long", &format!("{number} {}", "and ".repeat(200)));
        trimmed += turn["steps"][0]["trimmedEntries"].as_u64().unwrap();
    }
    assert!(trimmed > 0);
    assert!(oam.ok("session/compact", json!({"session": "long"}))["summary"].is_string());
    oam.turn("long", "What did we say?");
    oam.entries("long");
}

fn npc(oam: &mut Oam, id: &str, steps: &[Value], options: Value) {
    let mut all = json!({"extraInstructions": script(steps)});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let persona = json!({"name": "Gorm", "role": "the smith", "knowledge": ["The ferry leaves at dawn"]});
    oam.ok(
        "npc/create",
        json!({"npc": id, "persona": persona, "world": "village", "options": all, "tools": [tool("look")]}),
    );
}

fn characters(oam: &mut Oam) {
    oam.ok("world/create", json!({"world": "village", "state": {"gate": "shut", "gold": 20}}));
    oam.ok("world/subscribe", json!({"world": "village"}));
    let steps = [
        reply_in_pieces("proud", "Finest blades in the valley. Würz!", 20),
        call("look", json!({"what": "forge"})),
        remember("They like swords."),
        feel(5),
        write_world("gate", "open"),
        reply("happy", "It is done."),
        error("guardrail_violation"),
        text("Hm? No."),
        reply("calm", "And again."),
    ];
    let options = json!({"worldReadable": ["gate", "gold"], "worldWritable": ["gate"], "memoryTools": "all",
        "maxToolRounds": 6, "compactAfterTurns": 3, "keepRecentTurns": 1});
    npc(oam, "gorm", &steps, options);
    oam.talk_streamed("gorm", "Did you make these?");
    oam.talk_streamed("gorm", "Open the gate!");
    oam.talk("gorm", "Say something bad.");
    oam.saved_npc("gorm");
    oam.talk("gorm", "Again!");
    npc(oam, "tam", &[text("The river can wait.")], json!({}));
    for situation in ["It rains.", "It snows.", "It rains."] {
        oam.ok("npc/bark", json!({"npc": "tam", "situation": situation}));
    }
    oam.saved_npc("gorm");
}

fn decision(choice: &str) -> Value {
    json!({"json": {"reasoning": format!("Because {choice}."), "choice": choice, "confidence": 70}})
}

fn questions(oam: &mut Oam) {
    let decide = |situation: &str, steps: &[Value]| json!({"situation": situation, "options": ["fight", "flee"], "instructions": script(steps), "tools": [tool("look")]});
    let steps = [call("look", json!({"what": "enemy"})), decision("fight")];
    oam.ok("decision/decide", decide("A troll comes.", &steps));
    oam.ok("decision/decide", decide("Two trolls come.", &[decision("flee")]));
    oam.ok("decision/decide", decide("Two trolls come.", &[decision("fight")]));
    let crowd = json!({"requests": [
        {"situation": "One.", "options": ["a", "b"]}, {"situation": "Two.", "options": ["a", "b"]},
        {"situation": "One.", "options": ["a", "b"]}, {"situation": "Three.", "options": ["a", "c"]},
    ], "instructions": script(&[decision("a")]), "maxConcurrency": 3});
    oam.ok("decision/decideMany", crowd);
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let steps = [error("generation_failed"), json!({"json": {"name": "Sting"}})];
    oam.ok(
        "content/generate",
        json!({"prompt": "A sword.", "schema": schema, "instructions": script(&steps)}),
    );
}

/// Whatever can run beside something else, all of it at once.
fn all_at_once(oam: &mut Oam) {
    let mut waiting = Vec::new();
    for number in 0..8 {
        let id = format!("crowd-{number}");
        let steps =
            [call("look", json!({"what": id})), json!({"template": "Seen: {toolOutput}", "chunks": 5})];
        session(oam, &id, &steps, &["look"], json!({}));
        waiting.push(oam.start_turn_with(&id, "Look.", json!({"stream": true})));
        waiting.push(
            oam.request("npc/bark", json!({"npc": "tam", "situation": format!("Number {}.", number % 3)})),
        );
        waiting.push(oam.request(
            "decision/decide",
            json!({"situation": format!("Case {}.", number % 3),
            "options": ["a", "b"], "instructions": script(&[decision("b")])}),
        ));
    }
    npc(oam, "pia", &[reply("calm", "I am here.")], json!({}));
    waiting.push(oam.start_talk_with("pia", "Are you there?", json!({"stream": true})));
    for id in waiting {
        oam.wait_ok(&id);
    }
}

/// The messages of each request in their order, without what is new in each run. What belongs to no request (world
/// changes) is together under `None`.
fn by_request(messages: &[Message]) -> BTreeMap<Option<Id>, Vec<Value>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for message in messages {
        let request = message.request_id().or_else(|| message.answers());
        all.entry(request).or_default().push(timeless(message.value.clone(), ""));
    }
    all
}

/// The value without times and random ids.
fn timeless(value: Value, name: &str) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name.clone(), timeless(value, &name)));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| timeless(item, name)).collect(),
        Value::String(text) if name == "id" && is_random(&text) => "random".into(),
        _ if matches!(name, "durationSeconds" | "createdAt") => Value::Null,
        other => other,
    }
}

/// Ids of tool calls, of their requests, and of transcript entries.
fn is_random(id: &str) -> bool {
    id.starts_with("call_") || id.starts_with("t-") || (id.len() == 36 && id.matches('-').count() == 4)
}
