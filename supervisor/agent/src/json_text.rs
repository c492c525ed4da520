//! JSON as text, in the one form that `oam` writes everywhere (docs/PROTOCOL.md, Framing).
//!
//! Integral numbers are plain digits (`42.0` is `42`, `1e3` is `1000`), other numbers have the shortest form that
//! reads back the same, and the line separators U+2028 and U+2029 are escaped so that no reader splits a line at
//! them.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use unicode_segmentation::UnicodeSegmentation;

/// Numbers of at least this magnitude keep their exponent form; below it an `f64` converts to `i64` exactly.
const PLAIN_DIGITS_BELOW: f64 = 9.2e18;

/// How deep a value that a model made may nest. A transcript that holds it nests deeper, and must be readable by whoever
/// reads no more than 100 levels.
pub(crate) const MAX_VALUE_DEPTH: usize = 64;

/// Whether arrays and objects nest deeper in a value than `limit`, 0 for none. Looks no deeper than that.
pub fn nests_deeper(value: &Value, limit: usize) -> bool {
    let (Value::Array(_) | Value::Object(_)) = value else { return false };
    let Some(limit) = limit.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| nests_deeper(item, limit)),
        Value::Object(members) => members.values().any(|member| nests_deeper(member, limit)),
        _ => false,
    }
}

/// Writes JSON the way `oam` writes it, without white space.
#[derive(Debug, Default, Clone, Copy)]
pub struct WireFormatter;

impl Formatter for WireFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "integral and within the range of i64")]
        if value.fract() == 0.0 && value.abs() < PLAIN_DIGITS_BELOW {
            CompactFormatter.write_i64(writer, value as i64)
        } else {
            CompactFormatter.write_f64(writer, value)
        }
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        if bytes.is_ascii() {
            return writer.write_all(bytes);
        }
        // Both separators are E2 80 A8/A9 in UTF-8; text without that first byte needs no closer look.
        let mut written = 0;
        for at in memchr::memchr_iter(0xE2, bytes) {
            let escape: &[u8] = match bytes[at..] {
                [_, 0x80, 0xA8, ..] => b"\\u2028",
                [_, 0x80, 0xA9, ..] => b"\\u2029",
                _ => continue,
            };
            writer.write_all(&bytes[written..at])?;
            writer.write_all(escape)?;
            written = at + 3;
        }
        writer.write_all(&bytes[written..])
    }
}

/// The same with line ends and indentation.
#[derive(Default)]
struct PrettyWireFormatter(PrettyFormatter<'static>);

macro_rules! lay_out {
    ($($method:ident($($argument:ident: $type:ty)?)),* $(,)?) => {$(
        fn $method<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.0.$method(writer $(, $argument)?)
        }
    )*};
}

/// The layout is that of `PrettyFormatter`, numbers and texts are ours.
impl Formatter for PrettyWireFormatter {
    lay_out! {
        begin_array(), end_array(), begin_array_value(first: bool), end_array_value(),
        begin_object(), end_object(), begin_object_key(first: bool), begin_object_value(), end_object_value(),
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        WireFormatter.write_f64(writer, value)
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        WireFormatter.write_string_fragment(writer, fragment)
    }
}

/// Appends `value` to `out`.
///
/// # Panics
/// If the value's own `Serialize` fails, which those of this project never do.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    value
        .serialize(&mut serde_json::Serializer::with_formatter(out, WireFormatter))
        .expect("writing to memory cannot fail");
}

/// `value` as compact JSON text.
///
/// # Panics
/// As [`write()`] does.
pub fn compact<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    String::from_utf8(out).expect("JSON text is UTF-8")
}

/// `value` as JSON text for people: two blanks for each level, one member a line.
///
/// # Panics
/// As [`write()`] does.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::new();
    let formatter = PrettyWireFormatter::default();
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter))
        .expect("writing to memory cannot fail");
    String::from_utf8(out).expect("JSON text is UTF-8")
}

/// `value` as an error message shows it: its compact JSON text, cut to 80 characters.
///
/// # Panics
/// As [`write()`] does.
pub fn abridged<T: Serialize + ?Sized>(value: &T) -> String {
    const LONGEST: usize = 80;
    const ELLIPSIS: &str = "...";
    let mut text = compact(value);
    if text.grapheme_indices(true).nth(LONGEST).is_some() {
        let cut = text.grapheme_indices(true).nth(LONGEST - ELLIPSIS.len()).map_or(0, |(at, _)| at);
        text.truncate(cut);
        text.push_str(ELLIPSIS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{abridged, compact, nests_deeper};
    use serde_json::{Value, json};

    #[test]
    fn how_deep_a_value_nests_is_told() {
        let deep = (0..4).fold(json!(1), |value, _| json!({"a": [value]}));
        assert!(nests_deeper(&deep, 7) && !nests_deeper(&deep, 8));
        assert!(!nests_deeper(&Value::Null, 0) && nests_deeper(&json!([]), 0));
    }

    #[test]
    fn numbers_are_plain_digits_where_they_are_integral() {
        let cases = [
            (json!(42.0), "42"),
            (json!(-0.0), "0"),
            (json!(1e3), "1000"),
            (json!(-0.5), "-0.5"),
            (json!(0.1), "0.1"),
            (json!(1e15), "1000000000000000"),
            (json!(9_007_199_254_740_991_i64), "9007199254740991"),
            (json!(1e300), "1e+300"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(-f64::MAX), "-1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(compact(&value), text);
        }
    }

    #[test]
    fn text_for_people_has_the_same_numbers_and_escapes() {
        let value = json!({"a": [1.0, "\u{2028}"], "b": {}});
        let text = "{\n  \"a\": [\n    1,\n    \"\\u2028\"\n  ],\n  \"b\": {}\n}";
        assert_eq!(super::pretty(&value), text);
    }

    #[test]
    fn line_separators_and_controls_are_escaped() {
        assert_eq!(
            compact("a\u{2028}b\u{2029}\n\u{1}\u{8}/é\u{2030}"),
            "\"a\\u2028b\\u2029\\n\\u0001\\b/é\u{2030}\""
        );
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let text = |count| "👩‍👩‍👧".repeat(count);
        assert_eq!(abridged(&text(78)), format!("\"{}\"", text(78)));
        assert_eq!(abridged(&text(79)), format!("\"{}...", text(76)));
    }
}
