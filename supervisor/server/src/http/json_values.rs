//! How many values a JSON text holds, told while it comes.
//!
//! A value takes many times the memory of its bytes once it is read: `[0],` some 300. So that bodies are not read which would
//! take more than there is, their values are counted first.

/// Counts the values of a text: never less than there are, for members count twice. Texts in it that begin like objects, as the
/// arguments of calls do, count as what they hold. What is no JSON is counted somehow.
#[derive(Debug, Default)]
pub(super) struct ValueCounter {
    at: At,
    is_escaped: bool,
    count: usize,
}

/// What the next byte belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Outside,
    TextStart,
    Text,
    /// A text that may be read as JSON.
    Object,
}

impl ValueCounter {
    /// How many values have begun in the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let before = self.count;
        let mut rest = bytes;
        while let [byte, others @ ..] = rest {
            self.step(*byte);
            rest = match self.at {
                At::Outside => self.pass_outside(others),
                At::Text if !self.is_escaped => from_end_of_text(others),
                _ => others,
            };
        }
        self.count - before
    }

    /// Counts up to the next text, with which the rest begins.
    fn pass_outside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = bytes.iter().position(|&byte| byte == b'"').unwrap_or(bytes.len());
        let (outside, rest) = bytes.split_at(end);
        self.count += outside.iter().filter(|&&byte| begins_value(byte)).count();
        rest
    }

    fn step(&mut self, byte: u8) {
        if std::mem::take(&mut self.is_escaped) {
            self.at = match (self.at, byte) {
                (At::TextStart, b'n' | b'r' | b't') => At::TextStart,
                (At::TextStart, b'u') => At::Object,
                (At::TextStart, _) => At::Text,
                (at, _) => at,
            };
            // It may stand for any character.
            self.count += usize::from(self.at == At::Object && byte == b'u');
            return;
        }
        self.at = match (self.at, byte) {
            (At::Outside, b'"') | (At::TextStart, b' ' | b'\\') => At::TextStart,
            (_, b'"') => At::Outside,
            (At::TextStart, b'{') => At::Object,
            (At::TextStart, _) => At::Text,
            (at, _) => at,
        };
        self.is_escaped = byte == b'\\' && self.at != At::Outside;
        self.count += usize::from(begins_value(byte) && matches!(self.at, At::Outside | At::Object));
    }
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'[' | b'{' | b',' | b':')
}

/// The bytes from the first one on that may end a text or escape what ends it.
fn from_end_of_text(bytes: &[u8]) -> &[u8] {
    memchr::memchr2(b'"', b'\\', bytes).map_or(&[], |end| &bytes[end..])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn count(text: &str) -> usize {
        ValueCounter::default().take(text.as_bytes())
    }

    #[test]
    fn values_are_counted_and_characters_of_texts_are_not() {
        for (text, values) in [
            ("", 0),
            ("[[0],[0]]", 4),
            (r#"{"a":1,"b":[]}"#, 5),
            (r#"["one, two: [three]", "\"[,,,"]"#, 2),
            (r#"["\\", [], "{", []]"#, 7),
        ] {
            assert_eq!(count(text), values, "{text}");
        }
    }

    #[test]
    fn objects_in_texts_are_counted_however_they_are_written() {
        let within = |value: &Value| match value.as_object() {
            Some(_) => 1 + count(&value.to_string()),
            None => 1,
        };
        let arguments = json!({"a": [[0], [0], {"b": "c"}]});
        let plain = json!([arguments.to_string()]).to_string();
        assert_eq!(count(&plain), within(&arguments));
        for written in ["[\"  {", "[\"\\n {", "[\"\\u007b"] {
            let text = plain.replacen("[\"{", written, 1);
            assert_ne!(text, plain);
            assert!(count(&text) >= within(&arguments) - 1, "{text}");
        }
        assert!(count(&plain.replace(',', "\\u002c")) >= within(&arguments));
    }

    #[test]
    fn pieces_are_counted_like_the_whole() {
        let text = json!({"a": ["\"\\", "{\"b\":[1,2]}", {}]}).to_string();
        let mut counter = ValueCounter::default();
        let pieces: usize = text.as_bytes().chunks(1).map(|piece| counter.take(piece)).sum();
        assert_eq!(pieces, count(&text));
    }
}
