//! A service that cannot start is not started for ever.

use oam_tests::pool::until;
use serde_json::json;

use crate::home::Home;

const CANNOT_START: [&str; 5] = ["service", "run", "--managed", "--worker", "/nowhere/worker"];

#[test]
fn after_five_starts_that_failed_it_ends_as_if_all_were_well_and_the_status_tells_why() {
    let home = Home::new();
    let codes: Vec<_> = (0..7).map(|_| home.run(CANNOT_START).code.unwrap()).collect();
    assert_eq!(codes, [2, 2, 2, 2, 0, 0, 0]);
    let status = home.status();
    assert_eq!((&status["running"], &status["gaveUp"]), (&json!(false), &json!(true)));
    let failed = status["failedStarts"].as_array().unwrap();
    assert_eq!(failed.len(), 5);
    assert!(failed.iter().all(|start| start["reason"].as_str().unwrap().contains("/nowhere/worker")));
    let people = home.run(["service", "status"]);
    for part in ["gave up", "there is no program /nowhere/worker", "oam service start"] {
        assert!(people.stdout.contains(part), "{part}: {people:?}");
    }
    assert_eq!(people.code, Some(1));

    let started = home.run(["service", "start"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let status = home.status();
    assert_eq!((&status["running"], &status["gaveUp"]), (&json!(true), &json!(false)));
    assert_eq!(status["failedStarts"], json!([]));
}

#[test]
fn arguments_that_a_later_version_does_not_know_are_starts_that_fail_too() {
    let home = Home::new();
    let codes: Vec<_> =
        (0..6).map(|_| home.run(["service", "run", "--managed", "--nothing"]).code.unwrap()).collect();
    assert_eq!(codes, [2, 2, 2, 2, 0, 0]);
    assert!(home.status()["failedStarts"][4]["reason"].as_str().unwrap().contains("'--nothing'"));
}

#[test]
fn a_good_start_forgets_those_that_failed() {
    let home = Home::new();
    for _ in 0..4 {
        assert_eq!(home.run(CANNOT_START).code, Some(2));
    }
    let service = home.serve(["--managed"]);
    until("failed starts are forgotten", || home.status()["failedStarts"] == json!([]));
    drop(service);
    assert_eq!(home.run(CANNOT_START).code, Some(2), "the first again");
    assert_eq!(home.status()["failedStarts"].as_array().unwrap().len(), 1);
}

#[test]
fn without_a_manager_every_failure_is_told_the_last_in_the_status_and_none_is_counted() {
    let home = Home::new();
    for _ in 0..6 {
        let told = home.run(["service", "run", "--worker", "/nowhere/worker"]);
        assert_eq!(told.code, Some(2));
        assert!(told.stderr.contains("/nowhere/worker"), "{told:?}");
    }
    let status = home.status();
    assert_eq!((&status["gaveUp"], status["failedStarts"].as_array().unwrap().len()), (&json!(false), 1));
    let people = home.run(["service", "status"]).stdout;
    assert!(
        people.lines().any(|line| line.starts_with("Failed ") && line.contains("/nowhere/worker")),
        "{people}"
    );
    assert_eq!(home.run(CANNOT_START).code, Some(2), "the first that counts");
}

#[test]
fn that_another_service_serves_is_no_failed_start() {
    let home = Home::new();
    let _service = home.serve([]);
    assert_eq!(home.run(["service", "run"]).code, Some(1));
    assert_eq!(home.run(["service", "run", "--worker", "/nowhere/worker"]).code, Some(2));
    assert_eq!(home.status()["failedStarts"], json!([]));
}

#[test]
fn data_that_cannot_be_used_is_told_in_the_status() {
    let home = Home::new();
    let data = home.data();
    std::fs::create_dir_all(data.parent().unwrap()).unwrap();
    std::fs::write(&data, "a file").unwrap();
    let _service = home.serve([]);
    let status = home.status();
    assert_eq!(status["service"]["store"]["state"], "failed", "{status}");
    let mut client = home.client().start();
    let error = client.fails("initialize", json!({"client": {"realm": "inn"}}));
    assert_eq!(error.name, "storage_failed", "{error:?}");
    assert_eq!(client.fails("session/create", json!({"session": "a"})).name, "storage_failed");
    home.client().start().session("a", [json!({"text": "Private ones go on."})]);
}
