//! NPCs that are changed, saved or deleted while something else is under way, and warnings about what may not be meant.

use oam_tests::{
    Oam,
    script::{endless, reply, text, tool},
};
use serde_json::{Value, json};

/// An NPC of which a summary is being made.
fn summarizing(oam: &mut Oam) {
    let slow = json!({"text": "They met.", "delayMs": 100});
    oam.npc_with(
        "gorm",
        [reply("happy", "Aye."), reply("happy", "Aye."), slow],
        json!({"options": {"compactAfterTurns": 2, "keepRecentTurns": 1}}),
    );
    oam.talk("gorm", "1");
    oam.talk("gorm", "2");
}

#[test]
fn the_summary_of_an_update_stays() {
    let mut oam = Oam::start();
    summarizing(&mut oam);
    oam.ok("npc/update", json!({"npc": "gorm", "memory": {"summary": "The game knows better."}}));
    assert_eq!(oam.saved_npc("gorm")["memory"]["summary"], "The game knows better.");
}

#[test]
fn an_update_of_facts_keeps_the_summary_that_is_being_made() {
    let mut oam = Oam::start();
    summarizing(&mut oam);
    oam.ok("npc/update", json!({"npc": "gorm", "memory": {"facts": ["Aria is brave."]}}));
    assert_eq!(
        oam.saved_npc("gorm")["memory"],
        json!({"facts": ["Aria is brave."], "relationship": 0, "summary": "They met."})
    );
}

#[test]
fn an_update_that_waits_for_a_summary_can_be_cancelled() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [reply("happy", "Aye."), endless()],
        json!({"options": {"compactAfterTurns": 1, "keepRecentTurns": 0}}),
    );
    oam.talk("gorm", "1");
    oam.ok("npc/update", json!({"npc": "gorm", "persona": {"role": "the smith"}}));
    let waiting = oam.request("npc/update", json!({"npc": "gorm", "memory": {"relationship": 9}}));
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 1);
    assert_eq!(oam.wait_fails(&waiting).name, "cancelled");
    let listed = oam.listed_npc("gorm");
    assert_eq!((&listed["role"], &listed["relationship"]), (&json!("the smith"), &json!(0)));
}

#[test]
fn a_deleted_npc_does_not_bark() {
    let mut oam = Oam::start();
    oam.npc("gorm", [endless()]);
    let bark = oam.request("npc/bark", json!({"npc": "gorm"}));
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 0, "a bark is no turn");
    oam.ok("npc/delete", json!({"npc": "gorm"}));
    assert_eq!(oam.wait_fails(&bark).name, "cancelled");
}

#[test]
fn too_many_tools_are_warned_about_with_advice_that_helps() {
    let mut oam = Oam::start();
    let tools: Vec<_> = (0..6).map(|number| tool(&format!("t{number}"))).collect();
    let warning = |result: Value| result["warnings"][0].as_str().unwrap().to_owned();
    let session = warning(oam.session_with("s", [], json!({"tools": tools})));
    let npc = warning(oam.npc_with("gorm", [], json!({"tools": tools})));
    let decision = warning(oam.ok(
        "decision/decide",
        json!({"situation": "x", "options": ["a"], "tools": tools, "model": "scripted"}),
    ));
    for warning in [&session, &npc, &decision] {
        assert!(warning.starts_with("6 tools: Apple recommends at most 3-5 tools"), "{warning}");
    }
    let names_option = [session, npc, decision].map(|warning| warning.contains("enabledTools"));
    assert_eq!(names_option, [true, false, false], "only sessions have this option");
}

#[test]
fn a_save_of_a_newer_version_is_restored_with_a_warning() {
    let mut oam = Oam::start();
    oam.npc("gorm", []);
    let saved = oam.ok("npc/state", json!({"npc": "gorm"}));
    for (version, warnings) in [(0, 0), (1, 0), (2, 1)] {
        let mut saved = saved.clone();
        saved["state"]["version"] = json!(version);
        let restored =
            oam.ok("npc/restore", json!({"state": saved, "npc": version.to_string(), "model": "scripted"}));
        assert_eq!(restored["warnings"].as_array().unwrap().len(), warnings, "{restored}");
        assert!(
            warnings == 0
                || restored["warnings"][0].as_str().unwrap().starts_with("'state.version' is newer")
        );
    }
}

#[test]
fn prose_where_json_is_due_is_shown() {
    let mut oam = Oam::start();
    oam.npc("gorm", [text("Well met!"), text("Well met!")]);
    let id = oam.start_talk("gorm", "x");
    let error = oam.wait_fails(&id);
    assert_eq!(error.name, "generation_failed");
    assert!(error.message.contains("\"Well met!\""), "{}", error.message);
}

#[test]
fn what_is_no_index_is_named() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w", "state": {"party": ["Aria"]}}));
    let error = oam.fails("world/set", json!({"world": "w", "path": "party.leader", "value": "Aria"}));
    assert!(error.message.contains("'leader' is not an index"), "{}", error.message);
}
