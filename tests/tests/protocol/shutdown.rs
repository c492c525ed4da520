//! The end: by `shutdown`, or by the end of input.

use oam_tests::{
    Oam,
    script::{call, endless, error, text, tool},
};
use serde_json::json;

#[test]
fn shutdown_cancels_everything_answers_last_and_ends_the_program() {
    let mut oam = Oam::start();
    oam.session("idle", []);
    oam.session("busy", [endless()]);
    oam.session_with("calling", [call("look", json!({}))], json!({"tools": [tool("look")]}));
    oam.session("compacting", [text("1"), endless()]);
    oam.turn("compacting", "x");
    let cancelled = [
        oam.start_turn("busy", "x"),
        oam.start_turn("busy", "queued"),
        oam.request("session/reset", json!({"session": "busy"})),
        oam.start_turn("calling", "x"),
        oam.request("session/compact", json!({"session": "compacting", "keepRecentTurns": 0})),
    ];
    oam.tool_call();
    let shutdown = oam.request("shutdown", json!({}));
    assert_eq!(oam.wait_ok(&shutdown), json!({}));
    let last = oam.answer_position(&shutdown);
    for request in &cancelled {
        assert_eq!(oam.wait_fails(request).name, "cancelled");
        assert!(oam.answer_position(request) < last);
    }
    assert_eq!(oam.count("tool/cancel"), 1);
    assert_eq!(oam.wait_exit().code(), Some(0));
    assert_eq!(oam.open_requests(), 0);
}

#[test]
fn what_comes_before_shutdown_is_answered() {
    let mut oam = Oam::start();
    let requests: Vec<_> =
        (0..100).map(|_| oam.request("session/create", json!({"model": "scripted", "x": 1}))).collect();
    let shutdown = oam.request("shutdown", json!({}));
    for request in requests {
        let _created_or_too_many = oam.wait(&request);
    }
    oam.wait_ok(&shutdown);
    assert_eq!(oam.wait_exit().code(), Some(0));
}

#[test]
fn what_comes_with_shutdown_fails_or_finds_nobody() {
    let mut oam = Oam::start();
    let line =
        |id: &str, method: &str| format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method}));
    // In one piece, so that the later requests are read in any case.
    let all = [
        line("end", "shutdown"),
        line("late", "ping"),
        line("unknown", "nothing"),
        line("again", "shutdown"),
    ]
    .concat();
    for id in ["end", "late", "unknown", "again"] {
        oam.send_opaque(id, "");
    }
    oam.send_bytes(all.as_bytes());
    assert_eq!(oam.wait_ok(&"end".into()), json!({}));
    assert_eq!(oam.wait_exit().code(), Some(0));
    for message in &oam.messages()[1..] {
        assert_eq!(message.value["error"]["data"]["code"], "shut_down", "{}", message.line);
        assert_eq!(message.value["error"]["code"], -32023);
    }
}

#[test]
fn shutdown_may_be_a_notification() {
    let mut oam = Oam::start();
    oam.session("a", [endless()]);
    let turn = oam.start_turn("a", "x");
    oam.notify("shutdown", json!({}));
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    assert_eq!(oam.wait_exit().code(), Some(0));
    assert_eq!(oam.messages().len(), 2);
}

#[test]
fn the_end_of_input_ends_the_program() {
    let mut oam = Oam::start();
    oam.close_input();
    assert_eq!(oam.wait_exit().code(), Some(0));
    assert_eq!(oam.messages().len(), 0);
    assert_eq!(oam.stderr(), "");
}

#[test]
fn work_sent_before_the_end_of_input_is_finished() {
    let mut oam = Oam::start();
    for session in ["a", "b"] {
        oam.request("session/create", json!({"session": session, "model":
            {"type": "scripted", "steps": [{"text": "1", "delayMs": 20}, error("refusal"), {"text": "3", "delayMs": 20}]}}));
    }
    let turns: Vec<_> = (0..3).flat_map(|_| ["a", "b"]).map(|session| oam.start_turn(session, "x")).collect();
    oam.send_bytes(b"no json\n");
    let unknown = oam.request("nothing", json!({}));
    oam.close_input();
    assert_eq!(oam.wait_exit().code(), Some(0));
    let ends: Vec<_> = turns.iter().map(|turn| oam.wait(turn).map(|result| result["text"].clone())).collect();
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 4);
    assert_eq!(oam.wait_fails(&unknown).name, "method_not_found");
    assert_eq!(oam.unaddressed_error().name, "parse_error");
    assert_eq!(oam.open_requests(), 0);
}

#[test]
fn lines_without_a_usable_id_do_not_keep_the_program_alive() {
    let mut oam = Oam::start();
    oam.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n{\"id\":1e99}\n[]\n{\n");
    oam.close_input();
    assert_eq!(oam.wait_exit().code(), Some(0));
    assert_eq!(oam.messages().len(), 4);
}

#[test]
fn a_call_that_can_no_longer_be_answered_ends_with_its_time_limit() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), text("went on")],
        json!({"tools": [tool("look")], "options": {"toolTimeoutSeconds": 0.1}}),
    );
    let turn = oam.start_turn("a", "x");
    oam.tool_call();
    oam.close_input();
    assert_eq!(oam.wait_ok(&turn)["text"], "went on");
    assert_eq!(oam.wait_exit().code(), Some(0));
}
