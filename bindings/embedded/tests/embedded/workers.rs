//! Worker processes behind a bridge.

use oam_embedded::{EmbeddedOptions, WorkerCommand};
use oam_tests::oam_binary;
use serde_json::json;

use crate::host::Host;

fn scripted_worker(faults: &[&str]) -> EmbeddedOptions {
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    let arguments = ["worker", "scripted"].into_iter().chain(faults).map(Into::into).collect();
    EmbeddedOptions {
        worker: Some(WorkerCommand { program: oam_binary().clone(), arguments }),
        ..EmbeddedOptions::default()
    }
}

fn system_session(host: &Host, steps: &serde_json::Value) {
    let instructions = format!("oam-script: {steps}");
    let created = host.call("session/create", &json!({"session": "s", "instructions": instructions}));
    assert_eq!(created["result"]["warnings"], json!([]), "{created}");
}

#[test]
fn the_first_answer_knows_whether_there_is_a_model() {
    let host = Host::with_options(scripted_worker(&[]));
    assert_eq!(host.call("model/availability", &json!({}))["result"]["available"], true);
}

#[test]
fn what_waits_for_the_first_worker_is_done_in_order() {
    let host = Host::with_options(scripted_worker(&[]));
    host.request(1, "world/create", &json!({"world": "w"}));
    host.request(2, "world/set", &json!({"world": "w", "path": "a", "value": 1}));
    assert_eq!(host.call("world/get", &json!({"world": "w", "path": "a"}))["result"]["value"], 1);
    assert_eq!((&host.next()["id"], &host.next()["id"]), (&json!(1), &json!(2)));
}

#[test]
fn a_worker_that_dies_is_replaced_and_its_step_played_again() {
    let folder = tempfile::tempdir().unwrap();
    let fault = format!("abort:once={}", folder.path().join("died").display());
    let host = Host::with_options(scripted_worker(&[&fault]));
    host.call("initialize", &json!({"client": {"name": "test", "workerEvents": true}}));
    system_session(&host, &json!([{"text": "Still here."}]));
    let answer = host.call("session/respond", &json!({"session": "s", "prompt": "Are you there?"}));
    assert_eq!(answer["result"]["text"], "Still here.");
    let events: Vec<_> = host
        .heard()
        .iter()
        .map(|event| event["params"]["event"]["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ["workerDied", "stepReplayed"]);
    let status = host.call("supervisor/status", &json!({}));
    assert_eq!(status["result"]["counters"]["crashes"], json!({"SIGABRT": 1}));
}

#[test]
fn a_worker_that_is_not_there_makes_the_model_unavailable() {
    let command = WorkerCommand { program: "/nowhere/worker".into(), arguments: Vec::new() };
    let host = Host::with_options(EmbeddedOptions { worker: Some(command), ..EmbeddedOptions::default() });
    assert_eq!(host.call("model/availability", &json!({}))["result"]["available"], false);
    host.call("session/create", &json!({"session": "s"}));
    let error = &host.call("session/respond", &json!({"session": "s", "prompt": "Hello?"}))["error"];
    assert_eq!(error["code"], -32001);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("there is no program /nowhere/worker"), "{message}");
}

#[test]
fn closing_ends_the_workers_even_those_that_do_not_want_to() {
    let host = Host::with_options(scripted_worker(&["hang-ignoring-cancel"]));
    system_session(&host, &json!([{"text": "Never."}]));
    host.request("turn", "session/respond", &json!({"session": "s", "prompt": "Well?"}));
    let status = host.call("supervisor/status", &json!({}));
    let pids: Vec<_> =
        status["result"]["workers"].as_array().unwrap().iter().map(|worker| worker["pid"].clone()).collect();
    assert!(!pids.is_empty());
    host.bridge.close();
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "worker {pid} is left");
    }
}
