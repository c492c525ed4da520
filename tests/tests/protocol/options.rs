//! Options of a session and of a turn: what each accepts, and that a refusal names it.

use oam_tests::{
    Oam,
    script::{call, text, tool},
};
use serde_json::{Value, json};

/// Values that each option takes and refuses.
fn cases() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
    let many = json!(9_007_199_254_740_991_u64);
    vec![
        (
            "toolChoice",
            vec![
                json!("auto"),
                json!("none"),
                json!("required"),
                json!("explicit"),
                json!({"tool": "look"}),
                json!({"type": "function", "function": {"name": "look"}}),
                json!({"function": {"name": "look"}}),
            ],
            vec![
                json!("any"),
                json!("look"),
                json!("Auto"),
                json!(""),
                json!(1),
                json!(true),
                json!([]),
                json!({}),
                json!({"tool": ""}),
                json!({"tool": 7}),
                json!({"name": "look"}),
                json!({"tool": "other"}),
            ],
        ),
        (
            "maxToolRounds",
            vec![json!(0), json!(4), json!(3.0), many.clone()],
            vec![json!(-1), json!(1.5), json!("4"), json!(true), json!([4]), json!(1e300)],
        ),
        (
            "maxToolCalls",
            vec![json!(0), json!(12), json!(1e3), many.clone()],
            vec![json!(-1), json!(0.5), json!("12"), json!(false), json!({}), json!(1e16)],
        ),
        (
            "enabledTools",
            vec![json!([]), json!(["look"]), json!(["unknown", "unknown"])],
            vec![json!("look"), json!([1]), json!([null]), json!({}), json!(1)],
        ),
        (
            "temperature",
            vec![json!(0), json!(0.7), json!(1000)],
            vec![json!(-0.1), json!("hot"), json!(true), json!([])],
        ),
        (
            "maxResponseTokens",
            vec![json!(1), json!(4096)],
            vec![json!(0), json!(-5), json!(1.5), json!("1"), json!(true)],
        ),
        (
            "sampling",
            vec![
                json!("greedy"),
                json!({"topK": 1}),
                json!({"topK": 40, "seed": 0}),
                json!({"topP": 0}),
                json!({"topP": 1.0}),
                json!({"topP": 0.9, "seed": 42}),
                json!({"topK": 5, "topP": 2, "more": 1}),
            ],
            vec![
                json!("best"),
                json!(1),
                json!([]),
                json!({}),
                json!({"seed": 1}),
                json!({"topK": 0}),
                json!({"topK": 1.5}),
                json!({"topP": 1.1}),
                json!({"topP": -0.1}),
                json!({"topP": "x"}),
                json!({"topK": 1, "seed": -1}),
                json!({"topK": 1, "seed": 0.5}),
            ],
        ),
        (
            "toolTimeoutSeconds",
            vec![json!(0), json!(0.25), json!(120), json!(86_400)],
            vec![json!(-1), json!(86_400.5), json!(86_401), json!(1e300), json!("120"), json!(true)],
        ),
        ("trimHistory", vec![json!(true), json!(false)], vec![json!(1), json!("true"), json!([])]),
        (
            "reservedResponseTokens",
            vec![json!(0), json!(1024)],
            vec![json!(-1), json!(0.5), json!("1024"), json!(true)],
        ),
        (
            "maxAttempts",
            vec![json!(1), json!(2), json!(100)],
            vec![json!(0), json!(-1), json!(1.5), json!("2"), json!(true)],
        ),
    ]
}

#[test]
fn each_option_has_its_range() {
    let mut oam = Oam::start();
    for (option, good, bad) in cases() {
        for value in good.into_iter().chain([Value::Null]) {
            let created =
                oam.session_with("a", [], json!({"tools": [tool("look")], "options": {option: value}}));
            assert_eq!(created["warnings"], json!([]), "{option}: {value}");
            oam.ok("session/delete", json!({"session": "a"}));
        }
        for value in bad {
            let error = oam.fails(
                "session/create",
                json!({"model": "scripted", "tools": [tool("look")], "options": {option: value}}),
            );
            assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{option}: {value}");
            assert!(error.message.contains(&format!("options.{option}")), "{value}: {}", error.message);
        }
    }
    assert_eq!(oam.ok("session/list", json!({})), json!({"sessions": []}));
}

#[test]
fn numbers_too_large_to_be_finite_are_refused() {
    let mut oam = Oam::start();
    for option in ["temperature", "toolTimeoutSeconds", "maxToolCalls"] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":"big","method":"session/create","params":{{"model":"scripted","options":{{"{option}":1e999}}}}}}"#
        );
        oam.send_opaque("big", &line);
        assert_eq!(oam.wait_fails(&"big".into()).name, "invalid_params", "{option}");
    }
}

#[test]
fn options_are_an_object() {
    let mut oam = Oam::start();
    for options in [json!([]), json!("x"), json!(1), json!(true)] {
        let error = oam.fails("session/create", json!({"model": "scripted", "options": options}));
        assert_eq!(error.name, "invalid_params");
        assert!(error.message.contains("'options'"), "{}", error.message);
    }
}

#[test]
fn overrides_of_a_turn_have_the_same_ranges() {
    let mut oam = Oam::start();
    oam.session_with("a", [], json!({"tools": [tool("look")]}));
    let overrides = ["toolChoice", "maxToolRounds", "maxToolCalls", "enabledTools"];
    for (option, good, bad) in cases().into_iter().filter(|(option, ..)| overrides.contains(option)) {
        for value in good.into_iter().chain([Value::Null]) {
            assert_eq!(
                oam.turn_with("a", "x", json!({option: value})).get("warnings"),
                None,
                "{option}: {value}"
            );
        }
        let entries = oam.listed("a")["entries"].clone();
        for value in bad {
            let error = oam.fails("session/respond", json!({"session": "a", "prompt": "x", option: value}));
            assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{option}: {value}");
        }
        assert_eq!(oam.listed("a")["entries"], entries, "{option}");
    }
}

#[test]
fn a_turns_override_does_not_outlive_it() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [text("off"), call("look", json!({})), text("on")],
        json!({"tools": [tool("look")], "options": {"maxToolRounds": 1}}),
    );
    oam.answer_tools_with(json!("seen"));
    let off = oam.turn_with("a", "x", json!({"maxToolRounds": 0}));
    assert_eq!(off["steps"][0]["toolCallingMode"], "disallowed");
    let on = oam.turn("a", "x");
    assert_eq!(on["steps"][0]["toolCallingMode"], "allowed");
    assert_eq!(on["toolCalls"].as_array().unwrap().len(), 1);
}

#[test]
fn the_first_thing_that_is_wrong_is_told() {
    let mut oam = Oam::start();
    let wrong = json!({"session": 1, "options": {"toolChoice": 1, "maxAttempts": 0}, "history": 1,
        "instructions": 1, "tools": 1, "model": 1});
    let mut left = wrong.as_object().unwrap().clone();
    for (named, mend) in [
        ("'session'", ("session", json!("a"))),
        ("'options.toolChoice'", ("options", json!({"maxAttempts": 0}))),
        ("'options.maxAttempts'", ("options", json!({"toolChoice": {"tool": "none"}}))),
        ("'history'", ("history", json!(null))),
        ("'instructions'", ("instructions", json!("x"))),
        ("'tools'", ("tools", json!([]))),
        ("'options.toolChoice'", ("options", json!({}))),
        ("'model'", ("model", json!("scripted"))),
    ] {
        let error = oam.fails("session/create", Value::Object(left.clone()));
        assert!(error.message.contains(named), "{named}: {}", error.message);
        left.insert(mend.0.to_owned(), mend.1);
    }
    oam.ok("session/create", Value::Object(left));
}
