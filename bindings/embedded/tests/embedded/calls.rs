//! Requests whose sender waits.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use oam_embedded::EmbeddedOptions;
use serde_json::{Value, json};

use crate::host::{DEADLINE, Host, bell_script, endless_script, rang};

/// Nothing that this test waits for takes so little time unless it is told not to wait.
const SHORT: Duration = Duration::from_millis(100);

#[test]
fn every_request_gets_its_answer() {
    let host = Host::new();
    let cases = [
        (r#"{"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
        (r#"{"id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (
            r#"{"jsonrpc":"1.0","id":"a","method":"ping","params":null}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
        ),
        (r#"{"jsonrpc":7,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
        (r#"{"id":2,"method":"nope"}"#, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"#),
        (
            r#"{"id":3,"method":"session/list","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"#,
        ),
        ("", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#),
        ("{", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#),
        ("[]", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#),
        (r#"{"id":4}"#, r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"#),
        (r#"{"id":5,"method":""}"#, r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"#),
        (r#"{"id":6,"result":{}}"#, r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"#),
        (r#"{"id":null,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#),
        (r#"{"id":[7],"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#),
        (
            r#"{"id":9007199254740992,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#,
        ),
    ];
    for (request, answer) in cases {
        let answered = host.bridge.call(request, Some(DEADLINE));
        assert!(answered.starts_with(answer), "{request}: {answered}");
    }
    assert_eq!(host.heard(), Vec::<Value>::new(), "no answer to a call goes to the callback");
}

#[test]
fn the_callback_has_everything_that_came_before_the_answer() {
    let host = Host::reacting(EmbeddedOptions::default(), |bridge, message| {
        if message["method"] == "tool/call" {
            bridge.send(&rang(message)).unwrap();
        }
    });
    host.session("bell", &bell_script());
    let request = json!({"id": "mine", "method": "session/respond",
        "params": {"session": "bell", "prompt": "Ring!", "stream": true}});
    let answer: Value =
        serde_json::from_str(&host.bridge.call(&request.to_string(), Some(DEADLINE))).unwrap();
    let heard = host.heard();
    let deltas: String = heard
        .iter()
        .filter(|message| message["params"]["event"]["type"] == "text")
        .map(|message| message["params"]["event"]["delta"].as_str().unwrap())
        .collect();
    assert_eq!(answer["result"]["text"], deltas);
    assert!(heard.iter().all(|message| message["params"]["requestId"] == "mine"), "{heard:?}");
    assert!(heard.iter().any(|message| message["method"] == "tool/call"));
}

#[test]
fn events_of_a_call_without_an_id_name_a_private_one() {
    let host = Host::new();
    host.session("bard", &json!([{"text": "La la la", "chunks": 2}]));
    host.call("session/respond", &json!({"session": "bard", "prompt": "Sing!", "stream": true}));
    let heard = host.heard();
    let id = &heard[0]["params"]["requestId"];
    assert!(id.as_str().unwrap().starts_with("local-"), "{id}");
    assert!(heard.iter().all(|message| message["params"]["requestId"] == *id));
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_leaves_no_trace() {
    let host = Host::new();
    host.session("slow", &endless_script());
    let turn = json!({"session": "slow", "prompt": "Quick!"});
    let answer = host.call_within(SHORT, "session/respond", &turn);
    assert_eq!(answer["error"]["code"], -32024);
    assert_eq!(answer["error"]["data"], json!({"code": "timeout"}));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("'session/respond'") && message.contains("100 ms"), "{message}");
    assert_eq!(host.call("session/list", &json!({}))["result"]["sessions"][0]["entries"], 0);
    assert_eq!(host.call("session/respond", &turn)["result"]["text"], "In time.");
}

#[test]
fn a_call_that_waits_for_its_turn_in_a_queue_can_time_out_too() {
    let host = Host::new();
    host.session("slow", &endless_script());
    let turn = json!({"session": "slow", "prompt": "Quick!"});
    host.request(1, "session/respond", &turn);
    assert_eq!(host.call_within(SHORT, "session/respond", &turn)["error"]["code"], -32024);
    assert_eq!(host.call("session/cancel", &json!({"session": "slow"}))["result"]["cancelled"], 1);
}

#[test]
fn a_decision_that_takes_too_long_is_cancelled() {
    let host = Host::new();
    let request = json!({"situation": "A wolf.", "options": ["flee", "fight"],
        "model": {"type": "scripted", "steps": endless_script()}});
    assert_eq!(host.call_within(SHORT, "decision/decide", &request)["error"]["code"], -32024);
    assert_eq!(host.call("ping", &json!({}))["result"], json!({}));
}

#[test]
fn within_the_callback_a_call_is_refused() {
    let (told, answers) = mpsc::channel();
    let host = Host::reacting(EmbeddedOptions::default(), move |bridge, message| {
        if message["id"] == "ask" {
            told.send(bridge.call(r#"{"id":1,"method":"ping"}"#, None)).unwrap();
        }
    });
    host.request("ask", "ping", &json!({}));
    let answer: Value = serde_json::from_str(&answers.recv_timeout(DEADLINE).unwrap()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32011)), "{answer}");
    assert_eq!(host.response("ask")["result"], json!({}));
}

#[test]
fn the_notification_shutdown_cancels_calls_and_refuses_later_ones() {
    let host = Host::new();
    host.session("slow", &endless_script());
    thread::scope(|scope| {
        let call =
            scope.spawn(|| host.call("session/respond", &json!({"session": "slow", "prompt": "Well?"})));
        while host.call("session/list", &json!({}))["result"]["sessions"][0]["busy"] != true {}
        host.send(&json!({"jsonrpc": "2.0", "method": "shutdown"}));
        assert_eq!(call.join().unwrap()["error"]["data"]["code"], "cancelled");
    });
    assert_eq!(host.call("ping", &json!({}))["error"]["code"], -32023);
}

#[test]
fn a_call_takes_its_place_among_what_was_sent() {
    let host = Host::new();
    for number in 0..200 {
        host.request(number, "world/create", &json!({"world": format!("w{number}")}));
        if number < 64 {
            let world = format!("w{number}");
            let set = json!({"world": world, "path": "a", "value": number});
            assert_eq!(host.call("world/set", &set)["result"]["version"], 1);
        }
    }
}

#[test]
fn an_answer_is_not_lost_to_a_callback_that_is_stuck() {
    let (release, stuck) = mpsc::channel::<()>();
    let host = Host::reacting(EmbeddedOptions::default(), move |_, message| {
        if message["id"] == "stick" {
            let _ = stuck.recv_timeout(DEADLINE);
        }
    });
    host.request("stick", "ping", &json!({}));
    host.request("next", "ping", &json!({}));
    let begun = Instant::now();
    assert_eq!(host.call_within(SHORT, "ping", &json!({}))["result"], json!({}));
    assert!(begun.elapsed() >= SHORT, "it waits for the callback as long as it may");
    release.send(()).unwrap();
    assert_eq!(host.response("next")["result"], json!({}));
}
