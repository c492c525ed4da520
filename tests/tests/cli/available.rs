//! `oam available`.

use serde_json::json;

use crate::run::oam;

#[test]
fn a_script_is_a_model_that_can_be_asked() {
    let told = oam(["available", "--compact"]).script(&json!([])).ends_with(0);
    assert_eq!(told.stdout.lines().count(), 1);
    let expected = json!({
        "available": true, "model": "scripted", "contextSize": 8192, "variant": "scripted (OAM_SCRIPT)",
        "supportedLanguages": []
    });
    assert_eq!(told.json(), expected);
    let pretty = oam(["available"]).script(&json!([])).ends_with(0);
    assert!(pretty.stdout.starts_with("{\n  \"available\": true,\n"), "{pretty:?}");
    assert_eq!(pretty.json(), expected);
}

#[test]
fn a_worker_says_what_its_model_can() {
    let worker = format!("{} worker scripted --context 4096", oam_tests::oam_binary().display());
    for run in [oam(["available", "--worker", &worker]), oam(["available"]).env("OAM_WORKER", &worker)] {
        let told = run.ends_with(0).json();
        assert_eq!((&told["model"], &told["contextSize"]), (&json!("system"), &json!(4096)));
    }
}

#[test]
fn without_a_model_the_answer_is_no() {
    let worker = format!("{} worker scripted --fault exit:at=start", oam_tests::oam_binary().display());
    for (run, reason) in [
        (oam(["available"]), "device_not_eligible"),
        (oam(["available", "--worker", &worker]), "model_not_ready"),
    ] {
        let told = run.ends_with(3);
        assert_eq!(
            (told.json()["available"].clone(), told.json()["reason"].clone()),
            (json!(false), json!(reason))
        );
        assert_eq!(told.stderr, "", "that is no error");
    }
}

#[test]
fn what_cannot_be_a_model_is_an_error_for_machines() {
    for (run, code, part) in [
        (oam(["available"]).env("OAM_SCRIPT", "nowhere.json"), "invalid_input", "nowhere.json"),
        (oam(["available", "--worker", "./nothing"]), "usage", "--worker: there is no program ./nothing"),
        (oam(["available"]).env("OAM_WORKER", "'"), "usage", "OAM_WORKER"),
    ] {
        let told = run.ends_with(2);
        let (told_code, message) = told.error();
        assert_eq!((told_code.as_str(), told.stdout.as_str()), (code, ""));
        assert!(message.contains(part), "{message}");
    }
}
