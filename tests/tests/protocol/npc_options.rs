//! Options of an NPC: what each accepts, how it is saved, and that a refusal names it.

use oam_tests::{Oam, script::tool};
use serde_json::{Value, json};

/// An option: its default, values that it takes with the form in which each is saved (`null`: as given), and values
/// that it refuses.
struct Case {
    option: &'static str,
    default: Value,
    good: Vec<(Value, Value)>,
    bad: Vec<Value>,
}

fn case(option: &'static str, default: Value, good: &[Value], bad: &[Value]) -> Case {
    let good = good.iter().map(|value| (value.clone(), value.clone())).collect();
    Case { option, default, good, bad: bad.to_vec() }
}

fn integer(option: &'static str, default: i64) -> Case {
    let good = [json!(0), json!(1), json!(1000), json!(-3)];
    let mut case = case(option, json!(default), &good, &not_integers());
    case.good.push((json!(7.0), json!(7)));
    case
}

fn not_integers() -> Vec<Value> {
    vec![json!(1.5), json!("1"), json!(true), json!([1]), json!({})]
}

fn flag(option: &'static str) -> Case {
    case(option, json!(true), &[json!(true), json!(false)], &[json!(1), json!("true"), json!([])])
}

fn texts(option: &'static str, default: Value, good: &[Value]) -> Case {
    case(option, default, good, &[json!("a"), json!([1]), json!([null]), json!({}), json!(true)])
}

/// An option that is not saved unless it is set.
fn unset() -> Value {
    Value::Null
}

fn cases() -> Vec<Case> {
    cases_of_tools().into_iter().chain(cases_of_replies()).collect()
}

fn cases_of_tools() -> Vec<Case> {
    let both = json!(["rememberFact", "changeRelationship"]);
    vec![
        case(
            "groundingTool",
            unset(),
            &[json!("look"), json!("read_world_state")],
            &[
                json!("other"),
                json!(""),
                json!("update_world_state"),
                json!("remember_fact"),
                json!(1),
                json!(["look"]),
            ],
        ),
        Case {
            good: vec![
                (json!("auto"), json!("auto")),
                (json!("none"), json!("none")),
                (json!("required"), json!("required")),
                (json!("explicit"), json!("explicit")),
                (json!({"tool": "look"}), json!({"tool": "look"})),
                (json!({"type": "function", "function": {"name": "look"}}), json!({"tool": "look"})),
            ],
            ..case(
                "toolChoice",
                json!("explicit"),
                &[],
                &[json!("any"), json!("Auto"), json!(1), json!([]), json!({}), json!({"tool": "other"})],
            )
        },
        integer("maxToolRounds", 2),
        integer("maxToolCalls", 6),
        case(
            "toolTimeoutSeconds",
            json!(120),
            &[json!(0), json!(0.25), json!(120), json!(86_400)],
            &[json!(-1), json!(86_400.5), json!(1e300), json!("120"), json!(true)],
        ),
        texts("worldReadable", json!([""]), &[json!([]), json!(["player", "party.0"]), json!([""])]),
        texts("worldWritable", json!([]), &[json!([]), json!(["player.gold"])]),
        texts("worldContextPaths", json!([]), &[json!([]), json!(["player.gold", "time"])]),
        Case {
            good: vec![
                (json!("all"), both.clone()),
                (json!("none"), json!([])),
                (json!([]), json!([])),
                (json!(["changeRelationship", "rememberFact"]), both.clone()),
                (json!(["remember_fact"]), json!(["rememberFact"])),
                (json!("RememberFact"), json!(["rememberFact"])),
                (json!(["CHANGE_RELATIONSHIP", "changeRelationship"]), json!(["changeRelationship"])),
                (json!(0), json!([])),
                (json!(2), json!(["changeRelationship"])),
                (json!(3), both),
            ],
            ..case(
                "memoryTools",
                json!([]),
                &[],
                &[json!("some"), json!(["forget"]), json!([1]), json!(4), json!(-1), json!(true), json!({})],
            )
        },
    ]
}

fn cases_of_replies() -> Vec<Case> {
    let all_emotions = json!([
        "neutral",
        "happy",
        "sad",
        "angry",
        "afraid",
        "surprised",
        "suspicious",
        "amused",
        "disgusted",
        "excited",
        "curious",
        "confused",
        "worried",
        "grateful",
        "annoyed",
        "proud"
    ]);
    vec![
        case(
            "replyFormat",
            json!("automatic"),
            &[json!("automatic"), json!("structured"), json!("text")],
            &[json!("Text"), json!(""), json!("json"), json!(1), json!(true), json!([])],
        ),
        integer("maxFacts", 12),
        integer("maxRelationshipChange", 10),
        Case {
            good: vec![(json!(0), json!(0)), (json!(-10), json!(-10)), (json!(100), json!(100))],
            ..case("secretsUnlockAtRelationship", json!(50), &[], &not_integers())
        },
        Case {
            good: vec![
                (json!(["happy", "sad"]), json!(["happy", "sad"])),
                (json!(["sad", "sad"]), json!(["sad"])),
                (json!(["Gruff", "whatever"]), json!(["annoyed", "neutral"])),
                (json!([]), all_emotions.clone()),
            ],
            ..texts("emotions", all_emotions, &[])
        },
        case(
            "playerOptionCount",
            json!(3),
            &[json!(0), json!(1), json!(4)],
            &[json!(-1), json!(5), json!(1.5), json!("3"), json!(true)],
        ),
        flag("canEndConversation"),
        case(
            "extraInstructions",
            unset(),
            &[json!("Be brief."), json!("")],
            &[json!(1), json!(["x"]), json!({})],
        ),
        integer("compactAfterTurns", 8),
        integer("keepRecentTurns", 2),
        flag("fallbackOnGuardrail"),
        texts("fallbackLines", json!([]), &[json!([]), json!(["Hm.", " "])]),
        case(
            "temperature",
            unset(),
            &[json!(0), json!(0.7), json!(1000)],
            &[json!("hot"), json!(true), json!([]), json!({})],
        ),
        case("maximumResponseTokens", unset(), &[json!(1), json!(4096)], &not_integers()),
        integer("barkMaximumTokens", 48),
    ]
}

fn npc(options: Value) -> Value {
    json!({"npc": "gorm", "persona": {"name": "Gorm"}, "tools": [tool("look")], "world": "w", "options": options,
        "model": "scripted"})
}

fn saved_options(oam: &mut Oam) -> Value {
    oam.ok("npc/state", json!({"npc": "gorm"}))["state"]["options"].clone()
}

#[test]
fn each_option_has_its_range_and_is_saved() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    for Case { option, default, good, bad } in cases() {
        for (value, saved) in good {
            let created = oam.ok("npc/create", npc(json!({option: value})));
            assert_eq!(created["warnings"], json!([]), "{option}: {value}");
            assert_eq!(saved_options(&mut oam)[option], saved, "{option}: {value}");
            oam.ok("npc/update", json!({"npc": "gorm", "options": {option: null}}));
            let reset = saved_options(&mut oam);
            assert_eq!(reset[option], default, "{option}: {value}");
            assert_eq!(
                reset.get(option).is_none(),
                default.is_null(),
                "{option}: what is unset is not saved"
            );
            oam.ok("npc/update", json!({"npc": "gorm", "options": {option: value}}));
            assert_eq!(saved_options(&mut oam)[option], saved, "{option}: {value} by an update");
            oam.ok("npc/delete", json!({"npc": "gorm"}));
        }
        for value in bad {
            let refused = |error: oam_tests::RpcError| {
                assert_eq!(
                    (error.code, error.name.as_str()),
                    (-32602, "invalid_params"),
                    "{option}: {value}"
                );
                assert!(error.message.contains(&format!("options.{option}")), "{value}: {}", error.message);
            };
            refused(oam.fails("npc/create", npc(json!({option: value}))));
            oam.ok("npc/create", npc(json!({})));
            refused(oam.fails("npc/update", json!({"npc": "gorm", "options": {option: value}})));
            oam.ok("npc/delete", json!({"npc": "gorm"}));
        }
    }
}

#[test]
fn an_npc_without_options_has_the_defaults() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    for options in [json!(null), json!({}), all_null()] {
        oam.ok("npc/create", npc(options.clone()));
        let saved = saved_options(&mut oam);
        for Case { option, default, .. } in cases() {
            // Of all options only this one takes null for a value: secrets are always in view.
            let is_guarded = option == "secretsUnlockAtRelationship" && options.get(option).is_some();
            let expected = if is_guarded { Value::Null } else { default };
            assert_eq!(saved[option], expected, "{option} of {options}");
        }
        assert_eq!(saved.as_object().unwrap().len(), 20, "nothing else is saved: {saved}");
        oam.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

fn all_null() -> Value {
    cases().iter().map(|case| (case.option.to_owned(), Value::Null)).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn unknown_options_are_warned_about() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    let created = oam.ok("npc/create", npc(json!({"maxFact": 3, "temperatur": 1})));
    assert_eq!(
        created["warnings"],
        json!([
            "Unknown parameter 'options.maxFact' was ignored.",
            "Unknown parameter 'options.temperatur' was ignored."
        ])
    );
    let updated = oam.ok("npc/update", json!({"npc": "gorm", "options": {"replyformat": "text"}}));
    assert_eq!(updated["warnings"], json!(["Unknown parameter 'options.replyformat' was ignored."]));
}
