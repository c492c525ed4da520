use proptest::prelude::*;
use serde_json::json;

use super::*;

fn request(id: impl Into<RequestId>, method: &str, params: Option<Value>) -> Incoming {
    Incoming::Request { id: id.into(), method: method.to_owned(), params: Ok(params) }
}

fn notification(method: &str, params: Option<Value>) -> Incoming {
    Incoming::Notification { method: method.to_owned(), params: Ok(params) }
}

fn reply(id: impl Into<RequestId>, reply: ClientReply) -> Incoming {
    Incoming::Reply { id: id.into(), reply }
}

fn parse(line: &str) -> Result<Option<Incoming>, (Option<RequestId>, i64, String)> {
    parse_line(line.as_bytes()).map_err(|rejected| (rejected.id, rejected.error.code, rejected.error.message))
}

#[test]
fn messages_are_told_apart() {
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, request(1, "ping", None)),
        (r#" {"jsonrpc":"2.0","id":1.0,"method":"ping","params":null} "#, request(1, "ping", None)),
        (r#"{"jsonrpc":"2.0","id":1e-400,"id":1E0,"method":"ping","trace":1e400}"#, request(1, "ping", None)),
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"trace\":\"\u{fffd}\",\"\\u0069d\": 10e-1 ,\"method\":\"ping\"}",
            request(1, "ping", None),
        ),
        (r#"{"jsonrpc":"2.0","id":"","method":"ping","params":{}}"#, request("", "ping", Some(json!({})))),
        (r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}"#, request("a", "m", Some(json!([1])))),
        (r#"{"method":"ping","id":1,"jsonrpc":"2.0"}"#, request(1, "ping", None)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":1}"#, request(1, "ping", None)),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, notification("ping", None)),
        (r#"{"jsonrpc":"2.0","method":"ping","error":1}"#, notification("ping", None)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0065sc\",\"m\\u0065thod\":\"session\\/list\"}\r",
            request("esc", "session/list", None),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"t-1","result":{"output":1}}"#,
            reply("t-1", ClientReply::Result(json!({"output": 1}))),
        ),
        (r#"{"jsonrpc":"2.0","id":"t-1","result":null}"#, reply("t-1", ClientReply::Result(Value::Null))),
        (
            r#"{"jsonrpc":"2.0","id":"t-1","error":{"code":-1,"message":"stuck"}}"#,
            reply("t-1", ClientReply::Error { message: Some("stuck".to_owned()) }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"t-1","result":1,"error":null}"#,
            reply("t-1", ClientReply::Error { message: None }),
        ),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"message":5}}"#, reply(7, ClientReply::Error { message: None })),
    ];
    for (line, message) in cases {
        assert_eq!(parse(line), Ok(Some(message)), "{line}");
    }
}

#[test]
fn what_is_no_message_is_rejected_with_the_id_it_has() {
    let id = |id: u32| Some(RequestId::from(id));
    let too_large =
        "A numeric 'id' must be an integer of at most 2^53-1 in magnitude; use a string id instead.";
    let wrong_id = "'id' must be a string or a number.";
    let version = "'jsonrpc' must be \"2.0\".";
    let method = "'method' must be a non-empty string.";
    let neither = "A message needs a 'method', or an 'id' with a 'result' or an 'error'.";
    let cases = [
        ("[]", None, "Batch requests are not supported; send one message per line."),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            None,
            "Batch requests are not supported; send one message per line.",
        ),
        ("1", None, "A JSON-RPC message must be an object."),
        ("null", None, "A JSON-RPC message must be an object."),
        ("\"ping\"", None, "A JSON-RPC message must be an object."),
        ("{}", None, version),
        (r#"{"id":1,"method":"ping"}"#, id(1), version),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, id(1), version),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, id(1), version),
        (r#"{"jsonrpc":["2.0"],"id":1,"method":"ping"}"#, id(1), version),
        (r#"{"jsonrpc":"1.0","id":{},"method":"ping"}"#, None, version),
        (r#"{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":-1e300,"method":"ping"}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","\u0069d":9007199254740992.0}"#, None, too_large),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None, wrong_id),
        (r#"{"jsonrpc":"2.0","id":true,"method":""}"#, None, wrong_id),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, None, wrong_id),
        (r#"{"jsonrpc":"2.0","id":{"x":1},"result":1}"#, None, wrong_id),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, id(1), method),
        (r#"{"jsonrpc":"2.0","id":1,"method":null,"result":1}"#, id(1), method),
        (r#"{"jsonrpc":"2.0","method":""}"#, None, method),
        (r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#, id(1), method),
        (r#"{"jsonrpc":"2.0","id":1}"#, id(1), neither),
        (r#"{"jsonrpc":"2.0","result":1}"#, None, neither),
        (r#"{"jsonrpc":"2.0"}"#, None, neither),
    ];
    for (line, id, message) in cases {
        assert_eq!(parse(line), Err((id, -32600, message.to_owned())), "{line}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error_wherever_it_stands() {
    let lines = [
        "hello",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","trace":"\ud83d"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","trace":{"\ude00":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","\ude00":1}"#,
        r#"["\ud83d"]"#,
        "[1,]",
    ];
    for line in lines {
        let (id, code, message) = parse(line).expect_err(line);
        assert_eq!((id, code), (None, -32700), "{line}");
        assert!(message.starts_with("Invalid JSON at byte "), "{message}");
    }
}

#[test]
fn of_duplicate_members_the_last_wins() {
    let line =
        r#"{"jsonrpc":"1.0","id":1,"method":7,"params":1,"jsonrpc":"2.0","id":"a","method":"m","params":{}}"#;
    assert_eq!(parse(line), Ok(Some(request("a", "m", Some(json!({}))))));
    let line = r#"{"jsonrpc":"2.0","id":1,"id":null,"method":"m"}"#;
    assert!(parse(line).is_err());
}

#[test]
fn unknown_members_are_ignored() {
    let line = r#"{"trace":{"a":[1,2,{"b":null}]},"jsonrpc":"2.0","id":1,"method":"ping","meta":1e999}"#;
    assert_eq!(parse(line), Ok(Some(request(1, "ping", None))));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_line(&line);
    }

    #[test]
    fn no_damage_to_a_message_makes_the_parser_panic(at in 0_usize..80, byte in any::<u8>(), cut in 0_usize..80) {
        let mut line = br#"{"jsonrpc":"2.0","id":-1.5e3,"method":"m\u00e9","params":{"a":["\ud83d\ude00"]}}"#.to_vec();
        line[at] = byte;
        let _ = parse_line(&line);
        let _ = parse_line(&line[..cut]);
    }

    #[test]
    fn ids_come_back_as_they_were_sent(
        id in prop_oneof![
            any::<String>().prop_map(Value::from),
            (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
            (-1e15..1e15_f64).prop_map(Value::from),
        ],
        literal in proptest::option::of("-?0\\.[1-9]{20,40}(E-[1-9][0-9]{0,3})?"),
    ) {
        // More digits than doubles are written with.
        let id_text = literal.unwrap_or_else(|| oam_agent::json_text::compact(&id));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id_text},"method":"ping"}}"#);
        match parse_line(line.as_bytes()) {
            Ok(Some(Incoming::Request { id, .. })) => prop_assert_eq!(oam_agent::json_text::compact(&id), id_text),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
