//! Sessions are created, listed and deleted.

use oam_tests::{
    Oam,
    script::{endless, text, tool},
};
use serde_json::{Value, json};

#[test]
fn a_session_lives_from_create_to_delete() {
    let mut oam = Oam::start();
    let created = oam.session_with("guard", [text("Halt!")], json!({"instructions": "You guard."}));
    assert_eq!(created, json!({"session": "guard", "warnings": []}));
    assert_eq!(oam.turn("guard", "Hello")["text"], "Halt!");
    assert_eq!(oam.listed("guard")["entries"], 2);
    assert_eq!(
        oam.ok("session/delete", json!({"session": "guard"})),
        json!({"session": "guard", "deleted": true})
    );
    assert_eq!(oam.ok("session/list", json!({})), json!({"sessions": []}));
    assert_eq!(
        oam.fails("session/respond", json!({"session": "guard", "prompt": "x"})).name,
        "session_not_found"
    );
}

#[test]
fn ids_are_made_up_where_none_is_given() {
    let mut oam = Oam::start();
    oam.session("s2", []);
    let made: Vec<_> = [json!({"model": "scripted"}), json!({"model": "scripted", "session": null})]
        .into_iter()
        .map(|params| oam.ok("session/create", params)["session"].clone())
        .collect();
    assert_eq!(made, [json!("s1"), json!("s3")], "taken names are skipped");
}

#[test]
fn an_id_is_one_to_128_printable_characters() {
    let mut oam = Oam::start();
    let good = [
        "x".to_owned(),
        " ".to_owned(),
        "Wächter 7 / ①".to_owned(),
        "n".repeat(128),
        "日".repeat(128),
        "e\u{301}".repeat(128),
    ];
    for id in good {
        oam.ok("session/create", json!({"session": id, "model": "scripted"}));
        oam.ok("session/delete", json!({"session": id}));
    }
    let bad = [
        json!(""),
        json!("n".repeat(129)),
        json!("a\nb"),
        json!("a\u{0}"),
        json!("\u{7f}"),
        json!("\u{85}"),
        json!("a\u{200d}b"),
        json!("\u{feff}"),
        json!(7),
        json!(["x"]),
        json!({}),
    ];
    for id in bad {
        let error = oam.fails("session/create", json!({"session": id, "model": "scripted"}));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{id}");
        assert!(error.message.contains("session"), "{}", error.message);
    }
    assert_eq!(oam.ok("session/list", json!({})), json!({"sessions": []}));
}

#[test]
fn an_id_in_use_is_refused_and_its_session_untouched() {
    let mut oam = Oam::start();
    oam.session("a", [text("first")]);
    let error =
        oam.fails("session/create", json!({"session": "a", "model": "scripted", "instructions": "new"}));
    assert_eq!((error.code, error.name.as_str()), (-32021, "session_exists"));
    assert_eq!(error.data["session"], "a");
    assert_eq!(oam.listed("a").get("instructions"), None);
    assert_eq!(oam.turn("a", "x")["text"], "first");
}

#[test]
fn a_deleted_id_is_free_at_once_even_of_a_busy_session() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turns = [oam.start_turn("a", "1"), oam.start_turn("a", "2")];
    let deleted = oam.request("session/delete", json!({"session": "a"}));
    oam.session("a", [text("new")]);
    assert_eq!(oam.turn("a", "x")["text"], "new");
    oam.wait_ok(&deleted);
    for turn in turns {
        assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    }
    assert_eq!(oam.listed("a")["entries"], 2);
}

#[test]
fn methods_on_an_unknown_session_say_so() {
    let mut oam = Oam::start();
    for method in [
        "session/respond",
        "session/cancel",
        "session/reset",
        "session/delete",
        "session/transcript",
        "session/setInstructions",
        "session/setContextNote",
        "session/setTools",
        "session/compact",
    ] {
        let error = oam.fails(method, json!({"session": "nobody", "prompt": "x", "tools": []}));
        assert_eq!((error.code, error.name.as_str()), (-32020, "session_not_found"), "{method}");
        assert_eq!(error.data["session"], "nobody");
        let error = oam.fails(method, json!({"prompt": "x", "tools": []}));
        assert_eq!(error.name, "invalid_params", "{method}");
        assert!(error.message.contains("'session'"), "{}", error.message);
    }
}

#[test]
fn the_list_tells_each_session_in_order_of_creation() {
    let mut oam = Oam::start();
    oam.session("z", []);
    oam.session_with("a", [], json!({"instructions": "Be brief.", "tools": [tool("look"), tool("act")]}));
    let list = oam.ok("session/list", json!({}));
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let members =
        |session: &Value| session.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(members(&sessions[0]), "session model tools busy pendingOperations entries createdAt");
    assert_eq!(
        members(&sessions[1]),
        "session model instructions tools busy pendingOperations entries createdAt"
    );
    let [z, a] = [&sessions[0], &sessions[1]];
    assert_eq!((&z["session"], &z["tools"], &z["entries"]), (&json!("z"), &json!([]), &json!(0)));
    assert_eq!((&a["session"], &a["tools"]), (&json!("a"), &json!(["look", "act"])));
    assert_eq!((&a["model"], &a["instructions"]), (&json!("scripted"), &json!("Be brief.")));
    let created = a["createdAt"].as_str().unwrap();
    let form: String = created.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(form, "0000-00-00T00:00:00Z");
}

#[test]
fn busy_and_pending_count_what_is_unfinished() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    oam.session("b", []);
    let turns: Vec<_> = (0..3).map(|_| oam.start_turn("a", "x")).collect();
    oam.request("session/reset", json!({"session": "a"}));
    assert_eq!((&oam.listed("a")["busy"], &oam.listed("a")["pendingOperations"]), (&json!(true), &json!(4)));
    assert_eq!((&oam.listed("b")["busy"], &oam.listed("b")["pendingOperations"]), (&json!(false), &json!(0)));
    oam.ok("session/cancel", json!({"session": "a"}));
    for turn in turns {
        oam.wait_fails(&turn);
    }
    oam.ok("session/setContextNote", json!({"session": "a"}));
    assert_eq!((&oam.listed("a")["busy"], &oam.listed("a")["pendingOperations"]), (&json!(false), &json!(0)));
}

#[test]
fn a_client_that_has_the_answer_finds_the_session_idle() {
    let mut oam = Oam::start();
    oam.session("a", []);
    for _ in 0..50 {
        oam.turn("a", "x");
        assert_eq!(oam.listed("a")["busy"], false);
    }
}

#[test]
fn every_optional_parameter_may_be_null() {
    let mut oam = Oam::start();
    let result = oam.ok(
        "session/create",
        json!({"session": null, "instructions": null, "tools": null, "options": null, "history": null, "model": null}),
    );
    assert_eq!(result["session"], "s1");
    assert_eq!(oam.listed("s1")["model"], "system");
}

#[test]
fn a_refused_create_leaves_nothing_behind() {
    let mut oam = Oam::start();
    for bad in [
        json!({"instructions": 7}),
        json!({"tools": {}}),
        json!({"tools": [{}]}),
        json!({"options": []}),
        json!({"options": {"maxAttempts": 0}}),
        json!({"history": "x"}),
        json!({"model": "gpt"}),
        json!({"model": 7}),
        json!({"model": {"steps": []}}),
        json!({"model": {"type": "scripted", "steps": [{}]}}),
    ] {
        let mut params = json!({"session": "a", "model": "scripted"});
        params.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert_eq!(oam.fails("session/create", params).name, "invalid_params", "{bad}");
    }
    assert_eq!(oam.ok("session/list", json!({})), json!({"sessions": []}));
    oam.session("a", []);
}

#[test]
fn the_model_is_chosen_by_name_or_object() {
    let mut oam = Oam::start();
    for (model, listed) in [
        (json!("system"), "system"),
        (json!({"type": "system"}), "system"),
        (json!("scripted"), "scripted"),
        (json!({"type": "scripted"}), "scripted"),
        (json!({"type": "scripted", "steps": null, "fallback": null, "more": 1}), "scripted"),
    ] {
        oam.ok("session/create", json!({"session": "a", "model": model}));
        assert_eq!(oam.listed("a")["model"], listed, "{model}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn a_session_on_an_unavailable_model_warns_and_its_turns_fail() {
    let mut oam = Oam::start();
    if oam.ok("model/availability", json!({}))["available"] == true {
        return;
    }
    let created = oam.ok("session/create", json!({"session": "a"}));
    let warnings = created["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("unavailable")), "{warnings:?}");
    let error = oam.fails("session/respond", json!({"session": "a", "prompt": "x"}));
    assert_eq!((error.code, error.name.as_str()), (-32001, "model_unavailable"));
    assert_eq!(oam.listed("a")["entries"], 0);
}
