//! One message a line: what is a message, what is not, and that a bad line never costs more than itself.

use oam_tests::{Oam, script::template};
use serde_json::{Value, json};

/// Sends a line that is no message; returns the code of the error, which answers no request.
fn refused(oam: &mut Oam, line: &[u8]) -> String {
    oam.send_bytes(line);
    oam.send_bytes(b"\n");
    let error = oam.unaddressed_error();
    assert_eq!(oam.ok("ping", json!({})), json!({}), "service goes on");
    error.name
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    let mut oam = Oam::start();
    let lines: &[&[u8]] = &[
        b"hello",
        b"{",
        b"}",
        b"{}}",
        b"\"open",
        b"nul",
        b"True",
        b"NaN",
        b"-",
        b"01",
        b"1.",
        b".5",
        b"+1",
        b"0x10",
        b"1e",
        b"[1,]",
        b"{\"a\":1,}",
        b"{\"a\" 1}",
        b"{a:1}",
        b"{'a':1}",
        b"// a comment",
        b"\"a\tb\"",
        b"\"\\x41\"",
        b"\"\\u12\"",
        b"\"\\ud800\"",
        b"\"\\udc00\"",
        b"\"\\udc00\\ud800\"",
        b"\"\\ud800 and more\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}",
        b"\xff\xfe",
        b"\x00",
        b"{} \xc3\x28",
    ];
    for line in lines {
        assert_eq!(refused(&mut oam, line), "parse_error", "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn what_is_json_but_no_message_is_an_invalid_message() {
    let mut oam = Oam::start();
    let lines = [
        "1",
        "null",
        "true",
        "\"text\"",
        "{}",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","method":"ping"}"#,
        r#"{"jsonrpc":2.0,"method":"ping"}"#,
        r#"{"jsonrpc":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":""}"#,
        r#"{"jsonrpc":"2.0","method":null}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ];
    for line in lines {
        assert_eq!(refused(&mut oam, line.as_bytes()), "invalid_message", "{line}");
    }
}

#[test]
fn an_invalid_message_with_a_usable_id_is_answered_under_that_id() {
    let mut oam = Oam::start();
    let lines = [
        r#"{"id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2","id":"b","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"c"}"#,
        r#"{"jsonrpc":"2.0","id":"d","method":{}}"#,
        r#"{"jsonrpc":"2.0","id":"e","method":""}"#,
        r#"{"jsonrpc":"2.0","id":"f","params":{}}"#,
    ];
    for line in lines {
        let id: Value = serde_json::from_str(line).unwrap();
        oam.send_line(line);
        let error = oam.wait_fails(&id["id"].as_str().unwrap().into());
        assert_eq!((error.code, error.name.as_str()), (-32600, "invalid_message"), "{line}");
    }
}

#[test]
fn a_batch_runs_nothing() {
    let mut oam = Oam::start();
    let create = r#"[{"jsonrpc":"2.0","id":"x","method":"session/create","params":{"session":"a","model":"scripted"}}]"#;
    assert_eq!(refused(&mut oam, create.as_bytes()), "invalid_message");
    assert_eq!(oam.ok("session/list", json!({}))["sessions"], json!([]));
}

#[test]
fn blank_lines_are_ignored() {
    let mut oam = Oam::start();
    for blank in ["", " ", "\t", "\r", "  \t \r"] {
        oam.send_line(blank);
    }
    assert_eq!(oam.settle().len(), 1);
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_tolerated() {
    let mut oam = Oam::start();
    oam.send_line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"bom\",\"method\":\"ping\"}\r");
    assert_eq!(oam.wait(&"bom".into()), Ok(json!({})));
    oam.send_line(" \t{\"jsonrpc\": \"2.0\" , \"id\": \"spaces\", \"method\":\"ping\"} \r");
    assert_eq!(oam.wait(&"spaces".into()), Ok(json!({})));
}

#[test]
fn nesting_is_limited_to_100_levels() {
    let mut oam = Oam::start();
    let nested = |levels: usize| {
        // The message and its params are two levels themselves.
        let inner = format!("{}{}", "[".repeat(levels - 2), "]".repeat(levels - 2));
        format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"ping","params":{{"x":{inner}}}}}"#)
    };
    oam.send_line(&nested(100));
    assert_eq!(oam.wait(&"deep".into()), Ok(json!({})));
    for levels in [101, 150, 5_000, 500_000] {
        assert_eq!(refused(&mut oam, nested(levels).as_bytes()), "parse_error", "{levels} levels");
    }
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        assert_eq!(refused(&mut oam, open.repeat(200_000).as_bytes()), "parse_error");
    }
}

#[test]
fn the_last_of_duplicate_members_counts() {
    let mut oam = Oam::start();
    oam.send_line(
        r#"{"jsonrpc":"1","id":1,"method":"nothing","jsonrpc":"2.0","method":"ping","id":"twice"}"#,
    );
    assert_eq!(oam.wait(&"twice".into()), Ok(json!({})));
}

#[test]
fn params_are_an_object_null_or_absent() {
    let mut oam = Oam::start();
    for params in ["", r#","params":null"#, r#","params":{}"#, r#","params":{"more":1},"trace":[1]"#] {
        oam.send_line(&format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping"{params}}}"#));
        assert_eq!(oam.wait(&"p".into()), Ok(json!({})), "{params}");
    }
    for params in [json!([]), json!("text"), json!(1), json!(false)] {
        assert_eq!(oam.fails("ping", params.clone()).name, "invalid_params", "{params}");
    }
}

#[test]
fn a_message_with_a_method_is_a_request_whatever_else_it_has() {
    let mut oam = Oam::start();
    oam.send_line(r#"{"jsonrpc":"2.0","id":"both","method":"ping","result":{},"error":{}}"#);
    // The monitor takes the same reading: it has a method.
    assert_eq!(oam.wait(&"both".into()), Ok(json!({})));
}

#[test]
fn unknown_methods_are_told_by_name() {
    let mut oam = Oam::start();
    for method in ["nothing", "Ping", "ping ", "session/", "session/createX", "tool/call", "session/event"] {
        let error = oam.fails(method, json!({}));
        assert_eq!((error.code, error.name.as_str()), (-32601, "method_not_found"));
        assert_eq!(error.data["method"], method);
    }
}

#[test]
fn notifications_are_never_answered() {
    let mut oam = Oam::start();
    oam.notify("ping", json!({}));
    oam.notify("nothing", json!({}));
    oam.notify("session/create", json!({"session": 7}));
    oam.notify("session/respond", json!({"session": "none", "prompt": "x"}));
    oam.notify("ping", json!([]));
    assert_eq!(oam.settle().len(), 1);
}

#[test]
fn answers_to_nothing_are_ignored() {
    let mut oam = Oam::start();
    for line in [
        r#"{"jsonrpc":"2.0","id":"t-1","result":{"output":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":"t-1","error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":"","error":null}"#,
    ] {
        oam.send_line(line);
    }
    assert_eq!(oam.settle().len(), 1);
}

#[test]
fn text_survives_both_ways_on_one_line() {
    let mut oam = Oam::start();
    let texts = [
        "\u{0}\u{1}\u{1f}\u{7f}\u{80}",
        "line\nbreak\r\n\ttab \"quotes\" \\ /",
        "\u{2028}\u{2029}\u{feff}\u{fffd}\u{ffff}",
        "Grüße, 日本語, 👩‍👩‍👧‍👦, \u{10ffff}, e\u{301}",
    ];
    oam.session("s", vec![template("<{prompt}>"); texts.len()]);
    for text in texts {
        assert_eq!(oam.turn_with("s", text, json!({"stream": true}))["text"], format!("<{text}>"));
    }
    for message in oam.messages() {
        assert!(!message.line.contains(['\u{2028}', '\u{2029}', '\r']), "{:?}", message.line);
    }
}

#[test]
fn escapes_are_decoded() {
    let mut oam = Oam::start();
    oam.send_line(r#"{"jsonrpc":"2.0","id":"\u0061\/\ud83d\ude00","method":"\u0070ing"}"#);
    assert_eq!(oam.wait(&"a/😀".into()), Ok(json!({})));
}

#[test]
fn broken_utf8_in_a_string_becomes_replacement_characters() {
    let mut oam = Oam::start();
    oam.session("s", [template("{prompt}")]);
    let mut line =
        br#"{"jsonrpc":"2.0","method":"session/respond","params":{"session":"s","prompt":"a"#.to_vec();
    line.extend_from_slice(b"\xffb\xe2\x82c\"}}\n");
    oam.send_bytes(&line);
    // A setting waits for the turn, so its answer tells that the turn is over.
    oam.ok("session/setContextNote", json!({"session": "s"}));
    let entries = oam.entries("s");
    assert_eq!(entries.last().unwrap()["contents"][0]["text"], "a\u{fffd}b\u{fffd}c");
}

#[test]
fn megabytes_go_through() {
    let mut oam = Oam::start();
    oam.session("s", [template("{prompt}")]);
    let long = "0123456789abcdef".repeat(128 * 1024);
    assert_eq!(oam.turn("s", &long)["text"], long);
}

#[test]
fn members_of_a_response_come_in_a_fixed_order() {
    let mut oam = Oam::start();
    oam.settle();
    oam.fails("nothing", json!({}));
    let lines: Vec<_> = oam.messages().iter().map(|message| message.line.as_str()).collect();
    assert_eq!(lines[0], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(
        lines[1].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":""#)
            && lines[1].ends_with(r#""data":{"code":"method_not_found","method":"nothing"}}}"#),
        "{}",
        lines[1]
    );
}
