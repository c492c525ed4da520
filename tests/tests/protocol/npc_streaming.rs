//! `npc/event`: what a game hears of a turn while it runs. That deltas and resets add up to the line and that the last
//! emotion is that of the answer, the monitor checks everywhere.

use oam_tests::{
    Oam,
    npc::played,
    script::{call, endless, error, feel, reply, reply_in_pieces, text, tool},
};
use serde_json::{Value, json};

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// A streamed turn of a fresh NPC: its answer and its events.
fn streamed(oam: &mut Oam, steps: impl IntoIterator<Item = Value>, options: Value) -> (Value, Vec<Value>) {
    let params = json!({"options": options, "tools": [tool("look")]});
    oam.npc_with("gorm", steps, params);
    let told = oam.talk_streamed("gorm", "Hello");
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    told
}

#[test]
fn the_emotion_comes_first_and_once_then_the_line_grows() {
    let mut oam = Oam::start();
    let line = "Welcome to my forge, lad. Mind the sparks.";
    for chunks in [1, 2, 5, 12, 40, 1000] {
        let (turn, events) = streamed(&mut oam, [reply_in_pieces("happy", line, chunks)], json!({}));
        assert_eq!(turn["line"], line);
        assert_eq!(events[0], json!({"type": "emotion", "emotion": "happy"}), "{chunks}");
        assert!(types(&events[1..]).iter().all(|kind| *kind == "lineDelta"), "{events:?}");
        assert_eq!(played(&events), (Some("happy".to_owned()), line.to_owned()));
    }
    let (_, events) = streamed(&mut oam, [reply("happy", line)], json!({}));
    assert_eq!(
        events,
        [json!({"type": "emotion", "emotion": "happy"}), json!({"type": "lineDelta", "delta": line})],
        "a reply in one piece is told too"
    );
}

#[test]
fn what_is_not_spoken_is_never_shown() {
    let mut oam = Oam::start();
    for (spoken, line) in [
        ("Gorm: Three swords.", "Three swords."),
        ("gorm says: \"Three swords.\"", "Three swords."),
        ("  **Gorm:** Three swords.  ", "Three swords."),
        ("“Three swords.”", "Three swords."),
        ("Gorm is my name.", "Gorm is my name."),
        ("G", "G"),
    ] {
        for chunks in [1, 3, 200] {
            let (turn, events) = streamed(&mut oam, [reply_in_pieces("happy", spoken, chunks)], json!({}));
            assert_eq!(turn["line"], line, "{spoken:?}");
            assert!(!types(&events).contains(&"lineReset"), "{events:?}");
            let answer = json!({"text": format!("[happy] {spoken}"), "chunks": chunks});
            let (turn, events) = streamed(&mut oam, [answer], json!({"replyFormat": "text"}));
            assert_eq!(turn["line"], line, "{spoken:?}");
            assert_eq!(events[0], json!({"type": "emotion", "emotion": "happy"}));
            assert!(!types(&events).contains(&"lineReset"), "{events:?}");
        }
    }
}

#[test]
fn whatever_comes_adds_up() {
    let mut oam = Oam::start();
    for spoken in [
        "\"Hm\" he said.",
        "'Tis mine.'",
        "'Quoted.'",
        "[angry] [sad] Hm.",
        "[An aside that nobody closes, however long",
        "[short",
        "👩‍👩‍👧‍👦e\u{301}🇩🇪日本 noël",
        "Gorm:",
        "\"",
        "line\nbreaks\n\nstay",
        "\\ {\"line\": 1}",
    ] {
        for chunks in [1, 4, 300] {
            let (turn, events) = streamed(&mut oam, [reply_in_pieces("sad", spoken, chunks)], json!({}));
            assert_eq!(played(&events).1, turn["line"].as_str().unwrap(), "{spoken:?}");
            let answer = json!({"text": spoken, "chunks": chunks});
            let (turn, events) = streamed(&mut oam, [answer], json!({"replyFormat": "text"}));
            let (emotion, line) = played(&events);
            assert_eq!(
                (json!(emotion), json!(line)),
                (turn["emotion"].clone(), turn["line"].clone()),
                "{spoken:?}"
            );
            assert!(!json!(events).to_string().contains('\u{fffd}'));
        }
    }
}

#[test]
fn an_emotion_is_told_at_least_once() {
    let mut oam = Oam::start();
    for (step, options) in [
        (json!({"json": {"line": "Hm."}}), json!({})),
        (json!({"json": {"line": "Hm.", "emotion": "odd"}}), json!({})),
        (text("Hm."), json!({"replyFormat": "text"})),
        (error("refusal"), json!({"replyFormat": "text", "fallbackLines": ["Hm."]})),
        (text(""), json!({"replyFormat": "text", "fallbackLines": ["Hm."]})),
    ] {
        let (_, events) = streamed(&mut oam, [step.clone()], options);
        assert_eq!(played(&events), (Some("neutral".to_owned()), "Hm.".to_owned()), "{step}");
        assert_eq!(types(&events).iter().filter(|kind| **kind == "emotion").count(), 1);
    }
}

#[test]
fn a_second_try_and_a_fallback_line_add_up() {
    let mut oam = Oam::start();
    let retry = json!({"text": "[amused] Ha! Bold words.", "chunks": 4});
    let (_, events) = streamed(&mut oam, [error("guardrail_violation"), retry], json!({}));
    assert_eq!(played(&events), (Some("amused".to_owned()), "Ha! Bold words.".to_owned()));
    assert!(!types(&events).contains(&"lineReset"));
    let options = json!({"fallbackLines": ["Away."]});
    let (_, events) = streamed(&mut oam, [error("refusal"), error("refusal")], options);
    assert_eq!(
        events,
        [json!({"type": "emotion", "emotion": "neutral"}), json!({"type": "lineDelta", "delta": "Away."})]
    );
}

#[test]
fn tools_are_told_of_between() {
    let mut oam = Oam::start();
    let steps = [call("look", json!({"what": "x"})), feel(3), reply("happy", "Hm.")];
    oam.answer_tools_with(json!("seen"));
    let (turn, events) = streamed(&mut oam, steps, json!({"memoryTools": "all"}));
    assert_eq!(
        types(&events),
        [
            "toolCallStarted",
            "toolCallCompleted",
            "toolCallStarted",
            "toolCallCompleted",
            "emotion",
            "lineDelta"
        ]
    );
    for (event, execution, record) in [(&events[0], "client", 0), (&events[2], "local", 1)] {
        let record = &turn["toolCalls"][record];
        assert_eq!(
            *event,
            json!({"type": "toolCallStarted", "call": record["call"], "execution": execution})
        );
    }
    assert_eq!(events[3], json!({"type": "toolCallCompleted", "record": turn["toolCalls"][1]}));
    let at =
        |kind: &str| oam.position(kind, |message| message.event().is_some_and(|event| event["type"] == kind));
    let tool_call = oam.position("tool/call", |message| message.method() == Some("tool/call"));
    assert!(at("toolCallStarted") < tool_call && tool_call < at("toolCallCompleted"));
}

#[test]
fn events_name_their_npc_and_request() {
    let mut oam = Oam::start();
    for npc in ["a", "b", "c"] {
        oam.npc(npc, [reply_in_pieces("happy", &format!("{npc} speaks in many pieces"), 60)]);
    }
    let turns = ["a", "b", "c"].map(|npc| oam.start_talk_with(npc, "x", json!({"stream": true})));
    for turn in &turns {
        oam.wait_ok(turn);
    }
    for (turn, npc) in turns.iter().zip(["a", "b", "c"]) {
        for message in oam.messages().iter().filter(|message| message.request_id().as_ref() == Some(turn)) {
            let members: Vec<_> = message.value.as_object().unwrap().keys().collect();
            assert_eq!(members, ["jsonrpc", "method", "params"]);
            let members: Vec<_> = message.value["params"].as_object().unwrap().keys().collect();
            assert_eq!(members, ["npc", "requestId", "event"]);
            assert_eq!((message.method(), &message.value["params"]["npc"]), (Some("npc/event"), &json!(npc)));
        }
        assert_eq!(played(&oam.events(turn)).1, format!("{npc} speaks in many pieces"));
    }
}

#[test]
fn without_stream_there_are_no_events() {
    let mut oam = Oam::start();
    oam.answer_tools_with(json!("seen"));
    let steps = [call("look", json!({})), feel(1), reply("sad", "Hm."), reply("sad", "Hm.")];
    oam.npc_with("gorm", steps, json!({"tools": [tool("look")], "options": {"memoryTools": "all"}}));
    oam.talk_with("gorm", "x", json!({"stream": false}));
    oam.talk("gorm", "x");
    assert_eq!((oam.count("npc/event"), oam.count("tool/call")), (0, 1));
}

#[test]
fn a_failing_turn_tells_its_tools_and_then_its_error() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [feel(1), error("context_size_exceeded")],
        json!({"options": {"memoryTools": "all"}}),
    );
    let turn = oam.start_talk_with("gorm", "x", json!({"stream": true}));
    oam.wait_fails(&turn);
    oam.settle();
    assert_eq!(types(&oam.events(&turn)), ["toolCallStarted", "toolCallCompleted"]);
}

#[test]
fn a_cancelled_turn_says_nothing_more() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [feel(1), endless()], json!({"options": {"memoryTools": "all"}}));
    let turn = oam.start_talk_with("gorm", "x", json!({"stream": true}));
    oam.take("its tool", |message| message.event().is_some_and(|event| event["type"] == "toolCallCompleted"));
    oam.ok("npc/cancel", json!({"npc": "gorm"}));
    oam.wait_fails(&turn);
    oam.settle();
    assert_eq!(types(&oam.events(&turn)), ["toolCallStarted", "toolCallCompleted"]);
}
