//! Ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use oam_embedded::{BridgeError, EmbeddedBridge, EmbeddedOptions, SendError};
use serde_json::{Value, json};

use crate::host::{DEADLINE, Host, endless_script};

#[test]
fn nothing_is_said_after_the_end_and_nothing_of_what_was_in_flight() {
    let host = Host::new();
    host.session("slow", &endless_script());
    host.request("turn", "session/respond", &json!({"session": "slow", "prompt": "Well?"}));
    host.call("ping", &json!({}));
    host.heard();
    host.bridge.close();
    assert_eq!(host.heard(), Vec::<Value>::new());
    assert_eq!(host.bridge.send("{}"), Err(SendError::Closed));
    assert_eq!(host.call("ping", &json!({}))["error"]["code"], -32023);
    host.bridge.close();
}

#[test]
fn the_end_waits_for_a_callback_in_progress() {
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let host = Host::reacting(EmbeddedOptions::default(), move |_, _| {
        entered.send(()).unwrap();
        let _ = released.recv_timeout(DEADLINE);
        done.store(true, Ordering::SeqCst);
    });
    host.request(1, "ping", &json!({}));
    host.request(2, "ping", &json!({}));
    has_entered.recv_timeout(DEADLINE).unwrap();
    thread::scope(|scope| {
        let closing = scope.spawn(|| {
            host.bridge.close();
            assert!(is_done.load(Ordering::SeqCst), "the callback has returned before the end");
        });
        while host.bridge.send("") != Err(SendError::Closed) {
            thread::yield_now();
        }
        release.send(()).unwrap();
        closing.join().unwrap();
    });
    assert_eq!(host.heard().len(), 1, "the second message is not handed over");
}

#[test]
fn a_callback_may_close_and_is_the_last_one() {
    let host = Host::reacting(EmbeddedOptions::default(), |bridge, message| {
        if message["id"] == "last" {
            bridge.close();
        }
    });
    host.session("slow", &endless_script());
    host.request("turn", "session/respond", &json!({"session": "slow", "prompt": "Well?"}));
    host.request("last", "ping", &json!({}));
    // Or it is taken before the callback closes; either is right.
    let _ = host.bridge.send(r#"{"jsonrpc":"2.0","id":"late","method":"ping"}"#);
    assert_eq!(host.response("last")["result"], json!({}));
    // The other thread waits for what the callback began.
    host.bridge.close();
    assert_eq!(host.heard(), Vec::<Value>::new());
}

#[test]
fn a_callback_may_own_the_bridge_and_drop_it() {
    let (send, received) = mpsc::channel::<EmbeddedBridge>();
    let (ended, end) = mpsc::channel();
    let bridge = EmbeddedBridge::start(EmbeddedOptions::default(), move |_| {
        drop(received.recv().unwrap());
        ended.send(()).unwrap();
    })
    .unwrap();
    bridge.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
    send.send(bridge).unwrap();
    end.recv_timeout(DEADLINE).unwrap();
}

#[test]
fn calls_in_flight_are_told_of_the_end() {
    let host = Host::new();
    host.session("slow", &endless_script());
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            let request =
                json!({"method": "session/respond", "params": {"session": "slow", "prompt": "Well?"}});
            host.bridge.call(&request.to_string(), None)
        });
        while host.call("session/list", &json!({}))["result"]["sessions"][0]["busy"] != true {}
        host.bridge.close();
        let answer: Value = serde_json::from_str(&call.join().unwrap()).unwrap();
        assert_eq!(answer["error"]["data"]["code"], "shut_down");
    });
}

#[test]
fn many_bridges_come_and_go() {
    for round in 0..100 {
        let host = Host::new();
        host.session("slow", &endless_script());
        host.request("turn", "session/respond", &json!({"session": "slow", "prompt": "Well?"}));
        if round % 2 == 0 {
            host.bridge.close();
        }
    }
}

#[test]
fn a_bridge_that_refuses_still_shuts_down() {
    let (told, lines) = mpsc::channel();
    let error = BridgeError::invalid_params("Parameter 'options.x' is wrong.");
    let bridge =
        EmbeddedBridge::start_refusing(error, move |line| told.send(line.to_owned()).unwrap()).unwrap();
    bridge.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).unwrap();
    assert!(lines.recv_timeout(DEADLINE).unwrap().contains("'options.x' is wrong"));
    bridge.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#).unwrap();
    assert_eq!(lines.recv_timeout(DEADLINE).unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
}
