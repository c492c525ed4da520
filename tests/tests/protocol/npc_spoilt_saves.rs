//! `npc/restore` with a save that was spoilt in one place, in every way.

use oam_tests::Oam;
use serde_json::{Value, json};

use crate::npc_saves::{lasting, played, restore};

/// Everything that can be in a value's place.
fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("odd"),
        json!("x".repeat(2000)),
        json!("\u{0}\u{2028}😀"),
        json!([]),
        json!({}),
        json!([[1, {"a": null}]]),
        json!(["a", "a"]),
        json!({"tool": "odd", "type": "object", "name": "odd"}),
        (0..60).fold(json!(1), |inner, _| json!([inner])),
    ]
}

/// The places of all values inside of `value`.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(at.clone());
                pointers(member, &at, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let at = format!("{at}/{index}");
                found.push(at.clone());
                pointers(item, &at, found);
            }
        }
        _ => {}
    }
}

/// The state with the value at `place` replaced, removed, doubled or renamed, in every way.
fn spoilt(state: &Value, place: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for odd in odd_values() {
        let mut spoilt = state.clone();
        *spoilt.pointer_mut(place).unwrap() = odd.clone();
        all.push((format!("{place} = {odd:.60}"), spoilt));
    }
    let (parent, name) = place.rsplit_once('/').unwrap();
    let mut without = state.clone();
    let mut more = state.clone();
    match (without.pointer_mut(parent).unwrap(), more.pointer_mut(parent).unwrap()) {
        (Value::Object(members), Value::Object(renamed)) => {
            let name = name.replace("~1", "/").replace("~0", "~");
            members.shift_remove(&name);
            let member = renamed.shift_remove(&name).unwrap();
            renamed.insert("odd".to_owned(), member);
        }
        (Value::Array(items), Value::Array(doubled)) => {
            let index: usize = name.parse().unwrap();
            items.remove(index);
            let item = doubled[index].clone();
            doubled.push(item);
        }
        _ => {}
    }
    all.push((format!("without {place}"), without));
    all.push((format!("more of {place}"), more));
    all
}

#[test]
fn a_spoilt_save_is_restored_or_refused_and_then_nothing_is_created() {
    let mut oam = Oam::start();
    let state = played(&mut oam);
    let mut places = Vec::new();
    pointers(&state, "", &mut places);
    // Of what the model was shown at the time one tool and the outlines of schemas stand for all, and one round of
    // tool calls for all rounds.
    let is_detail = |place: &String| {
        let rounds = ["/entries/3", "/entries/4", "/entries/5", "/entries/6"];
        ["/schema/properties/", "/parameters/properties/"].iter().any(|part| place.contains(part))
            || (place.contains("/entries/0/tools/") && !place.contains("/entries/0/tools/0"))
            || rounds.iter().any(|part| place.contains(part))
    };
    places.retain(|place| !is_detail(place));
    let mut refused = 0;
    for place in &places {
        let spoilt = spoilt(&state, place);
        let request = |(number, (_, spoilt)): (usize, &(String, Value))| {
            let params = json!({"state": spoilt, "npc": format!("copy {number}"), "model": "scripted"});
            oam.request("npc/restore", params)
        };
        let restores: Vec<_> = spoilt.iter().enumerate().map(request).collect();
        let mut created = 1;
        for (restore, (what, _)) in restores.iter().zip(&spoilt) {
            match oam.wait(restore) {
                Ok(_) => created += 1,
                Err(error) => {
                    refused += 1;
                    assert!([-32602, -32007].contains(&error.code), "{what}: {error:?}");
                    let path = error.data["path"].as_str().unwrap_or(&error.message);
                    let is_named = path.contains("state") || path.starts_with("Duplicate tool name");
                    assert!(is_named, "{what}: {error:?}");
                }
            }
        }
        let list = oam.ok("npc/list", json!({}));
        let ids: Vec<_> = list["npcs"].as_array().unwrap().iter().map(|npc| npc["npc"].clone()).collect();
        assert_eq!(ids.len(), created, "{place}");
        if let [_, one, ..] = &ids[..] {
            let state = oam.ok("npc/state", json!({"npc": one}))["state"].clone();
            restore(&mut oam, "again", &state, json!({}));
            let ((rest, entries), (rest_again, entries_again)) =
                (lasting(&state), lasting(&oam.saved_npc("again")));
            // Without a turn at the end that nobody answered.
            assert!(rest_again == rest && entries.starts_with(&entries_again), "{place}: {state}");
            oam.ok("npc/delete", json!({"npc": "again"}));
        }
        for id in &ids[1..] {
            oam.ok("npc/delete", json!({"npc": id}));
        }
    }
    assert!(refused > 500, "only {refused} were refused");
}
