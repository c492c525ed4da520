//! What stands for numbers beyond the range of doubles while a line is read: a double that is nowhere else in it. So the rest
//! of the line is read as ever, and afterwards it is known where the numbers are.

use std::{collections::HashSet, fmt::Write as _, ops::Range};

use serde::de::IgnoredAny;
use serde_json::Value;

use super::strict_json::end_of_string;

/// A double that is nowhere in a text, and takes the place of the numbers that are beyond the range of doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StandIn(f64);

impl StandIn {
    /// The largest that is left.
    pub(super) fn for_text(text: &str) -> Self {
        const LARGE: f64 = 1e308;
        let doubles = numbers(text).filter_map(|place| text[place].parse::<f64>().ok()).map(f64::abs);
        let taken: HashSet<u64> =
            doubles.filter(|double| (LARGE..f64::INFINITY).contains(double)).map(f64::to_bits).collect();
        let mut free = f64::MAX;
        while taken.contains(&free.to_bits()) {
            free = free.next_down();
        }
        Self(free)
    }

    /// The text with this, of the same sign, in the place of each number beyond the range of doubles.
    pub(super) fn put_into(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for place in numbers(text) {
            let literal = &text[place.clone()];
            let is_out_of_range = literal.parse().is_ok_and(f64::is_infinite)
                && serde_json::from_str::<IgnoredAny>(literal).is_ok();
            if is_out_of_range {
                out.push_str(&text[copied..place.start]);
                let sign = if literal.starts_with('-') { "-" } else { "" };
                // Writing to a text does not fail.
                let _ = write!(out, "{sign}{:e}", self.0);
                copied = place.end;
            }
        }
        out.push_str(&text[copied..]);
        out
    }

    fn place_in(self, value: &Value) -> Option<String> {
        match value {
            Value::Number(number) => number
                .as_f64()
                .is_some_and(|number| number.abs().total_cmp(&self.0).is_eq())
                .then(String::new),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                let within = self.place_in(item)?;
                Some(format!("[{index}]{within}"))
            }),
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let within = self.place_in(member)?;
                Some(format!(".{name}{within}"))
            }),
            Value::Null | Value::Bool(_) | Value::String(_) => None,
        }
    }
}

/// A value has a number beyond the range of doubles: here, as `.members[0]` from the value itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFinite(String);

impl NotFinite {
    /// Where the number is: `.members[0]`; nothing when it is the value itself.
    pub fn place(&self) -> &str {
        &self.0
    }
}

/// The value, unless it was read with a stand-in that is in it.
pub(super) fn finite(stand_in: Option<StandIn>, value: Value) -> Result<Value, NotFinite> {
    match stand_in.and_then(|stand_in| stand_in.place_in(&value)) {
        Some(place) => Err(NotFinite(place)),
        None => Ok(value),
    }
}

/// The places of what begins like a number, outside of strings.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            if byte == b'"' {
                at = end_of_string(bytes, at) + 1;
            } else if byte == b'-' || byte.is_ascii_digit() {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let start = at;
                at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                return Some(start..at);
            } else {
                at += 1;
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::{super::strict_json::read, *};

    /// The first place of a number beyond the range of doubles.
    fn not_finite(line: &str) -> Option<String> {
        let value = read(line.as_bytes(), |deserializer, stand_in| {
            Ok(finite(stand_in, Value::deserialize(deserializer)?))
        });
        value.unwrap().unwrap().err().map(|NotFinite(place)| place)
    }

    #[test]
    fn numbers_beyond_the_range_of_doubles_are_read_and_known() {
        let line = format!("[1e999,-1e999,{},\"1e999 \\\" -1e999\",2]", "9".repeat(400));
        let value =
            read(line.as_bytes(), |deserializer, _| Value::deserialize(deserializer)).unwrap().unwrap();
        assert_eq!(value, json!([f64::MAX, f64::MIN, f64::MAX, "1e999 \" -1e999", 2]));
        assert_eq!(not_finite(&line).as_deref(), Some("[0]"));
        for (line, place) in [
            ("1e400", Some("")),
            ("-1E+400", Some("")),
            // Half a step beyond the largest double is where the range ends.
            ("1.7976931348623159e308", Some("")),
            ("1.797693134862315808e308", Some("")),
            ("1.797693134862315807e308", None),
            ("1.7976931348623157e308", None),
            ("-1.7976931348623157e308", None),
            (r#"{"a":[1,1e308],"b":{"c":[1.7976931348623157e308,1e309]}}"#, Some(".b.c[1]")),
            (r#"{"a":-1.7976931348623157E308,"b":1.7976931348623155e308,"c":1e400}"#, Some(".c")),
            // Of members of one name the last counts.
            (r#"{"a":1e400,"a":1}"#, None),
            (r#"{"a":1,"b":0,"a":1e400}"#, Some(".a")),
            (r#"{"1e400":"1e400","b":[1e308,null,true,{}]}"#, None),
        ] {
            assert_eq!(not_finite(line).as_deref(), place, "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_number_beyond_the_range_is_found_among_all_that_are_not(
            doubles in proptest::collection::vec(
                prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(f64::MAX.next_down()), proptest::num::f64::NORMAL], 0..8,
            ),
            at in any::<prop::sample::Index>(),
            infinite in prop_oneof!["-?1e(309|400|9999999)", "-?9{310}(\\.5)?"],
        ) {
            let mut items: Vec<String> = doubles.iter().map(|double| format!("{double:e}")).collect();
            prop_assert_eq!(not_finite(&format!("[{}]", items.join(","))), None);
            let at = at.index(items.len() + 1);
            items.insert(at, infinite);
            prop_assert_eq!(not_finite(&format!("[{}]", items.join(", "))), Some(format!("[{at}]")));
        }
    }
}
