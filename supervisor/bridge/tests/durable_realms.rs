//! What a durable realm is after the process that had it has ended.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use oam_bridge::{BridgeConfig, ObjectKind, ObjectName, RealmLoader};
use serde_json::{Value, json};
use support::{Client, Directory, Rewriting, seen};

const REALM: &str = "valley";

/// A crash now changes nothing that clients see.
async fn check(directory: &Directory, client: &mut Client, after: &str) -> Arc<Directory> {
    let before = seen(client).await;
    let revived = directory.after_a_crash();
    assert_eq!(seen(&mut revived.client_in(REALM).await).await, before, "after {after}");
    revived
}

fn look() -> Value {
    json!({"name": "look", "description": "Looks around.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string", "pattern": "^[a-z]+$"}}}})
}

fn pay() -> Value {
    json!({"type": "function", "function": {"name": "pay", "description": "Pays."}})
}

fn scripted(steps: &Value) -> Value {
    json!({"type": "scripted", "steps": steps})
}

fn said(line: &str) -> Value {
    json!({"json": {"emotion": "happy", "line": line, "player_options": [], "ends_conversation": false}})
}

/// Everything that changes a realm, at least once. The last member says how it ends.
fn changes() -> Vec<(&'static str, Value, &'static str)> {
    let session = "session/respond";
    let history = json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [
        {"id": "i", "role": "instructions", "contents": [{"type": "text", "id": "i1", "text": "Be old."}], "tools": []},
        {"id": "p", "role": "user", "contents": [{"type": "text", "id": "p1", "text": "Hm?"}], "options": {}},
        {"id": "r", "role": "response", "contents": [{"type": "text", "id": "r1", "text": "Aye."}], "assets": []},
    ]}});
    let persona = json!({"name": "Mira", "role": "the innkeeper", "secrets": ["She is the queen."]});
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
        ("session/create", json!({"session": "old", "history": history, "model": "scripted"}), "ok"),
        (session, json!({"session": "old", "prompt": "Still there?"}), "ok"),
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
            json!({"state": {"version": 1, "persona": {"name": "Al"}, "memory": {}, "transcript": history},
            "npc": "al", "model": "scripted"}),
            "ok",
        ),
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

#[tokio::test]
async fn a_crash_after_any_change_loses_nothing() {
    for rewriting in [Rewriting::Never, Rewriting::Always] {
        let directory = Directory::new(rewriting);
        let mut client = directory.client_in(REALM).await;
        for (method, params, expected) in changes() {
            let told = format!("{method} {params} ({rewriting:?})");
            let end = client.try_call(method, params).await;
            assert_eq!(end.as_ref().map_or_else(|code| code.as_str(), |_| "ok"), expected, "{told}: {end:?}");
            check(&directory, &mut client, &told).await;
        }
    }
}

#[tokio::test]
async fn each_change_may_be_the_first_that_another_process_makes() {
    for rewriting in [Rewriting::Never, Rewriting::Always] {
        let mut directory = Directory::new(rewriting);
        for (method, params, expected) in changes() {
            let mut client = directory.client_in(REALM).await;
            let told = format!("{method} {params} ({rewriting:?})");
            let end = client.try_call(method, params).await;
            assert_eq!(end.as_ref().map_or_else(|code| code.as_str(), |_| "ok"), expected, "{told}: {end:?}");
            directory = check(&directory, &mut client, &told).await;
        }
    }
}

#[tokio::test]
async fn a_script_goes_on_where_it_was() {
    let directory = Directory::new(Rewriting::Never);
    let mut client = directory.client_in(REALM).await;
    let steps = json!([{"text": "one"}, {"error": "refusal"}, {"text": "three"}, {"text": "four"}]);
    client.call("session/create", json!({"session": "gorm", "model": scripted(&steps)})).await;
    client
        .call("npc/create", json!({"npc": "mira", "persona": {"name": "Mira"}, "model": scripted(&steps)}))
        .await;
    let respond = json!({"session": "gorm", "prompt": "Hm?"});
    assert_eq!(client.call("session/respond", respond.clone()).await["text"], "one");
    assert_eq!(client.try_call("session/respond", respond.clone()).await.unwrap_err(), "refusal");
    assert_eq!(client.call("npc/bark", json!({"npc": "mira"})).await["line"], "one");
    let revived = directory.after_a_crash();
    let mut client = revived.client_in(REALM).await;
    assert_eq!(client.call("session/respond", respond.clone()).await["text"], "three");
    assert_eq!(client.try_call("npc/bark", json!({"npc": "mira"})).await.unwrap_err(), "refusal");
    let mut client = revived.after_a_crash().client_in(REALM).await;
    assert_eq!(client.call("session/respond", respond).await["text"], "four");
    assert_eq!(client.call("npc/bark", json!({"npc": "mira"})).await["line"], "three");
}

#[tokio::test]
async fn the_world_that_an_npc_lives_in_is_the_one_it_was_made_in() {
    let directory = Directory::new(Rewriting::Never);
    let mut client = directory.client_in(REALM).await;
    client.call("world/create", json!({"world": "inn", "state": {"fire": true}})).await;
    let update = json!({"toolCalls": [{"name": "update_world_state", "arguments": {"path": "fire", "value": "false"}}]});
    for npc in ["mira", "bo"] {
        client.call("npc/create", json!({"npc": npc, "persona": {"name": npc}, "world": "inn",
            "options": {"worldWritable": ["fire"]}, "model": scripted(&json!([update, said("Done."), update, said("Done.")]))}))
            .await;
    }
    let fire = json!({"world": "inn", "path": "fire"});
    let mut client = directory.after_a_crash().client_in(REALM).await;
    client.call("npc/talk", json!({"npc": "mira", "line": "Put it out."})).await;
    assert_eq!(client.call("world/get", fire.clone()).await["value"], false);

    // Another world of the same id is none of its business, before a crash and after.
    let mut client = directory.client_in(REALM).await;
    client.call("world/delete", json!({"world": "inn"})).await;
    client.call("world/create", json!({"world": "inn", "state": {"fire": true}})).await;
    client.call("npc/talk", json!({"npc": "mira", "line": "Put it out."})).await;
    assert_eq!(client.call("world/get", fire.clone()).await["value"], true);
    let mut client = directory.after_a_crash().client_in(REALM).await;
    client.call("npc/talk", json!({"npc": "bo", "line": "Put it out."})).await;
    assert_eq!(client.call("world/get", fire).await["value"], true);
}

#[tokio::test]
async fn what_still_happens_to_a_deleted_object_is_not_recorded() {
    let directory = Directory::new(Rewriting::Never);
    let mut client = directory.client_in(REALM).await;
    client.call("world/create", json!({"world": "inn", "state": {"fire": true}})).await;
    let update = json!({"toolCalls": [{"name": "update_world_state", "arguments": {"path": "fire", "value": "false"}}]});
    client
        .call(
            "npc/create",
            json!({"npc": "mira", "persona": {"name": "Mira"}, "world": "inn",
        "options": {"worldWritable": ["fire"]}, "model": scripted(&json!([update, said("Done.")]))}),
        )
        .await;
    client
        .call(
            "session/create",
            json!({"session": "gorm", "tools": [look()],
        "model": scripted(&json!([{"toolCalls": [{"name": "look", "arguments": {}}]}, {"text": "Dark."}]))}),
        )
        .await;
    client.call("world/delete", json!({"world": "inn"})).await;
    client.call("npc/talk", json!({"npc": "mira", "line": "Put it out."})).await;
    let turn = client.send("session/respond", json!({"session": "gorm", "prompt": "What do you see?"}));
    client.next(|message| message["method"] == "tool/call").await;
    client.call("session/delete", json!({"session": "gorm"})).await;
    assert_eq!(client.answer(turn).await.unwrap_err(), "cancelled");
    client.call("npc/delete", json!({"npc": "mira"})).await;
    assert_eq!(directory.journal(REALM).objects(), []);
    check(&directory, &mut client, "all was deleted").await;
}

#[tokio::test]
async fn a_full_disk_refuses_changes_and_still_shows_what_there_is() {
    let directory = Directory::new(Rewriting::Never);
    let mut client = directory.client_in(REALM).await;
    let mut prepared = changes();
    prepared.retain(|(method, _, _)| matches!(*method, "session/create" | "npc/create" | "world/create"));
    for (method, params, _) in prepared {
        // Some take the place of others that were deleted, which these were not.
        let _ = client.try_call(method, params).await;
    }
    let before = seen(&mut client).await;
    directory.journal(REALM).fail(false);
    for (method, params, _) in changes() {
        if method != "npc/state" {
            let told = format!("{method} {params}");
            assert_eq!(client.try_call(method, params).await.unwrap_err(), "storage_failed", "{told}");
        }
    }
    assert_eq!(seen(&mut client).await, before);
    let mut alone = directory.client();
    alone.call("session/create", json!({"model": "scripted"})).await;
    directory.journal(REALM).recover();
    client.call("session/respond", json!({"session": "gorm", "prompt": "Hm?"})).await;
    check(&directory, &mut client, "the disk has room again").await;
}

#[tokio::test]
async fn a_change_that_the_journal_refuses_is_not_said_to_be_done() {
    let directory = Directory::new(Rewriting::Never);
    let mut client = directory.client_in(REALM).await;
    client
        .call(
            "session/create",
            json!({"session": "gorm", "tools": [look()],
        "model": scripted(&json!([{"toolCalls": [{"name": "look", "arguments": {}}]}, {"text": "Dark."}]))}),
        )
        .await;
    let before = seen(&mut client).await;
    let turn = client.send("session/respond", json!({"session": "gorm", "prompt": "What do you see?"}));
    let call = client.next(|message| message["method"] == "tool/call").await;
    directory.journal(REALM).fail(true);
    client.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"output": "nothing"}}));
    assert_eq!(client.answer(turn).await.unwrap_err(), "storage_failed");
    directory.journal(REALM).recover();
    // What was refused is missing for ever, so what would follow it is refused as well, until the realm is loaded anew.
    assert!(directory.realm(REALM).unwrap().is_written_down().is_err());
    assert_eq!(client.try_call("world/create", json!({})).await.unwrap_err(), "storage_failed");
    assert_eq!(seen(&mut directory.after_a_crash().client_in(REALM).await).await, before);
}

#[tokio::test]
async fn an_object_whose_model_is_unknown_now_is_there_without_it() {
    let with_scripts = Directory::new(Rewriting::Never);
    let mut client = with_scripts.client_in(REALM).await;
    client
        .call("session/create", json!({"session": "gorm", "model": scripted(&json!([{"text": "Aye."}]))}))
        .await;
    client.call("npc/create", json!({"npc": "mira", "persona": {"name": "Mira"}, "model": "scripted"})).await;
    client.call("session/respond", json!({"session": "gorm", "prompt": "Hm?"})).await;
    let before = seen(&mut client).await;
    let config = BridgeConfig { allow_scripted_models: false, ..BridgeConfig::default() };
    let without = with_scripts.after_a_crash_with(config);
    let mut client = without.client_in(REALM).await;
    assert_eq!(seen(&mut client).await, before);
    for (method, params) in [
        ("session/respond", json!({"session": "gorm", "prompt": "Hm?"})),
        ("npc/talk", json!({"npc": "mira", "line": "Hm?"})),
    ] {
        assert_eq!(client.try_call(method, params).await.unwrap_err(), "model_unavailable");
    }
    // Nothing is lost: where the model is known, it is asked again.
    let mut client = without.after_a_crash_with(BridgeConfig::default()).client_in(REALM).await;
    assert_eq!(client.call("npc/bark", json!({"npc": "mira"})).await["line"], "(script exhausted)");
}

#[test]
fn records_that_cannot_be_read_are_told_apart() {
    let object = |kind| ObjectName { kind, id: "gorm".into() };
    let reason = |kind, record: &[u8]| {
        let mut loader = RealmLoader::new(REALM.parse().unwrap(), &BridgeConfig::default());
        loader.record(object(kind), record).unwrap_err().to_string()
    };
    for kind in ObjectKind::ALL {
        let name = format!("what was recorded of {} 'gorm' cannot be read: ", kind.as_str());
        let newer = reason(kind, b"\x02{}");
        assert!(newer.starts_with(&name), "{newer}");
        assert!(
            newer.ends_with("a newer version of oam wrote it (form 2; this version knows forms up to 1)"),
            "{newer}"
        );
        for malformed in [&b""[..], b"\0{}", b"\x01", b"\x01{", b"\x01{\"moved\":{}}", b"\x01{\"whole\":{}}"]
        {
            assert!(reason(kind, malformed).starts_with(&format!("{name}it cannot be understood")));
        }
    }
    for change in [&b"\x01{\"script\":1}"[..], b"\x01{\"note\":null}"] {
        let without_beginning = reason(ObjectKind::Session, change);
        assert!(without_beginning.ends_with("nothing tells how the object began"), "{without_beginning}");
    }
}
