//! Decisions whose actor is an NPC: they take who it is and leave the rest of it alone.

use oam_tests::{
    Oam,
    script::{call, endless, reply, tool},
};
use serde_json::{Value, json};

/// Parameters of a decision of `actor` on a model of its own.
fn decision(actor: &str) -> Value {
    let chosen = json!({"json": {"reasoning": "Because.", "choice": "stay", "confidence": 60}});
    json!({"situation": "x", "options": ["go", "stay"], "actor": actor,
        "model": {"type": "scripted", "steps": [chosen]}})
}

#[test]
fn deciding_leaves_the_npc_as_it_was() {
    let mut oam = Oam::start();
    oam.npc("gorm", [reply("sad", "One."), reply("sad", "Two.")]);
    oam.talk("gorm", "x");
    let before = (oam.saved_npc("gorm"), oam.listed_npc("gorm"));
    assert_eq!(oam.ok("decision/decide", decision("gorm"))["optionID"], "stay");
    assert_eq!((oam.saved_npc("gorm"), oam.listed_npc("gorm")), before);
    assert_eq!(oam.talk("gorm", "x")["line"], "Two.", "the decision has a script of its own");
}

#[test]
fn a_decision_waits_for_no_turn_and_no_cancel_reaches_it() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [call("look", json!({})), reply("sad", "Hm.")], json!({"tools": [tool("look")]}));
    let turn = oam.start_talk("gorm", "x");
    let open = oam.tool_call();
    assert_eq!(oam.ok("decision/decide", decision("gorm"))["optionID"], "stay");
    let mut slow = decision("gorm");
    slow["model"]["steps"][0]["delayMs"] = json!(200);
    let slow = oam.request("decision/decide", slow);
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 1);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    assert_eq!(oam.wait_ok(&slow)["optionID"], "stay", "it has taken what it needs");
    oam.reply(&open, json!("late"));
}

#[test]
fn an_actor_must_be_there_when_it_is_asked_for() {
    let mut oam = Oam::start();
    oam.npc("gorm", []);
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    for (method, params) in [
        ("decision/decide", decision("gorm")),
        ("decision/decideMany", json!({"requests": [{"situation": "x", "options": ["a"], "actor": "gorm"}]})),
    ] {
        let error = oam.fails(method, params);
        assert_eq!((error.code, &error.data["npc"]), (-32050, &json!("gorm")), "{method}");
    }
}

#[test]
fn a_crowd_of_npcs_decides_each_for_itself() {
    let mut oam = Oam::start();
    let mut requests = Vec::new();
    for number in 0..20 {
        let npc = format!("n{number}");
        oam.npc(&npc, [endless()]);
        oam.start_talk(&npc, "x");
        requests.push(json!({"situation": "x", "options": [format!("go {number}"), "stay"], "actor": npc}));
    }
    let steps: Vec<_> = (0..20)
        .map(|number| json!({"json": {"choice": format!("go {number}"), "reasoning": "", "confidence": 1}}))
        .collect();
    let crowd =
        json!({"requests": requests, "model": {"type": "scripted", "steps": steps}, "maxConcurrency": 1});
    let results = oam.ok("decision/decideMany", crowd)["results"].clone();
    let chosen: Vec<_> =
        results.as_array().unwrap().iter().map(|result| result["optionID"].clone()).collect();
    assert_eq!(chosen, (0..20).map(|number| json!(format!("go {number}"))).collect::<Vec<_>>());
    assert_eq!(oam.open_requests(), 20, "their turns still run");
}
