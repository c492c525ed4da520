//! How much work a check is.

use serde_json::{Map, Value, json};

use super::convert;
use crate::schema::{
    effort::{Looks, TEXT, TooLarge, is_large_for_text, is_large_for_value, is_large_schema},
    reorder::reorder,
    types::Types,
    validate::{too_large, validate},
};

/// A list whose items are one of so many objects, each with so many properties. All begin with the same one, no value
/// of which fits any but the last.
fn list_of_alternatives(alternatives: usize, properties: usize) -> Types {
    let branch = |number: usize| {
        let kind = |property| if property == 0 { json!({"const": number.to_string()}) } else { json!({}) };
        let properties: Map<_, _> = (0..properties).map(|it| (format!("p{it}"), kind(it))).collect();
        json!({"type": "object", "properties": properties})
    };
    let branches: Vec<_> = (1..=alternatives).map(branch).collect();
    let schema = json!({"type": "array", "items": {"anyOf": branches}});
    Types::of(convert(&schema).unwrap().schema.json())
}

/// The fewest looks with which a check comes to its end.
fn looks_for(check: impl Fn(Looks) -> bool) -> usize {
    let (mut few, mut enough) = (0, 100_000);
    while few < enough {
        let looks = usize::midpoint(few, enough);
        if check(Looks::new(looks)) { enough = looks } else { few = looks + 1 }
    }
    enough
}

#[test]
fn each_alternative_of_each_part_is_a_few_looks() {
    let items =
        |count: usize, alternatives: usize| json!(vec![json!({"p0": alternatives.to_string()}); count]);
    for (alternatives, count) in [(2, 1), (2, 50), (10, 50), (100, 5)] {
        let types = list_of_alternatives(alternatives, 3);
        let value = items(count, alternatives);
        let is_checked = |looks| validate(&types, &value, looks).is_ok();
        let is_ordered = |looks| reorder(&types, value.clone(), looks).is_ok();
        let pairs = alternatives * count;
        for looks in [looks_for(is_checked), looks_for(is_ordered)] {
            assert!((pairs..=3 * pairs + 2 * count + 2).contains(&looks), "{pairs}: {looks}");
        }
    }
}

#[test]
fn checking_and_ordering_a_value_share_the_looks() {
    let types = list_of_alternatives(10, 3);
    let value = json!(vec![json!({"p0": "10"}); 10]);
    let looks = looks_for(|looks| reorder(&types, value.clone(), looks).is_ok());
    let both = looks_for(|looks| {
        validate(&types, &value, looks).is_ok_and(|left| reorder(&types, value.clone(), left).is_ok())
    });
    let of_check = looks_for(|looks| validate(&types, &value, looks).is_ok());
    assert_eq!(both, of_check + looks);
}

#[test]
fn a_check_that_takes_too_many_looks_is_given_up_and_so_is_ordering() {
    let types = list_of_alternatives(100, 3);
    let value = json!(vec![json!({"p0": "100"}); 10]);
    assert_eq!(validate(&types, &value, Looks::new(500)), Err(too_large()));
    assert_eq!(reorder(&types, value, Looks::new(500)), Err(TooLarge));
}

#[test]
fn long_texts_and_names_take_more_looks() {
    let choices = |number: usize| json!({"enum": [format!("a{number}"), format!("b{number}")]});
    let branches: Vec<_> = (0..10).map(choices).chain([json!({"type": "object"})]).collect();
    let types = Types::of(convert(&json!({"items": {"anyOf": branches}})).unwrap().schema.json());
    let looks = |value: Value| {
        looks_for(|looks| validate(&types, &value, looks).is_err_and(|reason| reason != too_large()))
    };
    let (short, long) = ("x", "x".repeat(64 * 100));
    assert_eq!(looks(json!([long])) - looks(json!([short])), 10 * 100);
    let types = Types::of(convert(&json!({"properties": {"a": {}}})).unwrap().schema.json());
    let looks = |value: Value| {
        looks_for(|looks| validate(&types, &value, looks).is_err_and(|reason| reason != too_large()))
    };
    assert_eq!(looks(json!({&long: 1})) - looks(json!({short: 1})), 100);
}

#[test]
fn alternatives_parts_and_text_count_together() {
    let list = |parts: usize| json!(vec![0; parts]);
    let text = |looks: usize| json!("x".repeat(TEXT * looks));
    let cases = [
        (1, list(5_000), false),
        (1, list(12_000), true),
        (100, list(80), false),
        (100, list(120), true),
        (20_000, json!(1), true),
        (1, json!(1), false),
        (100, text(80), false),
        (100, text(120), true),
        (1, json!({"x".repeat(TEXT * 12_000): 1}), true),
    ];
    for (alternatives, value, is_large) in cases {
        assert_eq!(is_large_for_value(alternatives, &value), is_large, "{alternatives}");
        // What is text may be anything.
        let text = value.to_string();
        assert!(is_large_for_text(alternatives, &text) || !is_large, "{alternatives}");
    }
    assert!(!is_large_for_text(1, &list(9_000).to_string()));
    assert!(!is_large_schema(&list(4_000)));
    assert!(is_large_schema(&list(6_000)));
}
