use std::thread;

use serde_json::{Map, Value, json};

use super::convert;

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    convert(schema).unwrap().schema.validate(value)
}

fn act() -> Value {
    json!({
        "type": "object",
        "properties": {
            "choice": {"type": "string", "enum": ["sell", "refuse"]},
            "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
            "price": {"type": ["number", "null"], "maximum": 9.5},
            "targets": {"type": "array", "minItems": 1, "maxItems": 2, "items": {
                "type": "object", "title": "Target", "properties": {"name": {"type": "string"}}, "required": ["name"],
            }},
            "then": {"anyOf": [{"type": "object", "title": "Attack", "properties": {"who": {"type": "string"}}}, {"const": "wait"}, {"type": "integer"}]},
            "kind": {"const": "fixed"},
        },
        "required": ["choice", "confidence"],
    })
}

#[test]
fn fitting_values_fit() {
    let cases = [
        json!({"choice": "sell", "confidence": 3.0}),
        json!({"confidence": 100, "choice": "refuse", "price": null, "targets": null, "then": null, "kind": null}),
        json!({"choice": "sell", "confidence": 0, "price": -1e300, "targets": [{"name": ""}], "kind": "fixed"}),
        json!({"choice": "sell", "confidence": 0, "then": {"who": "x"}}),
        json!({"choice": "sell", "confidence": 0, "then": "wait"}),
    ];
    for value in cases {
        assert_eq!(check(&act(), &value), Ok(()), "{value}");
    }
}

#[test]
fn what_does_not_fit_is_one_sentence_with_the_place() {
    let cases = [
        (json!("x"), r#"The value must be an object, not "x"."#),
        (json!({"confidence": 5}), "'choice' is required but missing."),
        (json!({"choice": null, "confidence": 5}), r#"'choice' must be one of "sell", "refuse", not null."#),
        (
            json!({"choice": "buy", "confidence": 5}),
            r#"'choice' must be one of "sell", "refuse", not "buy"."#,
        ),
        (json!({"choice": "sell", "confidence": "high"}), r#"'confidence' must be an integer, not "high"."#),
        (json!({"choice": "sell", "confidence": 0.5}), "'confidence' must be an integer, not 0.5."),
        (json!({"choice": "sell", "confidence": -1}), "'confidence' must be at least 0, not -1."),
        (json!({"choice": "sell", "confidence": 101.0}), "'confidence' must be at most 100, not 101."),
        (json!({"choice": "sell", "confidence": 1, "price": 10}), "'price' must be at most 9.5, not 10."),
        (json!({"choice": "sell", "confidence": 1, "bogus": 1}), "'bogus' is not a known property."),
        (
            json!({"choice": "sell", "confidence": 1, "targets": []}),
            "'targets' must have at least 1 item, not 0.",
        ),
        (
            json!({"choice": "sell", "confidence": 1, "targets": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
            "'targets' must have at most 2 items, not 3.",
        ),
        (
            json!({"choice": "sell", "confidence": 1, "targets": [{"name": "a"}, {"name": true}]}),
            "'targets[1].name' must be a string, not true.",
        ),
        (
            json!({"choice": "sell", "confidence": 1, "targets": [{}]}),
            "'targets[0].name' is required but missing.",
        ),
        (
            json!({"choice": "sell", "confidence": 1, "then": {"whom": 1}}),
            r#"'then' must fit one of the types Attack, "wait", integer; {"whom":1} fits none."#,
        ),
        (json!({"choice": "sell", "confidence": 1, "kind": "x"}), r#"'kind' must be "fixed", not "x"."#),
    ];
    for (value, text) in cases {
        assert_eq!(check(&act(), &value), Err(text.to_owned()), "{value}");
    }
}

#[test]
fn what_is_only_described_never_fails() {
    let schema = json!({"type": "object", "minProperties": 9, "properties": {
        "a": {"type": "string", "pattern": "^x$", "format": "date", "minLength": 9},
        "b": {"enum": [1, 5]},
        "c": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 2},
        "d": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
        "e": {"type": "integer", "const": 5},
    }});
    assert_eq!(check(&schema, &json!({"a": "y", "b": 3, "c": 0, "d": ["a", "a"], "e": 6})), Ok(()));
}

#[test]
fn faults_are_short_whatever_the_value() {
    let long = "ü".repeat(100_000);
    let schema =
        json!({"properties": {&long: {"properties": {&long: {"enum": [long, "b"]}}}, "v": {"type": "null"}}});
    let values = [json!({"v": &long}), json!({&long: {&long: {&long: 1}}}), json!({format!("{long}!"): 1})];
    for value in values {
        let text = check(&schema, &value).unwrap_err();
        assert!(text.chars().count() < 700, "{}", text.chars().count());
    }
}

#[test]
fn any_name_can_be_referred_to() {
    for name in ["Tür", "漢字", "a b", "a/b", "50%", "x\"y", "e\u{301}"] {
        let schema = json!({"properties": {"v": {"type": "object", "title": name, "required": ["a"], "properties": {"a": {"type": "string"}}}}});
        assert_eq!(check(&schema, &json!({"v": {"a": "x"}})), Ok(()), "{name}");
        assert_eq!(check(&schema, &json!({"v": {}})), Err("'v.a' is required but missing.".into()), "{name}");
    }
}

#[test]
fn recursive_types_are_checked_on_a_small_stack() {
    let schema = json!({
        "title": "Expr",
        "anyOf": [
            {"type": "integer"},
            {"type": "object", "title": "Add", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
            {"type": "object", "title": "Sub", "properties": {"a": {"$ref": "#"}, "c": {"$ref": "#"}}},
        ],
    });
    let list =
        json!({"properties": {"next": {"$ref": "#"}, "items": {"type": "array", "items": {"$ref": "#"}}}});
    let nested = |key: &str, depth: usize, end: Value| (0..depth).fold(end, |inner, _| json!({key: inner}));
    let work = move || {
        let schema = convert(&schema).unwrap().schema;
        assert_eq!(schema.validate(&nested("a", 100, json!(1))), Ok(()));
        assert!(schema.validate(&nested("a", 100, json!("x"))).is_err());
        let list = convert(&list).unwrap().schema;
        assert_eq!(list.validate(&nested("next", 100, json!({}))), Ok(()));
        assert!(
            list.validate(&nested("next", 100, json!(1))).unwrap_err().ends_with("must be an object, not 1.")
        );
        let deep = list.validate(&nested("next", 1000, json!({}))).unwrap_err();
        assert_eq!(deep, "The value must not nest more than 128 levels deep.");
    };
    thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn clones_share_the_compiled_check_between_threads() {
    let schema = convert(&act()).unwrap().schema;
    thread::scope(|scope| {
        for _ in 0..4 {
            let schema = schema.clone();
            scope
                .spawn(move || assert!(schema.validate(&json!({"choice": "sell", "confidence": 1})).is_ok()));
        }
    });
}

#[test]
fn plain_roots_are_checked_too() {
    assert_eq!(check(&json!({"enum": ["a", "b"]}), &json!("a")), Ok(()));
    assert!(check(&json!({"enum": ["a", "b"]}), &json!("c")).is_err());
    assert_eq!(check(&json!({"items": {"type": "object"}}), &json!([{}])), Ok(()));
    assert_eq!(
        check(&json!({"items": {"type": "object"}}), &json!([1])),
        Err("'[0]' must be an object, not 1.".into())
    );
}

#[test]
fn the_widest_object_is_checked_in_a_moment() {
    let names: Vec<_> = (0..9_000).map(|number| format!("member_{number}")).collect();
    let all =
        |value: Value| -> Map<_, _> { names.iter().map(|name| (name.clone(), value.clone())).collect() };
    let schema = json!({"type": "object", "properties": all(json!({"type": "integer"})), "required": names});
    let schema = convert(&schema).unwrap().schema;
    let mut members = all(json!(1));
    assert_eq!(schema.validate(&Value::Object(members.clone())), Ok(()));
    members.remove("member_8999");
    let missing = "'member_8999' is required but missing.".to_owned();
    assert_eq!(schema.validate(&Value::Object(members)), Err(missing));
}

/// Types of which each is a choice between objects that have the next one as their `a`. No choice can be ruled out by what else
/// there is.
fn choices_within_choices(levels: usize, branches: usize, last: &str) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        let next = if level + 1 == levels { last.to_owned() } else { format!("#/$defs/U{}", level + 1) };
        let branch = |number: usize| {
            let properties = json!({"a": {"$ref": next}, format!("b{number}"): {"type": "integer"}});
            json!({"type": "object", "title": format!("B{level}_{number}"), "properties": properties})
        };
        let branches: Vec<_> = (0..branches).map(branch).collect();
        definitions.insert(format!("U{level}"), json!({"anyOf": branches}));
    }
    definitions.insert("End".into(), json!({"type": "object", "properties": {"z": {"type": "integer"}}}));
    json!({"$ref": "#/$defs/U0", "$defs": definitions})
}

#[test]
fn choices_within_choices_do_not_multiply() {
    for (levels, branches, last, depth) in
        [(8, 20, "#/$defs/End", 8), (1, 200, "#/$defs/U0", 60), (3, 20, "#/$defs/U0", 60)]
    {
        let schema = choices_within_choices(levels, branches, last);
        let nested = |end: Value| (0..depth).fold(end, |inner, _| json!({"a": inner}));
        let fault = check(&schema, &nested(json!({"z": "x"}))).unwrap_err();
        assert!(fault.starts_with("The value must fit one of the types B0_0, B0_1"), "{fault}");
        assert_eq!(check(&schema, &nested(json!({}))), Ok(()));
    }
}

#[test]
fn numbers_are_compared_exactly() {
    let range =
        |minimum: Value, maximum: Value| json!({"type": "number", "minimum": minimum, "maximum": maximum});
    let large = 9_007_199_254_740_993_i64;
    let cases = [
        (range(json!(large), json!(1e300)), json!(large - 1), false),
        (range(json!(large), json!(1e300)), json!(large), true),
        (range(json!(large), json!(1e300)), json!(9_007_199_254_740_992.0), false),
        (range(json!(large), json!(1e300)), json!(u64::MAX), true),
        (range(json!(large), json!(1e300)), json!(2e300), false),
        (range(json!(-1e300), json!(0.1)), json!(0.1), true),
        (range(json!(-1e300), json!(0.1)), json!(0), true),
        (range(json!(-1e300), json!(0.1)), json!(0.11), false),
    ];
    for (schema, value, fits) in cases {
        assert_eq!(check(&schema, &value).is_ok(), fits, "{schema} {value}");
    }
}
