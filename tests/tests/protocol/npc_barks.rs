//! `npc/bark`: a word in passing, beside any conversation and without a trace in it.

use oam_tests::{
    Oam,
    script::{call, endless, reply, template, text, tool},
};
use serde_json::{Value, json};

fn bark(oam: &mut Oam, situation: Value) -> Value {
    oam.ok("npc/bark", json!({"npc": "gorm", "situation": situation}))
}

#[test]
fn a_bark_is_the_first_line_that_says_something() {
    let mut oam = Oam::start();
    for (answer, line) in [
        ("Rain again.", "Rain again."),
        ("\n\n  Gorm: \"Rain again.\"\nAnd more.", "Rain again."),
        ("Gorm:\nRain.", "Rain."),
        ("**Gorm**: Rain. \r\nMore.", "Rain."),
        ("[sad] Rain.", "[sad] Rain."),
    ] {
        oam.npc("gorm", [text(answer)]);
        assert_eq!(bark(&mut oam, json!("Rain.")), json!({"npc": "gorm", "line": line}), "{answer:?}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_bark_is_shown_a_moment_in_which_nobody_speaks() {
    let mut oam = Oam::start();
    oam.npc("gorm", vec![template("{prompt}"); 9]);
    for (situation, first) in [
        (json!(null), "Situation: An ordinary moment."),
        (json!(" \n"), "Situation: An ordinary moment."),
        (json!(" Rain. "), "Situation: Rain."),
        (json!({"weather": "rain", "n": 1.0}), "Situation: {\"weather\":\"rain\",\"n\":1}"),
        (json!([1]), "Situation: [1]"),
        (json!(0), "Situation: 0"),
    ] {
        assert_eq!(bark(&mut oam, situation.clone())["line"], first, "{situation}");
    }
    assert_eq!(oam.ok("npc/bark", json!({"npc": "gorm"}))["line"], "Situation: An ordinary moment.");
    oam.ok("world/create", json!({"world": "w", "state": {"time": "evening"}}));
    oam.npc_with(
        "lysa",
        [template("{prompt}")],
        json!({"world": "w", "options": {"worldContextPaths": ["time"]}}),
    );
    assert_eq!(oam.ok("npc/bark", json!({"npc": "lysa"}))["line"], "Game state:");
}

#[test]
fn a_bark_leaves_no_trace_and_uses_no_tools() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [reply("sad", "Hm."), text("Rain again."), reply("sad", "Well.")],
        json!({"tools": [tool("look")], "memory": {"relationship": 3},
            "options": {"memoryTools": "all", "toolChoice": "required"}}),
    );
    oam.talk("gorm", "x");
    let before = oam.saved_npc("gorm");
    assert_eq!(bark(&mut oam, json!("Rain."))["line"], "Rain again.");
    assert_eq!(oam.saved_npc("gorm"), before);
    assert_eq!(oam.talk("gorm", "x")["line"], "Well.", "barks and turns share the script");
    assert_eq!((oam.count("npc/event"), oam.count("tool/call")), (0, 0));
}

#[test]
fn errors_are_told_as_they_are_and_nothing_is_tried_again() {
    let mut oam = Oam::start();
    for (name, code) in [
        ("guardrail_violation", -32002),
        ("refusal", -32003),
        ("generation_failed", -32012),
        ("rate_limited", -32005),
        ("context_size_exceeded", -32004),
        ("model_unavailable", -32001),
    ] {
        let failure = json!({"error": name, "message": "Not today."});
        oam.npc_with("gorm", [failure, text("Rain.")], json!({"options": {"fallbackLines": ["Hm."]}}));
        let error = oam.fails("npc/bark", json!({"npc": "gorm"}));
        assert_eq!((error.code, error.name.as_str(), error.message.as_str()), (code, name, "Not today."));
        assert_eq!(bark(&mut oam, json!(null))["line"], "Rain.", "{name}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_bark_without_words_fails() {
    let mut oam = Oam::start();
    for answer in ["", " \n ", "Gorm:", "\"\""] {
        oam.npc("gorm", [text(answer), text("Rain.")]);
        let error = oam.fails("npc/bark", json!({"npc": "gorm"}));
        assert_eq!((error.code, error.name.as_str()), (-32012, "generation_failed"), "{answer:?}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_bark_does_not_wait_for_a_turn_and_is_not_counted() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [call("look", json!({})), text("Rain."), text("More rain."), reply("sad", "Hm.")],
        json!({"tools": [tool("look")]}),
    );
    let turn = oam.start_talk("gorm", "x");
    let call = oam.tool_call();
    assert_eq!(bark(&mut oam, json!(null))["line"], "Rain.");
    assert_eq!(bark(&mut oam, json!(null))["line"], "More rain.");
    assert_eq!(oam.listed_npc("gorm")["pendingOperations"], 1);
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&turn)["line"], "Hm.");
}

#[test]
fn a_cancel_does_not_reach_a_bark() {
    let mut oam = Oam::start();
    oam.npc("gorm", [json!({"text": "Rain.", "delayMs": 200})]);
    let bark = oam.request("npc/bark", json!({"npc": "gorm"}));
    assert_eq!(oam.listed_npc("gorm")["busy"], false);
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 0);
    assert_eq!(oam.wait_ok(&bark), json!({"npc": "gorm", "line": "Rain."}));
}

#[test]
fn a_shutdown_cancels_barks() {
    let mut oam = Oam::start();
    oam.npc("gorm", [endless()]);
    let bark = oam.request("npc/bark", json!({"npc": "gorm"}));
    let shutdown = oam.request("shutdown", json!({}));
    assert_eq!(oam.wait_fails(&bark).name, "cancelled");
    oam.wait_ok(&shutdown);
    assert!(oam.answer_position(&bark) < oam.answer_position(&shutdown));
    assert!(oam.wait_exit().success());
}

#[test]
fn an_updated_character_barks_as_who_it_is() {
    let mut oam = Oam::start();
    oam.npc("gorm", [text("Gorm: Rain."), text("Gorm: Rain."), text("Ash: Rain.")]);
    assert_eq!(bark(&mut oam, json!(null))["line"], "Rain.");
    oam.ok("npc/update", json!({"npc": "gorm", "persona": {"name": "Ash"}}));
    assert_eq!(bark(&mut oam, json!(null))["line"], "Gorm: Rain.");
    assert_eq!(bark(&mut oam, json!(null))["line"], "Rain.");
}

#[test]
fn unknown_parameters_of_a_bark_are_ignored() {
    let mut oam = Oam::start();
    oam.npc("gorm", [text("Rain.")]);
    let result = oam.ok("npc/bark", json!({"npc": "gorm", "line": 5, "stream": "x"}));
    assert_eq!(result, json!({"npc": "gorm", "line": "Rain."}));
}
