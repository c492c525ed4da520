//! The scripted model: what a script may say.

use oam_tests::{
    Oam,
    script::{error, template, text, tool},
};
use serde_json::{Value, json};

fn refusal(oam: &mut Oam, model: Value) -> String {
    let error = oam.fails("session/create", json!({"model": model}));
    assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{model}");
    error.message
}

#[test]
fn a_bad_step_is_named_by_its_path() {
    let mut oam = Oam::start();
    for (step, named) in [
        (json!(1), "model.steps[1]"),
        (json!({}), "model.steps[1]"),
        (json!({"say": "x"}), "model.steps[1]"),
        (json!({"text": null}), "model.steps[1]"),
        (json!({"text": 1}), "model.steps[1].text"),
        (json!({"text": "x", "chunks": 0}), "model.steps[1].chunks"),
        (json!({"text": "x", "chunks": 1.5}), "model.steps[1].chunks"),
        (json!({"text": "x", "delayMs": -1}), "model.steps[1].delayMs"),
        (json!({"text": "x", "delayMs": "1"}), "model.steps[1].delayMs"),
        (json!({"template": 1}), "model.steps[1].template"),
        (json!({"toolCalls": []}), "model.steps[1].toolCalls"),
        (json!({"toolCalls": {}}), "model.steps[1].toolCalls"),
        (json!({"toolCalls": [1]}), "model.steps[1].toolCalls[0]"),
        (json!({"toolCalls": [{}]}), "model.steps[1].toolCalls[0].name"),
        (json!({"toolCalls": [{"name": "x", "arguments": "{}"}]}), "model.steps[1].toolCalls[0].arguments"),
        (json!({"toolCalls": [{"name": "x", "id": 1}]}), "model.steps[1].toolCalls[0].id"),
        (json!({"error": 1}), "model.steps[1].error"),
        (json!({"error": "refusal", "message": 1}), "model.steps[1].message"),
    ] {
        let told = refusal(&mut oam, json!({"type": "scripted", "steps": [text("ok"), step]}));
        assert!(told.contains(named), "{step}: {told}");
        let told = refusal(&mut oam, json!({"type": "scripted", "fallback": step}));
        assert!(told.contains(&named.replace("steps[1]", "fallback")), "{step}: {told}");
    }
    assert!(refusal(&mut oam, json!({"type": "scripted", "steps": {}})).contains("model.steps"));
}

#[test]
fn unknown_error_codes_are_refused() {
    let mut oam = Oam::start();
    for code in ["parse_error", "internal_error", "session_not_found", "Refusal", ""] {
        let told = refusal(&mut oam, json!({"type": "scripted", "steps": [error(code)]}));
        assert!(told.contains("guardrail_violation"), "it lists what there is: {told}");
    }
}

#[test]
fn further_members_are_ignored() {
    let mut oam = Oam::start();
    let steps = json!([{"text": "first wins", "json": 1, "error": "refusal", "note": "x"}]);
    oam.session_with("a", [], json!({"model": {"type": "scripted", "steps": steps, "name": "x"}}));
    assert_eq!(oam.turn("a", "x")["text"], "first wins");
}

#[test]
fn a_fallback_plays_for_ever() {
    let mut oam = Oam::start();
    let model =
        json!({"type": "scripted", "steps": [{"text": "once"}], "fallback": {"template": "{prompt}!"}});
    oam.session_with("a", [], json!({"model": model}));
    let answers: Vec<_> = (0..3).map(|number| oam.turn("a", &number.to_string())["text"].clone()).collect();
    assert_eq!(answers, ["once", "1!", "2!"]);
}

#[test]
fn each_session_has_its_own_copy_of_a_script() {
    let mut oam = Oam::start();
    for session in ["a", "b"] {
        oam.session(session, [text("1"), text("2")]);
    }
    for (session, answer) in [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")] {
        assert_eq!(oam.turn(session, "x")["text"], answer);
    }
}

#[test]
fn placeholders_are_filled_in_wherever_they_stand() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [
            json!({"toolCalls": [{"name": "look"}, {"name": "look"}]}),
            json!({"toolCalls": [{"name": "look"}]}),
            template("{prompt}{prompt}|{toolOutput}|{toolOutputs}|{other}|{}"),
        ],
        json!({"tools": [tool("look")]}),
    );
    let mut seen = 0;
    oam.answer_tools(move |_| {
        seen += 1;
        oam_tests::Reply::Output(json!(seen))
    });
    assert_eq!(oam.turn("a", "p")["text"], "pp|3|1\n2\n3|{other}|{}");
}

#[test]
fn a_delay_holds_back_its_own_step_only() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"text": "late", "delayMs": 50}), text("next")]);
    let turns = [oam.start_turn("a", "x"), oam.start_turn("a", "y")];
    oam.session("b", [text("at once")]);
    assert_eq!(oam.turn("b", "x")["text"], "at once");
    assert_eq!(turns.map(|turn| oam.wait_ok(&turn)["text"].clone()), ["late", "next"]);
}

#[test]
fn scripted_models_can_be_switched_off() {
    let mut oam = Oam::builder().arg("--no-scripted-models").start();
    for model in [json!("scripted"), json!({"type": "scripted", "steps": []})] {
        refusal(&mut oam, model);
    }
    assert_eq!(oam.ok("initialize", json!({}))["capabilities"]["models"], json!(["system"]));
    oam.ok("session/create", json!({}));
}
