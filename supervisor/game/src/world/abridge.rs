//! Showing values to a model that can read little: long texts are cut, large values become a listing of what is in them.
//!
//! However large a value is, no more of it is written than is shown.

use std::{borrow::Cow, io};

use oam_agent::json_text::WireFormatter;
use serde::Serialize;
use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::{part::Part, wording};

const ELLIPSIS: &str = "...";
/// JSON up to this many characters is shown whole.
const WHOLE: usize = 1500;
/// What a listing of an object's members may take. Without this limit, the listing of a large object would itself be
/// large.
const LISTING: usize = 6000;
/// Strings within a listing.
const LISTED_STRING: usize = 80;
/// No character is taken to be longer, in bytes.
const LONGEST_CHARACTER: usize = 64;

/// The text if it has at most `limit` characters, else its beginning and `...`, together as long as that.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let fits = text.len() <= limit || text.grapheme_indices(true).nth(limit).is_none();
    if fits { text.to_owned() } else { beginning(text, limit) }
}

/// The value's JSON text, [`cut`].
pub(super) fn cut_json(value: &Value, limit: usize) -> String {
    let head = Head::of(value, limit);
    if head.is_whole { cut(&head.text, limit) } else { beginning(&head.text, limit) }
}

fn beginning(text: &str, limit: usize) -> String {
    let end = text.grapheme_indices(true).nth(limit - ELLIPSIS.len()).map_or(text.len(), |(at, _)| at);
    format!("{}{ELLIPSIS}", &text[..end])
}

/// The part if its JSON text is short enough, else a shorter value that tells what is in it.
pub(super) fn abridged(part: &Part<'_>) -> Value {
    if json_length(part, WHOLE).is_some() {
        return serde_json::to_value(part).expect("a part of a value is a value");
    }
    match part {
        Part::Members(members) => listing(members.iter().map(|(key, part)| {
            let described = match part {
                Part::Whole(value) => described(value),
                Part::Members(members) => Value::String(wording::object_in_listing(members.len())),
            };
            (&**key, described)
        })),
        Part::Whole(Value::Object(members)) => {
            listing(members.iter().map(|(key, value)| (key.as_str(), described(value))))
        }
        Part::Whole(Value::Array(items)) => first_items(items),
        Part::Whole(Value::String(text)) => Value::String(cut(text, WHOLE)),
        Part::Whole(value) => (*value).clone(),
    }
}

fn listing<'k>(members: impl ExactSizeIterator<Item = (&'k str, Value)>) -> Value {
    let all = members.len();
    let mut room = LISTING;
    let mut listed = Map::new();
    for (key, value) in members {
        let length = key.len() + json_length(&value, LISTING).unwrap_or(LISTING) + 4;
        match room.checked_sub(length) {
            Some(rest) => room = rest,
            None => break,
        }
        listed.insert(key.to_owned(), value);
    }
    let note = wording::listing_note(listed.len(), all);
    listed.insert("_note".to_owned(), Value::String(note));
    Value::Object(listed)
}

fn first_items(items: &[Value]) -> Value {
    let mut shown = fitting(items.iter().map(Cow::Borrowed));
    if shown.is_empty() {
        shown = fitting(items.iter().map(|item| Cow::Owned(described(item))));
    }
    let note = wording::items_note(shown.len(), items.len());
    serde_json::json!({"items": shown, "_note": note})
}

fn fitting<'v>(items: impl Iterator<Item = Cow<'v, Value>>) -> Vec<Value> {
    let mut room = WHOLE;
    let mut fitting = Vec::new();
    for item in items {
        let Some(rest) = json_length(&item, room).and_then(|length| room.checked_sub(length + 1)) else {
            break;
        };
        room = rest;
        fitting.push(item.into_owned());
    }
    fitting
}

/// What a listing says of a member.
fn described(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::String(wording::object_in_listing(members.len())),
        Value::Array(items) => Value::String(wording::list_in_listing(items.len())),
        Value::String(text) => Value::String(cut(text, LISTED_STRING)),
        scalar => scalar.clone(),
    }
}

/// How many characters the JSON text has, if at most `limit`.
fn json_length(value: &impl Serialize, limit: usize) -> Option<usize> {
    let head = Head::of(value, limit);
    let length = if head.text.is_ascii() { head.text.len() } else { head.text.graphemes(true).count() };
    (head.is_whole && length <= limit).then_some(length)
}

/// The beginning of a JSON text.
struct Head {
    text: String,
    is_whole: bool,
}

impl Head {
    /// At least the first `limit` characters.
    fn of(value: &impl Serialize, limit: usize) -> Self {
        let mut writer = HeadWriter { text: Vec::new(), room: limit.saturating_mul(LONGEST_CHARACTER) };
        let written =
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut writer, WireFormatter));
        let text = String::from_utf8_lossy(&writer.text);
        // The cut may have gone through a character.
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned();
        Self { text, is_whole: written.is_ok() }
    }
}

struct HeadWriter {
    text: Vec<u8>,
    room: usize,
}

impl io::Write for HeadWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        self.text.extend_from_slice(&bytes[..taken]);
        // Nothing taken of something makes the serializer stop.
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn abridged(value: &Value) -> Value {
        super::abridged(&Part::Whole(value))
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let family = "👩‍👩‍👧";
        let cases = [
            ("short".to_owned(), "short".to_owned()),
            ("x".repeat(80), "x".repeat(80)),
            ("x".repeat(81), "x".repeat(77) + "..."),
            (family.repeat(80), family.repeat(80)),
            (family.repeat(81), family.repeat(77) + "..."),
        ];
        for (text, shown) in cases {
            assert_eq!(cut(&text, 80), shown);
        }
        assert_eq!(cut_json(&json!(["é".repeat(100)]), 10), "[\"ééééé...");
        assert_eq!(cut_json(&json!([1, 2.0]), 5), "[1,2]");
        assert_eq!(cut_json(&json!("é".repeat(100_000)), 10), "\"éééééé...");
    }

    #[test]
    fn what_is_short_stays_whole() {
        let whole = json!({"s": "x".repeat(1492)});
        assert_eq!(abridged(&whole), whole);
        assert_ne!(abridged(&json!({"s": "x".repeat(1493)})), whole);
    }

    #[test]
    fn a_large_object_becomes_a_listing() {
        let value = json!({
            "name": "Aria", "story": "x".repeat(2000), "gold": 12, "alive": true, "horse": null,
            "bag": {"a": {}, "b": []}, "pet": {"name": "Rex"}, "party": ["a", "b"], "none": {}, "one": [1],
        });
        let shown = abridged(&value);
        assert_eq!(
            shown.to_string(),
            json!({
                "name": "Aria", "story": "x".repeat(77) + "...", "gold": 12, "alive": true, "horse": null,
                "bag": "{object with 2 keys}", "pet": "{object with 1 key}", "party": "[list of 2 items]",
                "none": "{object with 0 keys}", "one": "[list of 1 item]",
                "_note": "Shortened. Read the path of one key to see all of it.",
            })
            .to_string()
        );
    }

    #[test]
    fn an_object_of_very_many_keys_is_listed_in_part() {
        let value: Value =
            (0..10_000).map(|number| (format!("key{number}"), json!([number]))).collect::<Map<_, _>>().into();
        let shown = abridged(&value);
        let count = shown.as_object().unwrap().len() - 1;
        assert!(count > 100 && shown.to_string().len() < 7000, "{count}");
        assert_eq!(
            shown["_note"],
            format!("Shortened. Showing {count} of 10000 keys. Read the path of one key to see all of it.")
        );
    }

    #[test]
    fn a_long_list_shows_as_many_items_as_fit() {
        let shown = abridged(&json!(vec!["x".repeat(97); 100]));
        assert_eq!(shown["items"], json!(vec!["x".repeat(97); 15]));
        assert_eq!(shown["_note"], "Showing 15 of 100 items.");
        let shown = abridged(&json!([{"story": "x".repeat(2000)}, [1], "y".repeat(100), 5]));
        assert_eq!(
            shown,
            json!({
                "items": ["{object with 1 key}", "[list of 1 item]", "y".repeat(77) + "...", 5],
                "_note": "Showing 4 of 4 items.",
            })
        );
    }

    #[test]
    fn a_long_string_is_cut() {
        assert_eq!(abridged(&json!("x".repeat(1600))), json!("x".repeat(1497) + "..."));
    }
}
