//! Ids come back exactly as they were, or the request is refused.

use oam_tests::{
    Id, Oam,
    script::{call, template, tool},
};
use serde_json::{Value, json};

#[test]
fn ids_come_back_as_they_were() {
    let mut oam = Oam::start();
    let cases = [
        ("1", "1"),
        ("0", "0"),
        ("-7", "-7"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("8.0", "8"),
        ("1e3", "1000"),
        ("1.5e1", "15"),
        ("1.5", "1.5"),
        ("-0.25", "-0.25"),
        // Read as a double these are other numbers.
        ("1e-400", "1e-400"),
        ("0.10000000000000001", "0.10000000000000001"),
        ("9007199254740990.9", "9007199254740990.9"),
        ("\"\"", "\"\""),
        ("\"1\"", "\"1\""),
        ("\"9007199254740993\"", "\"9007199254740993\""),
        (r#""a\"b\\c\né""#, r#""a\"b\\c\né""#),
        (r#""\u0041\/""#, r#""A/""#),
    ];
    for (id, echoed) in cases {
        oam.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let value: Value = serde_json::from_str(id).unwrap();
        oam.wait(&Id::of(&value).unwrap()).unwrap();
        let line = &oam.messages().last().unwrap().line;
        assert_eq!(*line, format!(r#"{{"jsonrpc":"2.0","id":{echoed},"result":{{}}}}"#));
    }
}

#[test]
fn numbers_that_cannot_come_back_exactly_are_refused() {
    let mut oam = Oam::start();
    for id in
        ["9007199254740992", "-9007199254740992", "18446744073709551616", "1e16", "1e308", "1e999", "-1e999"]
    {
        oam.send_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").as_bytes());
        let error = oam.unaddressed_error();
        assert_eq!((error.code, error.name.as_str()), (-32600, "invalid_message"), "{id}");
        assert!(error.message.contains("2^53"), "{}", error.message);
    }
    oam.settle();
}

#[test]
fn what_is_neither_text_nor_number_is_no_id() {
    let mut oam = Oam::start();
    for id in ["null", "true", "false", "[]", "[1]", "{}"] {
        for rest in [r#""jsonrpc":"2.0","method":"ping""#, r#""jsonrpc":"2.0","result":{}"#] {
            oam.send_bytes(format!("{{\"id\":{id},{rest}}}\n").as_bytes());
            assert_eq!(oam.unaddressed_error().name, "invalid_message", "{id}");
        }
    }
    oam.settle();
}

#[test]
fn an_id_may_be_used_again_and_again() {
    let mut oam = Oam::start();
    for _ in 0..3 {
        oam.send(&json!({"jsonrpc": "2.0", "id": "same", "method": "ping"}));
    }
    for _ in 0..3 {
        assert_eq!(oam.wait(&"same".into()), Ok(json!({})));
    }
    assert_eq!(oam.open_requests(), 0);
}

#[test]
fn what_a_turn_causes_carries_its_id() {
    let mut oam = Oam::start();
    let ids = ["9007199254740991", "3.0", "0.5", "1E-400", "\"turn\""];
    let steps = ids.iter().flat_map(|_| [call("look", json!({})), template("{toolOutput}")]);
    oam.session_with("s", steps, json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    for (id, echoed) in ids.iter().zip(["9007199254740991", "3", "0.5", "1E-400", "\"turn\""]) {
        let before = oam.messages().len();
        oam.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/respond","params":{{"session":"s","prompt":"","stream":true}}}}"#
        ));
        let value: Value = serde_json::from_str(id).unwrap();
        oam.wait(&Id::of(&value).unwrap()).unwrap();
        let caused = &oam.messages()[before..];
        assert!(caused.len() >= 6, "two steps, a call that starts and completes, text, the answer");
        for message in &caused[..caused.len() - 1] {
            assert!(message.line.contains(&format!("\"requestId\":{echoed},")), "{}", message.line);
        }
    }
}

#[test]
fn a_notified_turn_has_a_null_request_id() {
    let mut oam = Oam::start();
    oam.session_with(
        "s",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"tools": [tool("look")]}),
    );
    oam.notify("session/respond", json!({"session": "s", "prompt": "x", "stream": true}));
    let call = oam.tool_call();
    assert_eq!(call.request_id, Value::Null);
    oam.reply(&call, json!("seen"));
    oam.ok("session/setContextNote", json!({"session": "s"}));
    assert_eq!(oam.listed("s")["entries"], 4);
    assert!(oam.count("session/event") >= 5);
}
