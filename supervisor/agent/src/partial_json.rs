//! The value that the beginning of a JSON text stands for.
//!
//! A structured answer arrives piece by piece, and a game wants to show what is there. [`parse_prefix`] reads a
//! text that may end anywhere: open strings, arrays and objects count as closed there, and what could still
//! become something else (half a key, `tr`, a number's digits, half an escape) is left out. So every reading is a
//! part of the next one.

use serde_json::{Map, Value};

/// The deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 100;

/// The value that `text` stands for so far; `None` while it stands for nothing yet, when it is not the beginning of
/// a JSON text, and when it nests deeper than [`MAX_DEPTH`].
///
/// A whole JSON text gives its value, but for one case: of a number at the very end nobody can tell whether it is
/// whole, so a text that is only a number gives its value when white space follows.
pub fn parse_prefix(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    match reader.value(0).ok()? {
        Read::Whole(value) => reader.peek().is_none().then_some(value),
        Read::Open(value) => value,
    }
}

/// A growing JSON text and what it stands for.
///
/// Each reading starts from the beginning of the text. So that a long text in tiny pieces does not cost the square
/// of its length, a piece that adds less than a 32nd to a text over 4 KiB is taken without a reading.
#[derive(Debug, Clone, Default)]
pub struct PartialJson {
    text: String,
    read_at: usize,
}

impl PartialJson {
    const ALWAYS_READ_BELOW: usize = 4096;
    const LEAST_GROWTH: usize = 32;

    /// Appends a piece. Returns the value so far, if the text stands for one and was read.
    pub fn push(&mut self, piece: &str) -> Option<Value> {
        self.text.push_str(piece);
        let growth = self.text.len() - self.read_at;
        if self.text.len() > Self::ALWAYS_READ_BELOW && growth < self.text.len() / Self::LEAST_GROWTH {
            return None;
        }
        self.read()
    }

    /// The value of the whole text, if its last pieces were taken without a reading.
    pub fn finish(mut self) -> Option<Value> {
        if self.read_at < self.text.len() { self.read() } else { None }
    }

    fn read(&mut self) -> Option<Value> {
        self.read_at = self.text.len();
        parse_prefix(&self.text)
    }
}

/// The text cannot be continued to JSON that is read here.
struct NotJson;

/// What was read of a value.
enum Read {
    /// All of it.
    Whole(Value),
    /// The text ended in it; what there is, if that is anything.
    Open(Option<Value>),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next byte that is not white space; the reader then stands at it.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self, depth: usize) -> Result<Read, NotJson> {
        match self.peek() {
            None => Ok(Read::Open(None)),
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(NotJson),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(match self.string()? {
                (text, true) => Read::Whole(Value::String(text)),
                (text, false) => Read::Open(Some(Value::String(text))),
            }),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(NotJson),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Read, NotJson> {
        let mut object = Map::new();
        self.at += 1;
        loop {
            match self.peek() {
                None => return Ok(Read::Open(Some(object.into()))),
                Some(b'}') if object.is_empty() => break,
                Some(b'"') => {}
                Some(_) => return Err(NotJson),
            }
            let (key, true) = self.string()? else { return Ok(Read::Open(Some(object.into()))) };
            match self.peek() {
                None => return Ok(Read::Open(Some(object.into()))),
                Some(b':') => self.at += 1,
                Some(_) => return Err(NotJson),
            }
            match self.value(depth)? {
                Read::Whole(value) => object.insert(key, value),
                Read::Open(value) => {
                    object.extend(value.map(|value| (key, value)));
                    return Ok(Read::Open(Some(object.into())));
                }
            };
            match self.peek() {
                None => return Ok(Read::Open(Some(object.into()))),
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                Some(_) => return Err(NotJson),
            }
        }
        self.at += 1;
        Ok(Read::Whole(object.into()))
    }

    fn array(&mut self, depth: usize) -> Result<Read, NotJson> {
        let mut array = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                None => return Ok(Read::Open(Some(array.into()))),
                Some(b']') if array.is_empty() => break,
                Some(_) => {}
            }
            match self.value(depth)? {
                Read::Whole(value) => array.push(value),
                Read::Open(value) => {
                    array.extend(value);
                    return Ok(Read::Open(Some(array.into())));
                }
            }
            match self.peek() {
                None => return Ok(Read::Open(Some(array.into()))),
                Some(b',') => self.at += 1,
                Some(b']') => break,
                Some(_) => return Err(NotJson),
            }
        }
        self.at += 1;
        Ok(Read::Whole(array.into()))
    }

    /// The string that begins here, and whether it is whole.
    fn string(&mut self) -> Result<(String, bool), NotJson> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        while let Some(offset) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += offset;
            if bytes[at] == b'"' {
                self.at = at + 1;
                return Ok((unquoted(&self.text[start..=at])?, true));
            }
            match escape_len(&bytes[at..]) {
                Some(len) => at += len,
                None => return self.open_string(start, at),
            }
        }
        self.open_string(start, bytes.len())
    }

    fn open_string(&mut self, start: usize, end: usize) -> Result<(String, bool), NotJson> {
        self.at = self.text.len();
        Ok((unquoted(&format!("{}\"", &self.text[start..end]))?, false))
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Read, NotJson> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(Read::Whole(value))
        } else if word.starts_with(rest) {
            Ok(Read::Open(None))
        } else {
            Err(NotJson)
        }
    }

    fn number(&mut self) -> Result<Read, NotJson> {
        let rest = &self.text[self.at..];
        let Some(len) = rest.bytes().position(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(&byte))
        else {
            return Ok(Read::Open(None));
        };
        self.at += len;
        serde_json::from_str(&rest[..len]).map(Read::Whole).map_err(|_| NotJson)
    }
}

/// The length of the escape that `bytes` begin with, of a surrogate pair both halves; `None` when the text ends
/// before it does. What is not an escape at all shows when the string is unquoted.
fn escape_len(bytes: &[u8]) -> Option<usize> {
    const UNICODE: usize = "\\u0000".len();
    let begins_unicode = |bytes: &[u8]| {
        let digits = bytes.get(2..).unwrap_or_default();
        "\\u".as_bytes().starts_with(&bytes[..bytes.len().min(2)])
            && digits.iter().take(UNICODE - 2).all(u8::is_ascii_hexdigit)
    };
    if bytes.len() > 1 && !begins_unicode(bytes) {
        return Some(2);
    }
    let is_high_surrogate =
        matches!(bytes.get(2..UNICODE)?, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
    if is_high_surrogate && begins_unicode(&bytes[UNICODE..]) {
        return (bytes.len() >= 2 * UNICODE).then_some(2 * UNICODE);
    }
    Some(UNICODE)
}

fn unquoted(literal: &str) -> Result<String, NotJson> {
    serde_json::from_str(literal).map_err(|_| NotJson)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::arbitrary;

    #[test]
    fn what_a_text_stands_for_so_far() {
        let cases = [
            (r"{", json!({})),
            (r#" {"a" "#, json!({})),
            (r#"{"a": "#, json!({})),
            (r#"{"a": tr"#, json!({})),
            (r#"{"a": true"#, json!({"a": true})),
            (r#"{"a": 12"#, json!({})),
            (r#"{"a": 12 "#, json!({"a": 12})),
            (r#"{"a": -1.5e3, "#, json!({"a": -1500.0})),
            (r#"{"a": 1, "b"#, json!({"a": 1})),
            (r#"{"a": ""#, json!({"a": ""})),
            (r#"{"a": "x\"#, json!({"a": "x"})),
            (r#"{"a": "x\n"#, json!({"a": "x\n"})),
            (r#"{"a": "x\u00e"#, json!({"a": "x"})),
            (r#"{"a": "x\u00e9"#, json!({"a": "xé"})),
            (r#"{"a": "x\ud83d"#, json!({"a": "x"})),
            (r#"{"a": "x\ud83d\ude0"#, json!({"a": "x"})),
            (r#"{"a": "x\uD83D\uDE00"#, json!({"a": "x😀"})),
            (r"[", json!([])),
            (r"[1, 2", json!([1])),
            (r"[1, 2,", json!([1, 2])),
            (r"[[], [{", json!([[], [{}]])),
            (r"[nul", json!([])),
            (r#""gr"#, json!("gr")),
            ("{\"a\": [true]}\n", json!({"a": [true]})),
            ("7 ", json!(7)),
            ("false", json!(false)),
        ];
        for (text, value) in cases {
            assert_eq!(parse_prefix(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_stands_for_nothing() {
        let unfinished = ["", " \n", "7", "-", "t"];
        let not_json = [
            "Hello",
            "{]",
            "{a",
            "{\"a\"}",
            "{\"a\",",
            "{,",
            "{\"a\":1,}",
            "[1,]",
            "[,",
            "[1 2",
            "{} x",
            "}",
            "tru ",
            "[truth",
            "[01,",
            "[1.,",
            "[--1 ",
            "[1e,",
            "\"\n",
            "[\"\u{1}",
            "\"\\x\"",
            "\"\\u12G4\"",
            "\"\\ud83d x\"",
            "\"\\ude00\"",
            "\"\\u\"",
            "\"\\u12\"",
            "\"\\é",
        ];
        for text in unfinished.into_iter().chain(not_json) {
            assert_eq!(parse_prefix(text), None, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth| "[".repeat(depth);
        assert!(parse_prefix(&nested(MAX_DEPTH)).is_some());
        assert_eq!(parse_prefix(&nested(MAX_DEPTH + 1)), None);
        assert_eq!(parse_prefix(&"[{\"a\":".repeat(100_000)), None);
    }

    #[test]
    fn a_long_text_in_tiny_pieces_is_not_read_for_each() {
        let text = format!("[\"{}\"]", "x".repeat(100_000));
        let mut json = PartialJson::default();
        let readings = text.split_inclusive('x').filter(|piece| json.push(piece).is_some()).count();
        assert!(readings < 4096 + 32 * 5, "{readings}");
        assert_eq!(json.finish(), Some(serde_json::from_str(&text).unwrap()));
    }

    #[test]
    fn the_last_reading_is_not_repeated() {
        let mut json = PartialJson::default();
        assert_eq!(json.push("[\"a"), Some(json!(["a"])));
        assert_eq!(json.push("b\"]"), Some(json!(["ab"])));
        assert_eq!(json.finish(), None);
    }

    /// Whether `part` can grow into `whole` by appending alone.
    fn is_part(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len() && is_part_list(part.iter().zip(whole), part.len())
            }
            (Value::Object(part), Value::Object(whole)) => {
                part.len() <= whole.len()
                    && part.keys().zip(whole.keys()).all(|(part, whole)| part == whole)
                    && is_part_list(part.values().zip(whole.values()), part.len())
            }
            _ => part == whole,
        }
    }

    fn is_part_list<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>, len: usize) -> bool {
        pairs.enumerate().all(
            |(index, (part, whole))| {
                if index + 1 < len { part == whole } else { is_part(part, whole) }
            },
        )
    }

    fn beginnings(text: &str) -> impl Iterator<Item = &str> {
        text.char_indices().map(|(at, _)| &text[..at])
    }

    proptest! {
        #[test]
        fn every_beginning_is_part_of_the_next(value in arbitrary::json(), is_pretty in any::<bool>()) {
            let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            // The space tells that a number is whole.
            let text = text + " ";
            let whole = parse_prefix(&text).unwrap();
            prop_assert_eq!(&whole, &serde_json::from_str::<Value>(&text).unwrap());
            let mut last = None;
            for value in beginnings(&text).map(parse_prefix) {
                if let (Some(last), Some(value)) = (&last, &value) {
                    prop_assert!(is_part(last, value), "{} in {}", last, value);
                }
                prop_assert!(last.is_none() || value.is_some());
                last = value;
            }
            prop_assert!(last.is_none_or(|last| is_part(&last, &whole)));
        }

        #[test]
        fn what_is_read_of_any_text_agrees_with_strict_reading(text in r#"[\[\]{}:,"\\u0dea8 tfrulsn1.-]{0,24}"#) {
            let strict = serde_json::from_str::<Value>(&text).ok().filter(|value| !value.is_number());
            if let Some(strict) = strict {
                prop_assert_eq!(parse_prefix(&text), Some(strict));
            }
            for text in beginnings(&text) {
                parse_prefix(text);
            }
        }
    }
}
