//! Everything that changes a realm, at least once.

use serde_json::{Value, json};

/// A method, its parameters, and how it ends: `ok`, or the stable code of its error.
pub(crate) type Change = (&'static str, Value, &'static str);

/// Changes that build on each other, in this order.
pub(crate) fn changes() -> Vec<Change> {
    [changes_of_worlds(), changes_of_sessions(), changes_of_npcs(), ends_and_new_beginnings()].concat()
}

pub(crate) fn look() -> Value {
    json!({"name": "look", "description": "Looks around.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string", "pattern": "^[a-z]+$"}}}})
}

fn pay() -> Value {
    json!({"type": "function", "function": {"name": "pay", "description": "Pays."}})
}

pub(crate) fn scripted(steps: &Value) -> Value {
    json!({"type": "scripted", "steps": steps})
}

pub(crate) fn said(line: &str) -> Value {
    json!({"json": {"emotion": "happy", "line": line, "player_options": [], "ends_conversation": false}})
}

fn history() -> Value {
    json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [
        {"id": "i", "role": "instructions", "contents": [{"type": "text", "id": "i1", "text": "Be old."}], "tools": []},
        {"id": "p", "role": "user", "contents": [{"type": "text", "id": "p1", "text": "Hm?"}], "options": {}},
        {"id": "r", "role": "response", "contents": [{"type": "text", "id": "r1", "text": "Aye."}], "assets": []},
    ]}})
}

fn changes_of_worlds() -> Vec<Change> {
    vec![
        (
            "world/create",
            json!({"world": "inn", "state": {"fire": 1.0, "guests": [{"name": "Bo"}], "a.b": null}}),
            "ok",
        ),
        ("world/create", json!({}), "ok"),
        (
            "world/set",
            json!({"world": "inn", "path": "guests.1", "value": {"name": "Al", "debt": 1e300}}),
            "ok",
        ),
        ("world/set", json!({"world": "inn", "path": "guests.0.debt", "value": null}), "ok"),
        (
            "world/merge",
            json!({"world": "inn", "patch": {"fire": null, "door": {"": [1, -0.5]}, "a.b": {"c.d": 2}}}),
            "ok",
        ),
        ("world/merge", json!({"world": "inn", "patch": {"a.b": {"c.d": null}}}), "ok"),
        ("world/remove", json!({"world": "inn", "path": "guests.0"}), "ok"),
        ("world/remove", json!({"world": "inn", "path": "nobody"}), "ok"),
        ("world/set", json!({"world": "inn", "path": "guests.0.name.x.y", "value": 1}), "world_error"),
    ]
}

fn changes_of_sessions() -> Vec<Change> {
    let session = "session/respond";
    vec![
        (
            "session/create",
            json!({"session": "gorm", "instructions": "Be brief.", "tools": [look(), pay()],
            "options": {"maxToolRounds": 2, "toolTimeoutSeconds": 7, "temperature": 0.5},
            "model": scripted(&json!([
                {"text": "Aye."}, {"toolCalls": [{"name": "nothing", "arguments": {"at": "1.0"}}]}, {"text": "Nay."},
                {"error": "guardrail_violation"}, {"text": "They spoke."}, {"text": "Well."}, {"text": "Last."},
            ]))}),
            "ok",
        ),
        (session, json!({"session": "gorm", "prompt": "Hm?"}), "ok"),
        (session, json!({"session": "gorm", "prompt": "Really?", "schema": null}), "ok"),
        ("session/setInstructions", json!({"session": "gorm", "instructions": "Be long."}), "ok"),
        (session, json!({"session": "gorm", "prompt": "Fail."}), "guardrail_violation"),
        ("session/setContextNote", json!({"session": "gorm", "note": "It rains."}), "ok"),
        ("session/setTools", json!({"session": "gorm", "tools": [pay()]}), "ok"),
        ("session/compact", json!({"session": "gorm", "keepRecentTurns": 1}), "ok"),
        (session, json!({"session": "gorm", "prompt": "And?"}), "ok"),
        ("session/setInstructions", json!({"session": "gorm"}), "ok"),
        ("session/reset", json!({"session": "gorm"}), "ok"),
        ("session/create", json!({"model": "scripted"}), "ok"),
        ("session/create", json!({"session": "old", "history": history(), "model": "scripted"}), "ok"),
        (session, json!({"session": "old", "prompt": "Still there?"}), "ok"),
    ]
}

fn changes_of_npcs() -> Vec<Change> {
    let persona = json!({"name": "Mira", "role": "the innkeeper", "secrets": ["She is the queen."]});
    vec![
        (
            "npc/create",
            json!({"npc": "mira", "persona": persona, "world": "inn", "tools": [look()],
            "options": {"memoryTools": "all", "worldReadable": [""], "worldWritable": ["guests"], "compactAfterTurns": 2,
                "keepRecentTurns": 1, "secretsUnlockAtRelationship": 50, "toolTimeoutSeconds": 0},
            "memory": {"facts": ["Bo owes her."], "relationship": 45},
            "model": scripted(&json!([
                said("Welcome."),
                {"toolCalls": [{"name": "remember_fact", "arguments": {"fact": "It rains."}},
                    {"name": "change_relationship", "arguments": {"delta": 10, "reason": "polite"}},
                    {"name": "update_world_state", "arguments": {"path": "guests", "value": "[]"}}]},
                said("Sit down."), {"text": "She welcomed them."}, {"error": "guardrail_violation"}, {"text": "So be it."}, {"text": "They argued."}, {"text": "Psst."},
                said("Farewell."),
            ]))}),
            "ok",
        ),
        ("npc/talk", json!({"npc": "mira", "line": "Hello."}), "ok"),
        ("npc/talk", json!({"npc": "mira", "line": "It rains."}), "ok"),
        ("npc/state", json!({"npc": "mira"}), "ok"),
        ("npc/talk", json!({"npc": "mira", "line": "Die."}), "ok"),
        ("npc/state", json!({"npc": "mira"}), "ok"),
        ("npc/bark", json!({"npc": "mira", "situation": "night"}), "ok"),
        ("npc/update", json!({"npc": "mira", "persona": {"role": "a queen"}, "tools": [pay()]}), "ok"),
        (
            "npc/update",
            json!({"npc": "mira", "memory": {"summary": "She told all."}, "options": {"toolTimeoutSeconds": 3}}),
            "ok",
        ),
        ("npc/update", json!({"npc": "mira", "options": {"groundingTool": "none"}}), "invalid_params"),
        ("npc/talk", json!({"npc": "mira", "line": "Goodbye."}), "ok"),
        ("npc/reset", json!({"npc": "mira"}), "ok"),
        ("npc/reset", json!({"npc": "mira", "clearMemory": true}), "ok"),
        ("npc/create", json!({"persona": {"name": "Bo"}, "model": "scripted"}), "ok"),
        (
            "npc/restore",
            json!({"state": {"version": 1, "persona": {"name": "Al"}, "memory": {}, "transcript": history()},
            "npc": "al", "model": "scripted"}),
            "ok",
        ),
    ]
}

fn ends_and_new_beginnings() -> Vec<Change> {
    vec![
        ("npc/delete", json!({"npc": "npc1"}), "ok"),
        ("world/delete", json!({"world": "inn"}), "ok"),
        ("world/create", json!({"world": "inn", "state": {"new": true}}), "ok"),
        (
            "npc/create",
            json!({"npc": "new", "persona": {"name": "New"}, "world": "inn", "model": "scripted"}),
            "ok",
        ),
        ("world/delete", json!({"world": "w1"}), "ok"),
        ("world/create", json!({}), "ok"),
        ("session/delete", json!({"session": "s1"}), "ok"),
        ("session/create", json!({"model": "scripted"}), "ok"),
    ]
}
