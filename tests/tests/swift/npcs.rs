//! An NPC on the Swift worker: one line, and everything once, whatever happens to the worker.

use oam_tests::{
    npc::{conversation, played},
    pool::Pool,
    script::{calls, reply_in_pieces, tool, write_world},
};
use serde_json::{Value, json};

use crate::swift;

const LINE: &str = "Welcome to my forge, lad. Mind the sparks.";

/// Creates NPC "gorm" in world "w", who looks, remembers and writes, and then says his line.
fn gorm(pool: &mut Pool, format: &str, line: &Value) {
    let look = calls(&[
        ("look", json!({"what": "door"})),
        ("remember_fact", json!({"fact": "Aria is brave."})),
        ("change_relationship", json!({"reason": "Kind.", "delta": 5})),
    ]);
    let script = json!([look, write_world("log.0", "met Aria"), line]);
    pool.ok("world/create", json!({"world": "w", "state": {"log": []}}));
    let options = json!({"replyFormat": format, "memoryTools": "all", "worldWritable": [""], "maxToolRounds": 5,
        "compactAfterTurns": 0, "extraInstructions": format!("oam-script:{script}")});
    pool.ok(
        "npc/create",
        json!({"npc": "gorm", "persona": {"name": "Gorm"}, "tools": [tool("look")], "world": "w", "options": options}),
    );
    pool.answer_tools_with(json!("a closed door"));
}

/// What must be the same whatever happens: the answer, what is remembered and written, what was asked.
fn told(pool: &mut Pool) -> Value {
    let (turn, events) = pool.talk_streamed("gorm", "Hello");
    assert_eq!(played(&events), (Some("happy".to_owned()), LINE.to_owned()));
    let state = pool.saved_npc("gorm");
    let roles: Vec<_> = conversation(&state).iter().map(|entry| entry["role"].clone()).collect();
    let world = pool.ok("world/snapshot", json!({"world": "w"}));
    json!({"line": turn["line"], "emotion": turn["emotion"], "relationship": turn["relationship"],
        "usage": turn["usage"], "calls": turn["toolCalls"].as_array().unwrap().len(), "memory": state["memory"],
        "roles": roles, "world": world, "asked": pool.count("tool/call")})
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_turn_comes_out_the_same_although_its_worker_dies_in_the_line() {
    let spoken = json!({"text": format!("[happy] Gorm: {LINE}"), "chunks": 9});
    for (format, line) in [("structured", reply_in_pieces("happy", LINE, 9)), ("text", spoken)] {
        let mut healthy = swift().start();
        gorm(&mut healthy, format, &line);
        let undisturbed = told(&mut healthy);
        assert_eq!(undisturbed["memory"], json!({"facts": ["Aria is brave."], "relationship": 5}));
        assert_eq!((&undisturbed["asked"], &undisturbed["world"]["version"]), (&json!(1), &json!(1)));

        for pieces in [0, 5] {
            let setup = swift();
            let mut line = line.clone();
            line["crashAfter"] = json!(pieces);
            line["once"] = json!(setup.path("crashed"));
            let mut pool = setup.start();
            gorm(&mut pool, format, &line);
            assert_eq!(told(&mut pool), undisturbed, "{format}, {pieces} pieces");
            assert_eq!(pool.counter("replays"), 1, "{format}, {pieces} pieces");
        }
    }
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_refusal_is_a_fallback_line() {
    let mut pool = swift().start();
    let options =
        json!({"fallbackLines": ["Hm."], "extraInstructions": r#"oam-script:[{"error": "refusal"}]"#});
    pool.ok("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "options": options}));
    let turn = pool.talk("gorm", "Hello");
    assert_eq!((&turn["line"], &turn["isFallback"]), (&json!("Hm."), &json!(true)));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn barks_and_decisions_are_the_model_s() {
    let mut pool = swift().start();
    let options =
        json!({"replyFormat": "text", "extraInstructions": r#"oam-script:[{"text": "Gorm: Rain again."}]"#});
    pool.ok("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "options": options}));
    assert_eq!(pool.ok("npc/bark", json!({"npc": "gorm", "situation": "Rain."}))["line"], "Rain again.");
    let step = json!({"json": {"reasoning": "Because.", "choice": "stay", "confidence": 60}});
    let decision = json!({"situation": "x", "options": ["go", "stay"],
        "instructions": format!("Decide.\noam-script:{}", json!([step]))});
    assert_eq!(pool.ok("decision/decide", decision)["optionID"], "stay");
}
