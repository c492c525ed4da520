//! What a durable realm is after the process that had it has ended.

use std::{sync::Arc, time::Duration};

use crate::support::{Client, Directory, Message, Rewriting, changes, look, said, scripted, seen};
use oam_bridge::{BridgeConfig, Journal, ObjectKind, ObjectName, RealmLoader};
use serde_json::{Value, json};

const REALM: &str = "valley";

/// A crash now changes nothing that clients see.
async fn check(directory: &Directory, client: &mut Client, after: &str) -> Arc<Directory> {
    let before = seen(client).await;
    let revived = directory.after_a_crash();
    assert_eq!(seen(&mut revived.client_in(REALM).await).await, before, "after {after}");
    revived
}

#[tokio::test]
async fn a_crash_after_any_change_loses_nothing() {
    for rewriting in [Rewriting::Never, Rewriting::Always] {
        let directory = Directory::new(rewriting);
        let mut client = directory.client_in(REALM).await;
        for (method, params, expected) in changes() {
            let told = format!("{method} {params} ({rewriting:?})");
            let end = client.try_call(method, params).await;
            assert_eq!(end.as_ref().map_or_else(String::as_str, |_| "ok"), expected, "{told}: {end:?}");
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
            assert_eq!(end.as_ref().map_or_else(String::as_str, |_| "ok"), expected, "{told}: {end:?}");
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
    let turn = client.send("session/respond", &json!({"session": "gorm", "prompt": "What do you see?"}));
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

/// What happens while an NPC is in the middle of a turn that makes it like the player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// The disk fails, and the journal refuses even what is under way.
    RecordsAreRefused,
    DiskFails,
    DiskFailsForAMoment,
    DiskFailsAndTurnIsCancelled,
    DiskFailsAndClientLeaves,
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_a_change_is_so() {
    let cases = [
        (Meanwhile::Nothing, json!("done"), 5),
        (Meanwhile::RecordsAreRefused, json!({"storage_failed": null}), 0),
        (Meanwhile::DiskFails, json!({"storage_failed": true}), 5),
        (Meanwhile::DiskFailsForAMoment, json!("done"), 5),
        (Meanwhile::DiskFailsAndTurnIsCancelled, json!({"cancelled": null}), 0),
        (Meanwhile::DiskFailsAndClientLeaves, json!({"cancelled": null}), 0),
    ];
    for (meanwhile, expected, relationship) in cases {
        let directory = Directory::new(Rewriting::Never);
        let (mut player, mut other) = (directory.client_in(REALM).await, directory.client_in(REALM).await);
        let (turn, call) = turn_that_looks_around(&mut player).await;
        let journal = directory.journal(REALM);
        if meanwhile != Meanwhile::Nothing {
            journal.fail(meanwhile == Meanwhile::RecordsAreRefused);
            let refused = other.send("npc/reset", &json!({"npc": "mira", "clearMemory": true}));
            assert_eq!(
                outcome(&other.response(refused).await),
                json!({"storage_failed": false}),
                "{meanwhile:?}"
            );
        }
        match meanwhile {
            Meanwhile::DiskFailsAndTurnIsCancelled => {
                other.call("npc/cancel", json!({"npc": "mira"})).await;
            }
            Meanwhile::DiskFailsAndClientLeaves => player.bridge.shut_down().await,
            _ => player.say(&json!({"jsonrpc": "2.0", "id": call, "result": {"output": "a ring"}})),
        }
        if meanwhile == Meanwhile::DiskFailsForAMoment {
            tokio::time::sleep(Duration::from_secs(1)).await;
            journal.recover();
        }
        assert_eq!(outcome(&player.response(turn).await), expected, "{meanwhile:?}");
        journal.recover();
        let mut revived = directory.after_a_crash().client_in(REALM).await;
        let npcs = revived.call("npc/list", json!({})).await;
        assert_eq!(npcs["npcs"][0]["relationship"], relationship, "{meanwhile:?}");
    }
}

/// Has an NPC begin the turn; returns the ids of the request and of the open call.
async fn turn_that_looks_around(player: &mut Client) -> (u64, Value) {
    let call = |name, arguments| json!({"toolCalls": [{"name": name, "arguments": arguments}]});
    let steps = json!([
        call("look", json!({})),
        call("change_relationship", json!({"delta": 5, "reason": "a gift"})),
        said("Thanks."),
    ]);
    let options = json!({"memoryTools": "all", "toolTimeoutSeconds": 0});
    let mira = json!({"npc": "mira", "persona": {"name": "Mira"}, "tools": [look()], "options": options,
        "model": scripted(&steps)});
    player.call("npc/create", mira).await;
    let turn = player.send("npc/talk", &json!({"npc": "mira", "line": "For you."}));
    let mut call = player.next(|message| message["method"] == "tool/call").await;
    (turn, call["id"].take())
}

/// `done`, or the stable code of the error with what it says of the change.
fn outcome(response: &Message) -> Value {
    match response.get("error") {
        Some(error) => json!({error["data"]["code"].as_str().unwrap(): error["data"]["applied"]}),
        None => json!("done"),
    }
}

#[tokio::test]
async fn a_change_that_the_journal_refuses_is_not_said_to_be_done_and_nobody_goes_on_with_it() {
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
    let other = directory.client_in(REALM).await;
    let turn = client.send("session/respond", &json!({"session": "gorm", "prompt": "What do you see?"}));
    let call = client.next(|message| message["method"] == "tool/call").await;
    directory.journal(REALM).fail(true);
    client.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"output": "nothing"}}));
    assert_eq!(client.answer(turn).await.unwrap_err(), "storage_failed");
    directory.journal(REALM).recover();
    // It is missing for ever, and what only memory has must not be seen as if it were there.
    for client in [client, other] {
        client.ends().await;
    }
    assert_eq!(seen(&mut directory.after_a_crash().client_in(REALM).await).await, before);
}

#[tokio::test]
async fn an_object_whose_model_is_unknown_now_is_there_without_it() {
    let with_scripts = Directory::new(Rewriting::Always);
    let mut client = with_scripts.client_in(REALM).await;
    let model = scripted(&json!([{"text": "Aye."}, {"text": "Nay."}]));
    client.call("session/create", json!({"session": "gorm", "model": model})).await;
    client.call("npc/create", json!({"npc": "mira", "persona": {"name": "Mira"}, "model": model})).await;
    client.call("session/respond", json!({"session": "gorm", "prompt": "Hm?"})).await;
    client.call("npc/bark", json!({"npc": "mira"})).await;
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
    for (method, params) in [
        ("session/setContextNote", json!({"session": "gorm", "note": "It rains."})),
        ("npc/update", json!({"npc": "mira", "persona": {"role": "smith"}})),
    ] {
        client.call(method, params).await;
    }
    // Nothing is lost: where the model is known, it goes on.
    let mut client = without.after_a_crash_with(BridgeConfig::default()).client_in(REALM).await;
    let answer = client.call("session/respond", json!({"session": "gorm", "prompt": "Hm?"})).await;
    assert_eq!(answer["text"], "Nay.");
    assert_eq!(client.call("npc/bark", json!({"npc": "mira"})).await["line"], "Nay.");
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

/// The file has a line for each record: `record`, the object's kind and id, the form, and the JSON. It stays as it is: it
/// stands for the realms that are on disks.
#[tokio::test]
async fn records_of_form_1_are_understood() {
    let directory = Directory::new(Rewriting::Never);
    let journal = directory.journal(REALM);
    for line in include_str!("../data/realm-form-1/records.txt").lines() {
        let parts: Vec<_> = line.splitn(5, ' ').collect();
        let ["record", kind, id, form, json] = parts[..] else { panic!("{line}") };
        let object = ObjectName { kind: kind.parse().unwrap(), id: id.into() };
        let record = [&[form.parse().unwrap()], json.as_bytes()].concat();
        journal.append(&object, record).unwrap();
    }
    let mut client = directory.client_in(REALM).await;
    assert_eq!(seen(&mut client).await, include_str!("../data/realm-form-1/seen.txt"));
    for (method, member, id) in
        [("session/create", "session", "s2"), ("npc/create", "npc", "npc2"), ("world/create", "world", "w2")]
    {
        let params = json!({"persona": {"name": "Bo"}, "model": "scripted"});
        assert_eq!(client.call(method, params).await[member], id);
    }
}
