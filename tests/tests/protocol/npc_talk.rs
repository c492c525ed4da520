//! `npc/talk`: what the player says, what the model is shown of it, and how a turn fails.

use oam_tests::{
    Oam,
    npc::conversation,
    script::{call, error, feel, reply, template, text, tool},
};
use serde_json::{Value, json};

#[test]
fn a_turn_has_its_members_in_order() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [reply("proud", "Hm.")], json!({"memory": {"relationship": -4}}));
    oam.talk("gorm", "Hello");
    let line = oam.messages().last().unwrap().line.clone();
    let start = r#""result":{"npc":"gorm","line":"Hm.","emotion":"proud","playerOptions":["Go on.","Goodbye."],"endsConversation":false,"toolCalls":[],"relationship":-4,"isFallback":false,"usage":{"inputTokens":"#;
    assert!(line.contains(start) && !line.contains("warnings"), "{line}");
    let usage: Value = serde_json::from_str(&line).unwrap();
    let usage = usage["result"]["usage"].as_object().unwrap().clone();
    assert_eq!(
        usage.keys().collect::<Vec<_>>(),
        ["inputTokens", "cachedInputTokens", "outputTokens", "totalTokens"]
    );
    assert!(usage["outputTokens"].as_u64().unwrap() > 0);
}

#[test]
fn parameters_are_checked() {
    let mut oam = Oam::start();
    oam.npc("gorm", [reply("proud", "Hm.")]);
    for (name, value, message) in [
        ("line", json!(null), "Missing required parameter 'line'."),
        ("line", json!(7), "Parameter 'line' must be a string; got 7."),
        ("line", json!(["a"]), "Parameter 'line' must be a string; got [\"a\"]."),
        ("stream", json!("yes"), "Parameter 'stream' must be a boolean; got \"yes\"."),
        ("stream", json!(1), "Parameter 'stream' must be a boolean; got 1."),
        ("toolChoice", json!("any"), "Parameter 'toolChoice' must be"),
        ("toolChoice", json!(3), "Parameter 'toolChoice' must be"),
        ("toolChoice", json!({"tool": ""}), "'toolChoice' object must be"),
        ("toolChoice", json!({"name": "look"}), "'toolChoice' object must be"),
    ] {
        let mut params = json!({"npc": "gorm", "line": "Hello"});
        params[name] = value.clone();
        let error = oam.fails("npc/talk", params);
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{name}: {value}");
        assert!(error.message.starts_with(message), "{}", error.message);
    }
    let nothing = json!({"context": null, "stream": null, "toolChoice": null});
    assert_eq!(oam.talk_with("gorm", "Hello", nothing)["line"], "Hm.", "nothing wrong took a step");
}

#[test]
fn unknown_parameters_are_warned_about() {
    let mut oam = Oam::start();
    oam.npc("gorm", [reply("proud", "Hm.")]);
    let turn = oam.talk_with("gorm", "Hello", json!({"prompt": "x", "schema": null}));
    assert_eq!(
        turn["warnings"],
        json!(["Unknown parameter 'prompt' was ignored.", "Unknown parameter 'schema' was ignored."])
    );
    assert_eq!(turn.as_object().unwrap().keys().next_back().unwrap(), "warnings");
}

#[test]
fn the_model_is_shown_a_scene() {
    let mut oam = Oam::start();
    oam.npc_with(
        "echo",
        vec![template("[sad] {prompt}"); 12],
        json!({"options": {"replyFormat": "text", "compactAfterTurns": 0}}),
    );
    for (line, context, prompt) in [
        ("Hello", json!(null), "Player: Hello"),
        (" Hello\n", json!(" \n"), "Player: Hello"),
        ("", json!(null), "Player: (The player says nothing.)"),
        (" \t\n", json!(""), "Player: (The player says nothing.)"),
        ("Hi", json!(" It rains. "), "Situation: It rains.\nPlayer: Hi"),
        ("", json!("It rains."), "Situation: It rains.\nPlayer: (The player says nothing.)"),
        (
            "Hi",
            json!({"z": 1.0, "a": [true, null, "x"]}),
            "Situation: {\"z\":1,\"a\":[true,null,\"x\"]}\nPlayer: Hi",
        ),
        ("Hi", json!({}), "Situation: {}\nPlayer: Hi"),
        ("Hi", json!([]), "Situation: []\nPlayer: Hi"),
        ("Hi", json!(45), "Situation: 45\nPlayer: Hi"),
        ("Hi", json!(false), "Situation: false\nPlayer: Hi"),
        ("Gorm: {toolOutput}", json!(null), "Player: Gorm:"),
    ] {
        let turn = oam.talk_with("echo", line, json!({"context": context}));
        assert_eq!(turn["line"], prompt, "{line:?} {context}");
    }
}

#[test]
fn the_scene_begins_with_the_state_of_the_world() {
    let mut oam = Oam::start();
    let state = json!({"player": {"name": "Aria", "gold": 60, "bag": ["rope"], "empty": {}}, "time": "evening",
        "deep": {"a": {"b": {"c": {"d": 1}}}}, "note": "x".repeat(300), "nothing": null});
    oam.ok("world/create", json!({"world": "w", "state": state}));
    for (paths, block) in [
        (json!([]), None),
        (json!(["nowhere", "player.mana", "a..b", "TIME"]), None),
        (json!(["time"]), Some("time: evening".to_owned())),
        (json!(["time", "player.gold"]), Some("time: evening\nplayer.gold: 60".to_owned())),
        (
            json!(["player"]),
            Some("player.name: Aria\nplayer.gold: 60\nplayer.bag: [\"rope\"]\nplayer.empty: {}".to_owned()),
        ),
        (json!(["note"]), Some(format!("note: {}...", "x".repeat(197)))),
        (json!(["nothing", "player.bag.0"]), Some("nothing: null\nplayer.bag.0: rope".to_owned())),
    ] {
        oam.npc_with(
            "echo",
            [template("[sad] {prompt}")],
            json!({"world": "w", "options": {"replyFormat": "text", "worldContextPaths": paths}}),
        );
        let turn = oam.talk_with("echo", "Hi", json!({"context": "Rain."}));
        let block = block.map(|block| format!("Game state:\n{block}\n")).unwrap_or_default();
        assert_eq!(turn["line"], format!("{block}Situation: Rain.\nPlayer: Hi"), "{paths}");
        oam.ok("npc/delete", json!({"npc": "echo"}));
    }
}

#[test]
fn the_world_is_looked_at_when_a_turn_starts() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w", "state": {"gold": 1}}));
    oam.npc_with(
        "echo",
        [call("look", json!({})), text("[sad] Hm."), template("[sad] {prompt}")],
        json!({"world": "w", "tools": [tool("look")],
            "options": {"replyFormat": "text", "worldContextPaths": ["gold"]}}),
    );
    let first = oam.start_talk("echo", "a");
    let second = oam.start_talk("echo", "b");
    let call = oam.tool_call();
    oam.ok("world/set", json!({"world": "w", "path": "gold", "value": 2}));
    oam.reply(&call, json!("seen"));
    oam.wait_ok(&first);
    assert_eq!(oam.wait_ok(&second)["line"], "Game state:\ngold: 2\nPlayer: b");
}

#[test]
fn a_failed_turn_leaves_no_trace() {
    let mut oam = Oam::start();
    for (name, code) in [
        ("model_unavailable", -32001),
        ("context_size_exceeded", -32004),
        ("unsupported_language", -32006),
        ("invalid_schema", -32007),
        ("tool_failed", -32008),
        ("cancelled", -32009),
        ("busy", -32010),
        ("invalid_request", -32011),
    ] {
        let failure = json!({"error": name, "message": "Not today."});
        let params = json!({"memory": {"relationship": 3}, "options": {"memoryTools": "all"}});
        oam.npc_with("gorm", [reply("proud", "Hm."), feel(5), failure, reply("sad", "Well.")], params);
        oam.talk("gorm", "a");
        let before = oam.saved_npc("gorm");
        let id = oam.start_talk("gorm", "b");
        let error = oam.wait_fails(&id);
        assert_eq!((error.code, error.name.as_str()), (code, name));
        let after = oam.saved_npc("gorm");
        assert_eq!(
            (conversation(&after), &after["memory"]),
            (conversation(&before), &before["memory"]),
            "{name}"
        );
        assert_eq!(oam.talk("gorm", "c")["line"], "Well.", "{name}: a failure is not tried again or as text");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_passing_failure_is_tried_once_more_unless_a_tool_ran() {
    let mut oam = Oam::start();
    oam.answer_tools_with(json!("seen"));
    for (name, code) in [("generation_failed", -32012), ("rate_limited", -32005)] {
        for (steps, outcome) in [
            (vec![error(name), reply("proud", "Hm.")], Ok("Hm.")),
            (vec![error(name), error(name), reply("proud", "Hm.")], Err(code)),
            (vec![call("look", json!({})), error(name), reply("proud", "Hm.")], Err(code)),
            (vec![call("respond_directly", json!({})), error(name), reply("proud", "Hm.")], Ok("Hm.")),
        ] {
            oam.npc_with("gorm", steps.clone(), json!({"tools": [tool("look")]}));
            let answer = oam.call("npc/talk", json!({"npc": "gorm", "line": "Hello"}));
            let told = answer.as_ref().map(|turn| turn["line"].as_str().unwrap()).map_err(|error| error.code);
            assert_eq!(told, outcome, "{steps:?}");
            oam.ok("npc/delete", json!({"npc": "gorm"}));
        }
    }
}

#[test]
fn an_answer_that_is_no_reply_fails_as_generation_failed() {
    let mut oam = Oam::start();
    oam.npc("gorm", [text("Just words."), text("Just words."), reply("proud", "Hm.")]);
    let id = oam.start_talk("gorm", "Hello");
    assert_eq!(oam.wait_fails(&id).name, "generation_failed");
    assert_eq!(oam.talk("gorm", "Hello")["line"], "Hm.");
}

#[test]
fn turns_of_one_npc_run_one_after_another_and_of_several_at_once() {
    let mut oam = Oam::start();
    for npc in ["a", "b"] {
        oam.npc_with(
            npc,
            [call("look", json!({})), reply("sad", "One."), reply("sad", "Two.")],
            json!({"tools": [tool("look")]}),
        );
    }
    let turns: Vec<_> = ["a", "a", "b", "b"].iter().map(|npc| oam.start_talk(npc, "x")).collect();
    let (one, other) = (oam.tool_call(), oam.tool_call());
    assert_ne!(one.npc, other.npc, "both have begun");
    let listed = oam.listed_npc("a");
    assert_eq!((&listed["pendingOperations"], &listed["turnCount"]), (&json!(2), &json!(1)));
    oam.reply(&other, json!("seen"));
    oam.reply(&one, json!("seen"));
    let lines: Vec<_> = turns.iter().map(|turn| oam.wait_ok(turn)["line"].clone()).collect();
    assert_eq!(lines, ["One.", "Two.", "One.", "Two."]);
}

#[test]
fn a_turn_that_nobody_awaits_runs_too() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [call("look", json!({})), feel(5), reply("sad", "Hm.")],
        json!({"tools": [tool("look")], "options": {"memoryTools": "all"}}),
    );
    oam.notify("npc/talk", json!({"npc": "gorm", "line": "Hello", "stream": true}));
    let call = oam.tool_call();
    assert_eq!(call.request_id, Value::Null);
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.saved_npc("gorm")["memory"]["relationship"], 5);
    let events = oam.messages().iter().filter(|message| message.method() == Some("npc/event"));
    assert!(
        events.clone().count() > 2
            && events.clone().all(|event| event.value["params"]["requestId"].is_null())
    );
}

#[test]
fn an_exhausted_script_falls_back_on_its_fallback() {
    let mut oam = Oam::start();
    let model =
        json!({"type": "scripted", "steps": [reply("sad", "Hm.")], "fallback": reply("happy", "Again!")});
    oam.ok("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "model": model}));
    let lines: Vec<_> = (0..3).map(|_| oam.talk("gorm", "x")["line"].clone()).collect();
    assert_eq!(lines, ["Hm.", "Again!", "Again!"]);
}
