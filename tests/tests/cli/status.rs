//! `oam status`.

use serde_json::json;

use crate::run::oam;

fn worker(arguments: &str) -> String {
    format!("{} worker scripted {arguments}", oam_tests::oam_binary().display())
}

#[test]
fn a_worker_that_gets_ready_is_told_with_all_that_it_can() {
    let worker = worker("--context 4096");
    let argument = oam(["status", "--json", "--worker", &worker]);
    let variable = oam(["status", "--json"]).env("OAM_WORKER", &worker);
    for (run, source) in [(argument, "--worker"), (variable, "OAM_WORKER")] {
        let told = run.ends_with(0);
        assert_eq!((told.stdout.lines().count(), told.stderr.as_str()), (1, ""));
        let told = told.json();
        assert_eq!(
            (&told["available"], &told["model"], &told["source"]),
            (&json!(true), &json!("system"), &json!(source))
        );
        assert_eq!(told["command"].as_array().unwrap().len(), 5);
        assert_eq!(
            told["worker"],
            json!({"name": "oam-worker-scripted", "version": env!("CARGO_PKG_VERSION")})
        );
        assert_eq!((&told["contextSize"], &told["capabilities"]["streaming"]), (&json!(4096), &json!(true)));
        assert!(told["readySeconds"].as_f64().unwrap() < oam_tests::DEADLINE.as_secs_f64());
        assert_eq!((&told["lastExits"], told.get("advice")), (&json!([]), None));
    }
    let people = oam(["status", "--worker", &worker]).ends_with(0).stdout;
    for part in ["can be asked", "(from --worker)", "oam-worker-scripted", "4096 tokens", "streaming"] {
        assert!(people.contains(part), "{part}: {people}");
    }
}

#[test]
fn a_recording_of_a_model_that_could_not_be_asked_says_so() {
    let model = json!({"unavailable": "model_not_ready"});
    let recording = json!({"recording": {"version": 1, "model": model}});
    let told = oam(["status", "--json"]).script(&recording).ends_with(3).json();
    assert_eq!((&told["reason"], &told["source"]), (&json!("model_not_ready"), &json!("OAM_SCRIPT")));
    assert_eq!(told["advice"], json!(["It was so when it was recorded."]));
    let told = oam(["respond", "Hi"]).script(&recording).ends_with(3);
    assert_eq!(
        told.stderr,
        "Error: The model is unavailable (model_not_ready). It was so when it was recorded.\n"
    );
}

#[test]
fn a_worker_that_does_not_get_ready_is_told_with_its_last_words() {
    let worker = "sh -c 'echo no licence >&2; echo see the manual >&2; exit 5'";
    let told = oam(["status", "--json", "--worker", worker]).ends_with(3).json();
    assert_eq!((&told["available"], &told["reason"]), (&json!(false), &json!("model_not_ready")));
    let exit = &told["lastExits"][0];
    assert_eq!((&exit["code"], &exit["stderr"]), (&json!(5), &json!(["no licence", "see the manual"])));
    assert_eq!((told.get("worker"), told.get("readySeconds"), told.get("capabilities")), (None, None, None));
    assert!(told["advice"].as_array().is_some_and(|advice| !advice.is_empty()));

    let people = oam(["status", "--worker", worker]).ends_with(3);
    for part in [
        "cannot be asked: model_not_ready",
        "exited with code 5",
        "| no licence\n",
        "| see the manual\n",
        "To do",
    ] {
        assert!(people.stdout.contains(part), "{part}: {people:?}");
    }
    assert_eq!(people.stderr, "");
}

#[test]
fn a_script_stands_in_for_a_worker() {
    let told = oam(["status", "--json"]).script(&json!([])).ends_with(0).json();
    assert_eq!((&told["model"], &told["source"]), (&json!("scripted"), &json!("OAM_SCRIPT")));
    assert_eq!((told.get("command"), told.get("lastExits")), (None, None));
    let people = oam(["status"]).script(&json!([])).ends_with(0).stdout;
    assert!(people.contains("scripted (OAM_SCRIPT), can be asked"), "{people}");
}

#[test]
fn without_a_worker_it_says_how_to_get_one() {
    let told = oam(["status", "--json"]).ends_with(3).json();
    assert_eq!((&told["source"], &told["reason"]), (&json!("none"), &json!("device_not_eligible")));
    assert!(told["advice"][0].as_str().unwrap().contains("--worker"), "{told}");
    let people = oam(["status"]).ends_with(3).stdout;
    assert!(people.contains("OAM_WORKER") && people.contains("oam-worker-swift"), "{people}");
}

#[test]
fn what_cannot_be_a_worker_is_an_error() {
    let people = oam(["status", "--worker", "./nothing"]).ends_with(2);
    assert!(people.stderr.starts_with("Error: --worker: there is no program ./nothing"), "{people:?}");
    let machines = oam(["status", "--json"]).env("OAM_SCRIPT", "nowhere.json").ends_with(2);
    assert_eq!(machines.error().0, "invalid_input");
}
