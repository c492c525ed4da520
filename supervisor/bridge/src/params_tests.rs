use proptest::prelude::*;
use serde_json::json;

use super::*;

fn params(value: Value) -> Params<'static> {
    Params::new(Some(value)).unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T, BridgeError>) -> String {
    let error = result.unwrap_err();
    assert_eq!((error.code, &*error.name), (-32602, "invalid_params"));
    error.message
}

#[test]
fn absent_params_are_an_empty_object() {
    for absent in [None, Some(Value::Null), Some(json!({}))] {
        assert!(Params::new(absent).unwrap().members().is_empty());
    }
    for other in [json!([]), json!("x"), json!(1)] {
        assert_eq!(message(Params::new(Some(other))), "params must be an object.");
    }
}

#[test]
fn a_null_member_is_absent_but_seen_raw() {
    let params = params(json!({"x": null}));
    assert!(params.has("x") && !params.has("y"));
    assert_eq!((params.raw("x"), params.get("x")), (Some(&Value::Null), None));
    assert_eq!(params.optional_string("x").unwrap(), None);
    assert_eq!(params.optional_bool("x").unwrap(), None);
    assert_eq!(params.optional_integer("x", 0).unwrap(), None);
    assert_eq!(params.optional_number("x", 0.0).unwrap(), None);
    assert_eq!(params.optional_seconds("x").unwrap(), None);
    assert_eq!(params.optional_array("x").unwrap(), None);
    assert_eq!(params.optional_strings("x").unwrap(), None);
    assert_eq!(params.optional_object("x").unwrap(), None);
    assert_eq!(params.optional_client_id("x").unwrap(), None);
}

#[test]
fn required_members_are_missed_by_name() {
    let params = params(json!({"options": {"x": null}}));
    let options = params.object("options").unwrap();
    let expected = "Missing required parameter 'options.x'.";
    assert_eq!(message(options.value("x")), expected);
    assert_eq!(message(options.string("x")), expected);
    assert_eq!(message(options.bool("x")), expected);
    assert_eq!(message(options.integer("x", 0)), expected);
    assert_eq!(message(options.array("x")), expected);
    assert_eq!(message(options.object("x")), expected);
    assert_eq!(message(params.string("y")), "Missing required parameter 'y'.");
}

#[test]
fn members_of_another_type_are_shown() {
    let long = "x".repeat(100);
    let cut = format!("\"{}...", "x".repeat(76));
    let cases = [
        (json!(5), "5"),
        (json!(5.0), "5"),
        (json!(0.5), "0.5"),
        (json!(true), "true"),
        (json!("5"), "\"5\""),
        (json!({"a": [1.0]}), "{\"a\":[1]}"),
        (json!(long), &cut),
    ];
    for (value, shown) in cases {
        let params = params(json!({"x": value}));
        let expect = |kind: &str| format!("Parameter 'x' must be {kind}; got {shown}.");
        if !value.is_string() {
            assert_eq!(message(params.string("x")), expect("a string"));
        }
        if !value.is_boolean() {
            assert_eq!(message(params.bool("x")), expect("a boolean"));
        }
        if value != json!(5) && value != json!(5.0) {
            assert_eq!(message(params.integer("x", 0)), expect("an integer"));
        }
        if !value.is_number() {
            assert_eq!(message(params.optional_number("x", 0.0)), expect("a number"));
            let seconds = "a number of seconds from 0 to 86400 (0 means no limit)";
            assert_eq!(message(params.optional_seconds("x")), expect(seconds));
        }
        if !value.is_object() {
            assert_eq!(message(params.object("x")), expect("an object"));
        }
        assert_eq!(message(params.array("x")), expect("an array"));
    }
}

#[test]
fn integers_may_be_written_with_fraction_or_exponent() {
    for (text, expected) in
        [("3", 3), ("3.0", 3), ("3e1", 30), ("-0.0", 0), ("9007199254740991", 9_007_199_254_740_991)]
    {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(params(json!({"n": value})).integer("n", i64::MIN).unwrap(), expected, "{text}");
    }
    for text in ["1.5", "9007199254740992", "18446744073709551615", "1e300", "\"3\"", "true"] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert!(params(json!({"n": value})).integer("n", i64::MIN).is_err(), "{text}");
    }
}

#[test]
fn ranges_include_their_ends() {
    let params = params(json!({"n": 3, "p": 0.5, "options": {"n": -1}}));
    assert_eq!(params.optional_integer_in("n", 3, 3).unwrap(), Some(3));
    assert_eq!(message(params.integer("n", 4)), "Parameter 'n' must be at least 4.");
    assert_eq!(message(params.optional_integer_in("n", 0, 2)), "Parameter 'n' must be at most 2.");
    assert_eq!(params.optional_number_in("p", 0.5, 0.5).unwrap(), Some(0.5));
    assert_eq!(message(params.optional_number("p", 1.0)), "Parameter 'p' must be at least 1.");
    assert_eq!(message(params.optional_number_in("p", 0.0, 0.25)), "Parameter 'p' must be at most 0.25.");
    let options = params.object("options").unwrap();
    assert_eq!(message(options.integer("n", 0)), "Parameter 'options.n' must be at least 0.");
}

fn received(params: &str) -> Result<Params<'static>, BridgeError> {
    let line = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
    let incoming = crate::message::parse_line(line.as_bytes()).unwrap().unwrap();
    let crate::message::Incoming::Notification { params, .. } = incoming else { panic!("{incoming:?}") };
    Params::of_request(params)
}

#[test]
fn no_parameter_holds_a_number_beyond_the_range_of_doubles() {
    for (infinite, place) in [
        (r#"{"n":1e400}"#, "n"),
        (r#"{"x":1,"n":-1e400}"#, "n"),
        (r#"{"value":{"hp":[1.7976931348623157e308,1e400]}}"#, "value.hp[1]"),
    ] {
        let expected = format!("Parameter '{place}' must be a finite number.");
        assert_eq!(message(received(infinite)), expected);
    }
    for wrong in ["1e400", "[1e400]", "[1]"] {
        assert_eq!(message(received(wrong)), "params must be an object.");
    }
    for largest in [r#"{"n":1.7976931348623157e308}"#, r#"{"n":-1.7976931348623157e308}"#] {
        assert_eq!(
            received(largest).unwrap().optional_number("n", f64::MIN).unwrap().map(f64::abs),
            Some(f64::MAX)
        );
    }
}

#[test]
fn seconds_are_rounded_to_milliseconds_and_zero_is_no_limit() {
    let millis = |millis| Some(TimeLimit::After(Duration::from_millis(millis)));
    let cases = [
        (json!(0), Some(TimeLimit::Never)),
        (json!(-0.0), Some(TimeLimit::Never)),
        (json!(0.2), millis(200)),
        (json!(1.0006), millis(1001)),
        (json!(0.000_01), millis(1)),
        (json!(86_400), millis(86_400_000)),
    ];
    for (value, limit) in cases {
        assert_eq!(params(json!({"t": value})).optional_seconds("t").unwrap(), limit, "{value}");
    }
    for bad in [json!(-1), json!(86_400.5), json!("1"), json!([])] {
        assert!(params(json!({"t": bad})).optional_seconds("t").is_err(), "{bad}");
    }
    assert_eq!(TimeLimit::Never.duration(), None);
}

#[test]
fn elements_and_nested_objects_are_named_by_their_path() {
    let params = params(json!({"enabledTools": ["a", 5], "tools": [{"name": 1}, 2]}));
    assert_eq!(
        message(params.optional_strings("enabledTools")),
        "Parameter 'enabledTools[1]' must be a string; got 5."
    );
    let tools = params.array("tools").unwrap();
    let tool = Params::at("tools[0]", &tools[0]).unwrap();
    assert_eq!(message(tool.string("name")), "Parameter 'tools[0].name' must be a string; got 1.");
    assert_eq!(message(Params::at("tools[1]", &tools[1])), "Parameter 'tools[1]' must be an object; got 2.");
    assert_eq!(tool.path("parameters"), "tools[0].parameters");
}

#[test]
fn a_list_of_texts_keeps_its_order() {
    let params = params(json!({"enabledTools": ["b", "a", "b"], "none": []}));
    assert_eq!(params.optional_strings("enabledTools").unwrap(), Some(vec!["b", "a", "b"]));
    assert_eq!(params.optional_strings("none").unwrap(), Some(vec![]));
}

#[test]
fn unknown_members_are_warned_of_in_the_order_sent() {
    let params = params(json!({"z": 1, "session": "s", "a": null, "options": {"b": 1, "temperature": 0}}));
    let warnings = params.unknown_members(&["session", "options"]);
    assert_eq!(warnings, ["Unknown parameter 'z' was ignored.", "Unknown parameter 'a' was ignored."]);
    let options = params.object("options").unwrap();
    assert_eq!(options.unknown_members(&["temperature"]), ["Unknown parameter 'options.b' was ignored."]);
}

#[test]
fn ids_are_printable_and_not_too_long() {
    let family = "👨\u{200d}👩\u{200d}👧";
    let accents = "e\u{301}".repeat(128);
    for good in ["a", "häuptling 1", "🧙", " ", &"x".repeat(128), &accents] {
        assert_eq!(params(json!({"id": good})).optional_client_id("id").unwrap(), Some(good));
    }
    for bad in ["", "a\nb", "\u{7f}", "\u{200b}", family, "\u{feff}a", &"x".repeat(129)] {
        assert_eq!(
            message(params(json!({"id": bad})).optional_client_id("id")),
            "Parameter 'id' must be 1 to 128 characters without control or format characters."
        );
    }
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_come_out_as_they_went_in(value in json_values()) {
        let params = received(&json_text::compact(&json!({"x": value}))).unwrap();
        prop_assert_eq!(json_text::compact(params.raw("x").unwrap()), json_text::compact(&value));
    }

    #[test]
    fn no_value_makes_an_accessor_panic(value in json_values()) {
        let params = params(json!({"x": value}));
        let _ = (params.optional_string("x"), params.optional_bool("x"), params.optional_integer("x", 0));
        let _ = (params.optional_number("x", 0.0), params.optional_seconds("x"), params.optional_strings("x"));
        let _ = (params.optional_object("x"), params.optional_client_id("x"), params.unknown_members(&[]));
    }
}
