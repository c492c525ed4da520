//! Reading one line as strict JSON, with the few things that the protocol forgives.
//!
//! * One byte order mark may stand before each message: a client that writes one per write does no harm.
//! * Bytes that are not UTF-8 become U+FFFD, which is text within strings and a syntax error elsewhere.
//! * A number beyond the range of doubles is read as a [stand-in](StandIn), so that the rest of the message can be told, and
//!   where the number is. Lines without such numbers pay nothing for that.
//! * More than [`MAX_DEPTH`] nested arrays and objects are an error, so that nothing that walks a value runs
//!   deep.

use std::borrow::Cow;

use serde_json::{Deserializer, de::StrRead};

use super::stand_in::StandIn;

/// How many arrays and objects may be nested, the message itself included.
const MAX_DEPTH: usize = 100;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads a line with `parse`; `None` when it is blank. The error is a sentence that says where the line stops
/// being JSON.
///
/// `parse` is run a second time where numbers had to be brought into range; then it is told what stands in for them.
pub(super) fn read<T>(
    line: &[u8],
    mut parse: impl FnMut(&mut Deserializer<StrRead<'_>>, Option<StandIn>) -> serde_json::Result<T>,
) -> Result<Option<T>, String> {
    let (line, skipped) = match line.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (rest, BYTE_ORDER_MARK.len()),
        None => (line, 0),
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(line),
    };
    if text.trim_start().is_empty() {
        return Ok(None);
    }
    let invalid = |at: usize, what: &str| format!("Invalid JSON at byte {}: {what}", at + skipped);
    if let Some(at) = first_bracket_too_deep(text.as_bytes()) {
        return Err(invalid(at, &format!("more than {MAX_DEPTH} nested arrays and objects")));
    }
    let mut parse_all = |text: &str, stand_in| {
        let mut deserializer = Deserializer::from_str(text);
        let value = parse(&mut deserializer, stand_in)?;
        deserializer.end()?;
        Ok(value)
    };
    let error: serde_json::Error = match parse_all(&text, None) {
        Ok(value) => return Ok(Some(value)),
        Err(error) => error,
    };
    let (error, text) = if error.to_string().starts_with("number out of range") {
        let stand_in = StandIn::for_text(&text);
        let bounded = stand_in.put_into(&text);
        match parse_all(&bounded, Some(stand_in)) {
            Ok(value) => return Ok(Some(value)),
            Err(error) => (error, Cow::Owned(bounded)),
        }
    } else {
        (error, text)
    };
    Err(invalid(error_offset(&text, &error), &error_text(&error)))
}

/// The place of the first bracket beyond the depth limit. Brackets within strings do not count.
fn first_bracket_too_deep(text: &[u8]) -> Option<usize> {
    // Most lines are too short, or have too few brackets, to need a closer look.
    if text.len() <= MAX_DEPTH || memchr::memchr2_iter(b'[', b'{', text).nth(MAX_DEPTH).is_none() {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the quote that ends the string begun at `start`, or the end of the text.
pub(super) fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}

fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.len();
    }
    // Lines and columns count from 1. A message has one line unless a host passes one with line breaks in it.
    let line_start = match error.line().checked_sub(2) {
        Some(breaks) => memchr::memchr_iter(b'\n', text.as_bytes()).nth(breaks).map_or(0, |at| at + 1),
        None => 0,
    };
    line_start + error.column().saturating_sub(1)
}

/// What is wrong, without the place.
fn error_text(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(place) = text.rfind(" at line ") {
        text.truncate(place);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn read_value(line: &[u8]) -> Result<Option<Value>, String> {
        read(line, |deserializer, _| Value::deserialize(deserializer))
    }

    fn nested(levels: usize) -> String {
        "[".repeat(levels) + &"]".repeat(levels)
    }

    #[test]
    fn lines_of_unicode_white_space_are_blank() {
        for blank in ["", " \t\r", "\u{a0}\u{2003}", "\u{feff}", "\u{feff} "] {
            assert_eq!(read_value(blank.as_bytes()), Ok(None), "{blank:?}");
        }
    }

    #[test]
    fn one_byte_order_mark_is_tolerated() {
        assert_eq!(read_value("\u{feff}1".as_bytes()), Ok(Some(json!(1))));
        assert!(read_value("\u{feff}\u{feff}1".as_bytes()).is_err());
    }

    #[test]
    fn the_grammar_is_strict() {
        let bad: &[&[u8]] = &[
            b"{\"a\":1,}",
            b"[1,]",
            b"01",
            b"-",
            b"1.",
            b".5",
            b"+1",
            b"NaN",
            b"'a'",
            b"tru",
            b"1 2",
            b"{} //",
            b"\"\x01\"",
            b"\"\\q\"",
            b"\"\\ud83d\"",
            b"\"\\ude00\"",
            b"\"\\ud83d\\u0041\"",
            b"\"open",
            b"{\"a\" 1}",
            b"\xA01",
            b"\xFF",
            b"\xC2\xA01",
            b"01e999",
            b"1e999e",
            b"[1e999,]",
        ];
        for line in bad {
            let error = read_value(line).expect_err(&String::from_utf8_lossy(line));
            assert!(error.starts_with("Invalid JSON at byte "), "{error}");
        }
    }

    #[test]
    fn errors_name_the_byte() {
        let cases: &[(&[u8], &str)] = &[
            (b"{\"a\":x}", "Invalid JSON at byte 5: expected value"),
            (b"\xEF\xBB\xBF{\"a\":x}", "Invalid JSON at byte 8: expected value"),
            (b"{\n\"a\":\nx}", "Invalid JSON at byte 7: expected value"),
            (b"{} {}", "Invalid JSON at byte 3: trailing characters"),
            (b"[1", "Invalid JSON at byte 2: EOF while parsing a list"),
        ];
        for (line, error) in cases {
            assert_eq!(read_value(line), Err((*error).to_owned()));
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_within_strings() {
        assert_eq!(read_value(b"\"a\xE2\x82\""), Ok(Some(json!("a\u{fffd}"))));
        assert_eq!(read_value(b"\"\xFF\\\"\xFE\""), Ok(Some(json!("\u{fffd}\"\u{fffd}"))));
    }

    #[test]
    fn a_hundred_levels_are_read_and_no_more() {
        assert!(read_value(nested(100).as_bytes()).is_ok());
        let error = read_value(nested(101).as_bytes()).unwrap_err();
        assert_eq!(error, "Invalid JSON at byte 100: more than 100 nested arrays and objects");
        assert!(read_value("{\"a\":".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn brackets_side_by_side_or_within_strings_are_not_nested() {
        let siblings = format!("[{}0]", "[],".repeat(200));
        assert!(read_value(siblings.as_bytes()).is_ok());
        let text = format!("[\"\\\"{}\"]", "[{".repeat(200));
        assert!(read_value(text.as_bytes()).is_ok());
    }

    #[test]
    fn of_duplicate_keys_the_last_wins_at_the_place_of_the_first() {
        let value = read_value(br#"{"a":1,"b":2,"a":3}"#).unwrap().unwrap();
        assert_eq!(oam_agent::json_text::compact(&value), r#"{"a":3,"b":2}"#);
    }
}
