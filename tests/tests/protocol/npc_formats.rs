//! What an NPC's reply is read from, and what stands in when there is none: formats, second tries, fallback lines.

use oam_tests::{
    Oam,
    npc::conversation,
    script::{call, calls, error, feel, reply, template, text, tool},
};
use serde_json::{Value, json};

const DEFAULT_LINES: [&str; 3] =
    ["Let's talk about something else.", "I'd rather not speak of that.", "Hmm. Ask me something else."];

/// The turn that `steps` make with `options`; Gorm's default emotion is amused.
fn turn(oam: &mut Oam, steps: impl IntoIterator<Item = Value>, options: Value) -> Value {
    oam.call("npc/delete", json!({"npc": "gorm"})).ok();
    let persona = json!({"name": "Gorm", "defaultEmotion": "playful"});
    oam.npc_with("gorm", steps, json!({"persona": persona, "options": options, "tools": [tool("look")]}));
    oam.talk("gorm", "Hello")
}

fn structured(reply: Value) -> [Value; 1] {
    [json!({"json": reply})]
}

#[test]
fn structured_replies_are_read_leniently() {
    let mut oam = Oam::start();
    let two = json!({"playerOptionCount": 2});
    for (answer, options, expected) in [
        (
            json!({"emotion": "Gruff!", "line": "Gorm: \"Three swords.\"", "player_options":
                ["- Buy.", "2) Player: 'Leave.'", "BUY.", 3, " ", "More?", "Too many"], "ends_conversation": true}),
            json!({}),
            json!(["Three swords.", "annoyed", ["Buy.", "Leave.", "More?"], true]),
        ),
        (
            json!({"line": "Hm.", "player_options": ["a", "b", "c"], "ends_conversation": "true"}),
            two.clone(),
            json!(["Hm.", "amused", ["a", "b"], false]),
        ),
        (
            json!({"emotion": "proud", "line": "Bye.", "ends_conversation": true}),
            json!({"canEndConversation": false}),
            json!(["Bye.", "proud", [], false]),
        ),
        (
            json!({"emotion": "very happy", "line": "Hm.", "player_options": ["a"]}),
            json!({"playerOptionCount": 0}),
            json!(["Hm.", "amused", [], false]),
        ),
        (
            json!({"emotion": "proud", "line": "Hm.", "player_options": "a", "ends_conversation": 1}),
            json!({"emotions": ["sad"]}),
            json!(["Hm.", "proud", [], false]),
        ),
        (json!({"emotion": 1, "line": "**Gorm:** Hm."}), two.clone(), json!(["Hm.", "amused", [], false])),
        (
            json!({"emotion": "sad", "line": "gorm says: «Hm.»"}),
            two.clone(),
            json!(["Hm.", "sad", [], false]),
        ),
        (
            json!({"emotion": "sad", "line": "Say \"Hm.\""}),
            two.clone(),
            json!(["Say \"Hm.\"", "sad", [], false]),
        ),
        (
            json!({"emotion": "sad", "line": "\"A\" and \"B\""}),
            two,
            json!(["\"A\" and \"B\"", "sad", [], false]),
        ),
    ] {
        let turn = turn(&mut oam, structured(answer.clone()), options);
        let read = json!([turn["line"], turn["emotion"], turn["playerOptions"], turn["endsConversation"]]);
        assert_eq!((&read, &turn["isFallback"]), (&expected, &json!(false)), "{answer}");
    }
}

#[test]
fn replies_in_text_begin_with_their_emotion() {
    let mut oam = Oam::start();
    for (answer, emotion, line) in [
        ("[gruff] Three swords, lad.", "annoyed", "Three swords, lad."),
        ("\n [ HAPPY! ]Gorm: \"Hm.\"", "happy", "Hm."),
        ("[sighs deeply] Fine.", "amused", "Fine."),
        ("No tag here.", "amused", "No tag here."),
        ("[sad] [angry] Both.", "sad", "[angry] Both."),
        ("[An aside that is never closed goes on", "amused", "[An aside that is never closed goes on"),
        ("{\"emotion\": \"sad\"}", "amused", "{\"emotion\": \"sad\"}"),
    ] {
        let turn = turn(&mut oam, [text(answer)], json!({"replyFormat": "text"}));
        assert_eq!((&turn["emotion"], &turn["line"]), (&json!(emotion), &json!(line)), "{answer:?}");
        assert_eq!((&turn["playerOptions"], &turn["endsConversation"]), (&json!([]), &json!(false)));
        assert_eq!(turn["isFallback"], false);
    }
}

#[test]
fn every_emotion_has_its_synonyms() {
    let mut oam = Oam::start();
    let words = [
        ("neutral", "calm"),
        ("happy", "warm"),
        ("sad", "melancholy"),
        ("angry", "hostile"),
        ("afraid", "scared"),
        ("surprised", "startled"),
        ("suspicious", "sceptical"),
        ("amused", "laughing"),
        ("disgusted", "revolted"),
        ("excited", "eager"),
        ("curious", "intrigued"),
        ("confused", "puzzled"),
        ("worried", "nervous"),
        ("grateful", "thankful"),
        ("annoyed", "impatient"),
        ("proud", "smug"),
    ];
    let steps = words.iter().flat_map(|(name, synonym)| {
        [text(&format!("[{}] Hm.", name.to_uppercase())), text(&format!("[*{synonym}*] Hm."))]
    });
    oam.npc_with("gorm", steps, json!({"options": {"replyFormat": "text", "compactAfterTurns": 0}}));
    for (name, synonym) in words {
        assert_eq!(oam.talk("gorm", "x")["emotion"], name);
        assert_eq!(oam.talk("gorm", "x")["emotion"], name, "{synonym}");
    }
}

/// How a turn ends: in a line of the model, in a fallback line, or in an error.
#[derive(Debug, PartialEq)]
enum End {
    Line(&'static str),
    Fallback,
    Error(i64),
}

fn end(oam: &mut Oam) -> End {
    match oam.call("npc/talk", json!({"npc": "gorm", "line": "Hello"})) {
        Err(error) => End::Error(error.code),
        Ok(turn) if turn["isFallback"] == true => End::Fallback,
        Ok(turn) if turn["line"] == "Spoken." => End::Line("Spoken."),
        Ok(turn) if turn["line"] == "Next." => End::Line("Next."),
        Ok(turn) => oam.fail(&format!("nobody said so: {turn}")),
    }
}

#[test]
fn what_is_blocked_is_tried_as_text_or_replaced_as_the_options_say() {
    use End::{Error, Fallback, Line};
    let mut oam = Oam::start();
    let next = || text("[sad] Next.");
    let spoken = || text("[sad] Spoken.");
    for block in ["guardrail_violation", "refusal"] {
        let code = if block == "refusal" { -32003 } else { -32002 };
        for (format, falls_back, steps, ends) in [
            // The first step after the turn is the next turn's, so `Next.` tells that no step was taken too many.
            ("automatic", true, vec![error(block), spoken()], Line("Spoken.")),
            ("automatic", false, vec![error(block), spoken()], Line("Spoken.")),
            ("automatic", true, vec![error(block), error(block)], Fallback),
            ("automatic", true, vec![error(block), error("refusal")], Fallback),
            ("automatic", true, vec![error(block), text("[sad]")], Fallback),
            ("automatic", false, vec![error("refusal"), error(block)], Error(code)),
            ("automatic", true, vec![error(block), error("context_size_exceeded")], Error(-32004)),
            ("structured", true, vec![error(block)], Fallback),
            ("structured", false, vec![error(block)], Error(code)),
            ("text", true, vec![error(block)], Fallback),
            ("text", false, vec![error(block)], Error(code)),
            ("text", true, vec![spoken()], Line("Spoken.")),
            ("automatic", true, vec![error("context_size_exceeded")], Error(-32004)),
            ("structured", true, vec![error("unsupported_language")], Error(-32006)),
        ] {
            let options = json!({"replyFormat": format, "fallbackOnGuardrail": falls_back});
            let told = format!("{format} {falls_back} {steps:?}");
            oam.npc_with("gorm", steps.into_iter().chain([next()]), json!({"options": options}));
            assert_eq!(end(&mut oam), ends, "{told}");
            oam.ok("npc/update", json!({"npc": "gorm", "options": {"replyFormat": "text"}}));
            assert_eq!(end(&mut oam), Line("Next."), "{told}");
            oam.ok("npc/delete", json!({"npc": "gorm"}));
        }
    }
}

#[test]
fn a_fallback_turn_tells_its_tools_and_leaves_history_and_memory_alone() {
    let mut oam = Oam::start();
    oam.answer_tools_with(json!("seen"));
    oam.npc_with(
        "gorm",
        [
            reply("sad", "One."),
            call("look", json!({})),
            feel(5),
            error("guardrail_violation"),
            error("guardrail_violation"),
            reply("sad", "Two."),
        ],
        json!({"persona": {"name": "Gorm", "defaultEmotion": "proud"}, "memory": {"relationship": 1},
            "tools": [tool("look")], "options": {"memoryTools": "all", "fallbackLines": [" ", " Away. "]}}),
    );
    oam.talk("gorm", "a");
    let before = oam.saved_npc("gorm");
    let turn = oam.talk("gorm", "b");
    assert_eq!(
        (&turn["line"], &turn["emotion"], &turn["isFallback"]),
        (&json!("Away."), &json!("proud"), &json!(true))
    );
    assert_eq!((&turn["playerOptions"], &turn["endsConversation"]), (&json!([]), &json!(false)));
    assert_eq!(turn["relationship"], 1);
    assert_eq!(
        turn["usage"],
        json!({"inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "totalTokens": 0})
    );
    let names: Vec<_> =
        turn["toolCalls"].as_array().unwrap().iter().map(|record| &record["call"]["name"]).collect();
    assert_eq!(names, ["look", "change_relationship"]);
    let after = oam.saved_npc("gorm");
    assert_eq!((conversation(&after), &after["memory"]), (conversation(&before), &before["memory"]));
    assert_eq!(oam.listed_npc("gorm")["turnCount"], 1);
    assert_eq!(oam.talk("gorm", "c")["line"], "Two.", "the next turn starts structured again");
}

#[test]
fn fallback_lines_take_turns() {
    let mut oam = Oam::start();
    for (lines, expected) in [
        (json!([]), &DEFAULT_LINES[..]),
        (json!(["", " \n"]), &DEFAULT_LINES),
        (json!(["A.", " ", "B. "]), &["A.", "B."]),
        (json!(["Only."]), &["Only."]),
    ] {
        let options = json!({"replyFormat": "structured", "fallbackLines": lines});
        oam.npc_with("gorm", vec![error("refusal"); 7], json!({"options": options}));
        for line in expected.iter().cycle().take(6) {
            assert_eq!(oam.talk("gorm", "x")["line"], *line, "{lines}");
        }
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn the_place_in_the_rotation_outlives_updates_and_resets_but_no_restore() {
    let mut oam = Oam::start();
    let lines = json!(["A.", "B.", "C."]);
    let options = json!({"replyFormat": "text", "fallbackLines": lines});
    oam.npc_with("gorm", vec![error("refusal"); 3], json!({"options": options}));
    assert_eq!(oam.talk("gorm", "x")["line"], "A.");
    oam.ok("npc/reset", json!({"npc": "gorm", "clearMemory": true}));
    assert_eq!(oam.talk("gorm", "x")["line"], "B.");
    oam.ok("npc/update", json!({"npc": "gorm", "options": {"fallbackLines": ["a.", "b.", "c."]}}));
    assert_eq!(oam.talk("gorm", "x")["line"], "c.");
    let state = oam.saved_npc("gorm");
    let model = json!({"type": "scripted", "steps": [error("refusal")]});
    oam.ok("npc/restore", json!({"state": state, "npc": "copy", "model": model}));
    assert_eq!(oam.talk("copy", "x")["line"], "a.");
}

#[test]
fn a_reply_without_words_gives_a_fallback_line_but_counts() {
    let mut oam = Oam::start();
    for (format, step) in [
        ("structured", reply("sad", " ")),
        ("structured", reply("sad", "Gorm:")),
        ("structured", json!({"json": {"emotion": "sad"}})),
        ("automatic", json!({"json": {}})),
        ("text", text("[sad] ")),
        ("text", text("")),
    ] {
        let options = json!({"replyFormat": format, "fallbackLines": ["Hm."], "memoryTools": "all"});
        oam.npc_with("gorm", [feel(5), step.clone()], json!({"options": options}));
        let (turn, _) = oam.talk_streamed("gorm", "x");
        assert_eq!((&turn["line"], &turn["isFallback"]), (&json!("Hm."), &json!(true)), "{step}");
        assert_eq!(turn["relationship"], 5, "{step}: what the turn remembered is kept");
        assert_eq!(oam.listed_npc("gorm")["turnCount"], 1, "{step}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn the_second_try_is_told_what_the_tools_found_and_calls_none() {
    let mut oam = Oam::start();
    let looked = |what: &str| ("look", json!({"what": what}));
    let step = |range: std::ops::Range<usize>| {
        calls(&range.map(|number| looked(&number.to_string())).collect::<Vec<_>>())
    };
    oam.npc_with(
        "gorm",
        [step(0..4), step(4..8), error("guardrail_violation"), template("[happy] {prompt}")],
        json!({"tools": [tool("look")], "options": {"maxToolCalls": 8, "maxToolRounds": 4}}),
    );
    oam.answer_tools(|call| match call.arguments["what"].as_str().unwrap() {
        "1" => oam_tests::Reply::Error(json!({"code": 1, "message": "Too dark."})),
        "2" => oam_tests::Reply::Output(json!({"n": 2.0})),
        "3" => oam_tests::Reply::Output(json!("y".repeat(500))),
        what => oam_tests::Reply::Output(json!(format!("saw {what}"))),
    });
    let turn = oam.talk_with("gorm", "Look around", json!({"context": "Night."}));
    assert_eq!((&turn["emotion"], &turn["isFallback"]), (&json!("happy"), &json!(false)));
    assert_eq!((turn["toolCalls"].as_array().unwrap().len(), oam.count("tool/call")), (8, 8));
    let line = turn["line"].as_str().unwrap().to_owned();
    let mut lines = line.lines();
    assert_eq!(lines.next(), Some("Situation: Night."));
    assert_eq!(lines.next(), Some("Player: Look around"));
    assert_eq!(lines.next(), Some("Facts you just looked up:"));
    let mut facts: Vec<_> = lines.by_ref().take(6).collect();
    facts.sort_unstable();
    assert!(facts.iter().all(|fact| fact.starts_with("- look {\"what\":\"")), "{facts:?}");
    assert!(!line.contains("Too dark."), "errors are no facts");
    assert!(line.contains("- look {\"what\":\"2\"} → {\"n\":2}"), "{line}");
    assert!(line.contains(&format!("→ {}\n", "y".repeat(400))), "{line}");
    assert!(lines.next().unwrap().contains("square brackets"));
    assert_eq!(lines.next(), None);
    assert_eq!(oam.npc_prompts("gorm"), [line], "the longer prompt stays in the history");
    assert_eq!(oam.npc_entries("gorm").len(), 2, "the calls of the blocked try do not");
}

#[test]
fn usage_is_that_of_the_try_that_succeeded() {
    let mut oam = Oam::start();
    let once = turn(&mut oam, [text("[sad] Spoken words.")], json!({"replyFormat": "text"}));
    let retried = turn(&mut oam, [error("refusal"), text("[sad] Spoken words.")], json!({}));
    assert_eq!(once["usage"], retried["usage"]);
    assert!(once["usage"]["outputTokens"].as_u64().unwrap() > 0);
}
