//! Messages in both directions.

use std::{collections::HashSet, thread};

use oam_embedded::{EmbeddedBridge, EmbeddedOptions};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::host::{Host, bell_script, rang};

/// Rings the bell within the callback.
fn ring(bridge: &EmbeddedBridge, message: &Value) {
    if message["method"] == "tool/call" {
        bridge.send(&rang(message)).unwrap();
    }
}

#[test]
fn a_tool_call_may_be_answered_within_the_callback() {
    let host = Host::reacting(EmbeddedOptions::default(), ring);
    host.session("bell", &bell_script());
    host.request("turn", "session/respond", &json!({"session": "bell", "prompt": "Ring!"}));
    assert_eq!(host.response("turn")["result"]["text"], r#"{"rang":true}"#);
}

#[test]
fn what_a_request_causes_comes_before_its_response() {
    let host = Host::reacting(EmbeddedOptions::default(), ring);
    host.session("bell", &bell_script());
    host.request(1, "session/respond", &json!({"session": "bell", "prompt": "Ring!", "stream": true}));
    host.request(2, "session/respond", &json!({"session": "bell", "prompt": "Again!", "stream": true}));
    let mut answered = HashSet::new();
    while answered.len() < 2 {
        let message = host.next();
        if message.get("method").is_none() {
            answered.insert(message["id"].to_string());
        } else if let Some(request) = message["params"].get("requestId") {
            assert!(!answered.contains(&request.to_string()), "{message} after its response");
        }
    }
}

#[test]
fn many_threads_may_send_and_each_request_is_answered_once() {
    let host = Host::new();
    thread::scope(|scope| {
        for sender in 0..4 {
            let host = &host.bridge;
            scope.spawn(move || {
                for number in 0..250 {
                    let id = format!("{sender}-{number}");
                    let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
                    host.send(&ping.to_string()).unwrap();
                }
            });
        }
    });
    let mut last = [-1_i64; 4];
    for _ in 0..1000 {
        let message = host.next();
        let (sender, number) = message["id"].as_str().unwrap().split_once('-').unwrap();
        let last = &mut last[sender.parse::<usize>().unwrap()];
        assert_eq!(number.parse(), Ok(*last + 1), "requests of one thread are answered in order");
        *last += 1;
    }
    assert_eq!(host.call("ping", &json!({}))["result"], json!({}));
    assert_eq!(host.heard(), Vec::<Value>::new());
}

#[test]
fn a_line_of_anything_is_answered_or_needs_no_answer() {
    let host = Host::new();
    let methods =
        ["ping", "session/create", "session/respond", "session/list", "world/set", "npc/create", "nope"];
    let message = (vec(any::<u8>(), 0..40), 0..methods.len(), any::<bool>(), any::<Option<u32>>());
    let lines = prop_oneof![
        "\\PC*",
        "[\\[\\]{}\",:0-9a-z \\n\\\\]{0,40}",
        message.prop_map(move |(text, method, is_versioned, id)| {
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut message =
                json!({"method": methods[method], "params": {"session": &text, "prompt": text}});
            if is_versioned {
                message["jsonrpc"] = json!("2.0");
            }
            if let Some(id) = id {
                message["id"] = json!(id);
            }
            message.to_string()
        }),
    ];
    TestRunner::default()
        .run(&lines, |line| {
            // A call is answered, whatever it is.
            let answer: Value =
                serde_json::from_str(&host.bridge.call(&line, Some(crate::host::DEADLINE))).unwrap();
            prop_assert!(answer.get("result").is_some() != answer.get("error").is_some());
            host.heard();
            // A line is answered if it is a request or no message at all, before what is asked after it.
            host.bridge.send(&line).unwrap();
            let wants_answer = match serde_json::from_str::<Value>(&line) {
                Ok(Value::Object(message)) => {
                    message.get("jsonrpc") != Some(&json!("2.0"))
                        || message.contains_key("id")
                        || !message.contains_key("method")
                }
                Ok(_) => true,
                Err(_) => !line.trim_start_matches('\u{feff}').trim().is_empty(),
            };
            host.request("fence", "ping", &json!({}));
            let mut answers = 0;
            loop {
                let message = host.next();
                if message["id"] == "fence" {
                    break;
                }
                answers += usize::from(message.get("method").is_none());
            }
            // A turn may be answered behind the fence: there is no such session, so none is.
            prop_assert_eq!(answers, usize::from(wants_answer));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_line_that_is_too_long_is_refused_in_its_place() {
    let host = Host::new();
    host.bridge.send(&"x".repeat((64 << 20) + 1)).unwrap();
    host.request(1, "ping", &json!({}));
    assert_eq!(host.next()["error"]["code"], -32700);
    assert_eq!(host.next()["id"], 1);
    let answer = host.bridge.call(&" ".repeat((64 << 20) + 1), None);
    assert!(answer.contains("longer than 67108864 bytes"), "{answer}");
}

#[test]
fn several_bridges_know_nothing_of_each_other() {
    let (one, other) = (Host::new(), Host::new());
    one.session("guard", &json!([{"text": "One."}]));
    other.session("guard", &json!([{"text": "Other."}]));
    for (host, text) in [(&one, "One."), (&other, "Other.")] {
        let answer = host.call("session/respond", &json!({"session": "guard", "prompt": "Who?"}));
        assert_eq!(answer["result"]["text"], text);
    }
    one.bridge.close();
    assert_eq!(other.call("ping", &json!({}))["result"], json!({}));
}

#[test]
fn a_callback_that_panics_gets_the_next_message() {
    let host = Host::reacting(EmbeddedOptions::default(), |_, message| {
        assert_ne!(message["id"], "bad", "this panic is meant");
    });
    host.request("bad", "ping", &json!({}));
    host.request("good", "ping", &json!({}));
    assert_eq!(host.next()["id"], "good");
}
