//! What can be seen of the workers through the bridge, and by whom.

use oam_tests::{
    Oam,
    pool::{pids, workers},
    script::text,
};
use serde_json::json;

/// What of the workers' protocol is among the capabilities.
fn offered(oam: &mut Oam) -> Vec<String> {
    let capabilities = oam.ok("initialize", json!({}))["capabilities"].clone();
    let names = ["methods", "notifications"].map(|kind| capabilities[kind].as_array().unwrap().clone());
    let names = names.concat();
    let names = names.iter().map(|name| name.as_str().unwrap());
    names.filter(|name| name.starts_with("supervisor/")).map(str::to_owned).collect()
}

#[test]
fn the_status_tells_of_workers_counters_and_exits() {
    let mut pool = workers().fault_once("segv", "").start();
    pool.play("a", [text("one"), text("two")]);
    pool.turn("a", "x");
    pool.turn("a", "y");
    pool.when_ready(2);
    let status = pool.status();
    let members: Vec<_> = status.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["workers", "waitingSteps", "breaker", "streamingTrusted", "counters", "lastExits"]);
    let counters = &status["counters"];
    assert_eq!(
        *counters,
        json!({"steps": 2, "crashes": {"SIGSEGV": 1}, "hangs": 0, "violations": 0, "replays": 1,
            "quarantined": 0, "recycled": 0, "started": 3})
    );
    assert_eq!((&status["breaker"], &status["waitingSteps"]), (&json!("closed"), &json!(0)));
    for worker in status["workers"].as_array().unwrap() {
        let members: Vec<_> = worker.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["worker", "pid", "program", "state", "uptimeSeconds", "steps"]);
        assert!(worker["uptimeSeconds"].as_f64().unwrap() >= 0.0);
    }
    let steps: u64 =
        status["workers"].as_array().unwrap().iter().map(|worker| worker["steps"].as_u64().unwrap()).sum();
    assert_eq!(steps, 2, "the dead one has ended none");
    let exit = &status["lastExits"][0];
    assert_eq!(exit["signal"], "SIGSEGV");
    assert!(exit["exit"].as_str().unwrap().starts_with("was killed by SIGSEGV after "), "{exit}");
    assert!(exit["stderr"][0].as_str().unwrap().contains("going wrong"), "{exit}");
    assert_eq!(pids(&status).len(), 2);
}

#[test]
fn method_and_notification_are_listed_where_there_are_workers() {
    let mut pool = workers().start();
    assert_eq!(offered(&mut pool), ["supervisor/status", "supervisor/event"]);
    let mut oam = Oam::start();
    assert!(offered(&mut oam).is_empty());
    assert_eq!(oam.fails("supervisor/status", json!({})).name, "method_not_found");
}

#[test]
fn only_clients_that_asked_hear_of_workers() {
    for (client, hears) in [
        (json!({}), false),
        (json!({"workerEvents": false}), false),
        (json!({"workerEvents": "true"}), false),
        (json!({"workerEvents": true}), true),
    ] {
        let mut pool = workers().fault_once("abort", "").start();
        pool.ok("initialize", json!({"client": client}));
        // Said again, it is still heard once.
        pool.ok("initialize", json!({"client": client}));
        pool.open("a", json!({}));
        pool.turn("a", "Hello");
        let heard = pool.event_types();
        assert_eq!(heard, if hears { vec!["workerDied", "stepReplayed"] } else { Vec::new() });
    }
}

#[test]
fn a_client_that_never_introduced_itself_hears_nothing() {
    let mut pool = workers().fault_once("abort", "").start();
    pool.open("a", json!({}));
    pool.turn("a", "Hello");
    assert_eq!(pool.count("supervisor/event"), 0);
    assert_eq!(pool.counter("replays"), 1);
}

#[test]
fn availability_is_told_however_stuck_the_workers_are() {
    let mut pool = workers()
        .fault("hang-ignoring-cancel")
        .worker_args(&["--parallel", "1"])
        .flags(&["--no-spare"])
        .start();
    pool.open("a", json!({}));
    pool.start_turn("a", "Hello");
    pool.status_when("a busy worker", |status| status["workers"][0]["state"] == "busy");
    let availability = pool.ok("model/availability", json!({}));
    assert_eq!((&availability["available"], &availability["variant"]), (&json!(true), &json!("scripted")));
}

#[test]
fn faults_may_come_from_the_environment_of_workers_and_nothing_else_does() {
    let setup = workers();
    let seen = setup.path("environment");
    let script = format!("env > {}; exec \"$0\" worker scripted", shell_words::quote(seen.to_str().unwrap()));
    let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
    let mut pool = setup
        .program(&["/bin/sh", "-c", &script, &oam])
        .environment("OAM_WORKER_FAULTS", "exit1:step=2")
        .environment("OAM_SECRET", "hidden")
        .environment("API_TOKEN", "hidden")
        .flags(&["--no-spare"])
        .start();
    pool.play("a", [text("one"), text("two")]);
    pool.turn("a", "x");
    pool.turn("a", "y");
    assert_eq!(pool.crashes(), json!({"exit 1": 1}));
    let environment = std::fs::read_to_string(seen).unwrap();
    assert!(environment.contains("OAM_WORKER_FAULTS=exit1:step=2"), "{environment}");
    assert!(environment.contains("PATH=") && !environment.contains("hidden"), "{environment}");
}

#[test]
fn what_else_a_worker_needs_of_the_environment_env_can_set() {
    let setup = workers();
    let seen = setup.path("environment");
    let script =
        format!("(env; pwd) > {}; exec \"$0\" worker scripted", shell_words::quote(seen.to_str().unwrap()));
    let oam = oam_tests::oam_binary().to_str().unwrap().to_owned();
    let mut pool = setup
        .program(&["env", "MODEL_HOME=/models", "/bin/sh", "-c", &script, &oam])
        .flags(&["--no-spare"])
        .start();
    pool.open("a", json!({}));
    pool.turn("a", "x");
    let environment = std::fs::read_to_string(seen).unwrap();
    assert!(environment.contains("MODEL_HOME=/models"), "{environment}");
    let here = std::env::current_dir().unwrap();
    assert_eq!(environment.lines().last(), here.to_str(), "it works where oam was started");
}
