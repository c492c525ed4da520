//! Callbacks that do not return.

use std::{sync::mpsc, time::Duration};

use oam_embedded::{EmbeddedOptions, SendError};
use serde_json::json;

use crate::host::{DEADLINE, Host, endless_script};

#[test]
fn turns_and_time_limits_go_on_while_a_callback_is_stuck() {
    let (release, stuck) = mpsc::channel::<()>();
    let host = Host::reacting(EmbeddedOptions::default(), move |_, message| {
        if message["id"] == "stick" {
            let _ = stuck.recv_timeout(DEADLINE);
        }
    });
    host.session("slow", &endless_script());
    host.session("quick", &json!([{"text": "Here."}]));
    host.request("stick", "ping", &json!({}));
    host.request("turn", "session/respond", &json!({"session": "quick", "prompt": "You?"}));
    let turn = json!({"session": "slow", "prompt": "Well?"});
    let timed_out = host.call_within(Duration::from_millis(100), "session/respond", &turn);
    assert_eq!(timed_out["error"]["code"], -32024);
    // Its events wait, its answer is here.
    let list = host.call_within(Duration::from_millis(100), "session/list", &json!({}));
    assert_eq!(list["result"]["sessions"][1]["busy"], false);
    release.send(()).unwrap();
    assert_eq!(host.response("turn")["result"]["text"], "Here.");
}

#[test]
fn a_host_that_never_takes_its_messages_is_given_up() {
    let (release, stuck) = mpsc::channel::<()>();
    let options = EmbeddedOptions { max_unread_bytes: 64 << 10, ..EmbeddedOptions::default() };
    let host = Host::reacting(options, move |_, _| {
        let _ = stuck.recv_timeout(DEADLINE);
    });
    let long = "x".repeat(1 << 10);
    let given_up = (0..).find_map(|_| {
        std::thread::yield_now();
        host.bridge.send(&json!({"jsonrpc": "2.0", "id": long, "method": "ping"}).to_string()).err()
    });
    assert_eq!(given_up, Some(SendError::GivenUp));
    let answer = host.call("ping", &json!({}));
    assert_eq!(answer["error"]["code"], -32023);
    assert!(answer["error"]["message"].as_str().unwrap().contains("callback"), "{answer}");
    drop(release);
    host.bridge.close();
    assert_eq!(host.heard().len(), 1, "what waited is gone");
}
