//! Paths into a world: `player.gold`, `party.0.name`.
//!
//! People and models write paths in many ways, and all of them are read: `party[0].name`, `/party/0/name` and
//! `$.party.0.name` name the same place. Behind the door there is only the list of keys.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Serialize, Serializer};

use super::error::WorldError;

/// A place in a world: the keys and list positions that lead to it. No keys at all is the root.
///
/// [`Display`](fmt::Display) writes the one canonical form, keys joined by dots, which reads back as the same path.
/// Keys that contain `.`, `/`, `[` or `]` cannot be written in a path; changes may still tell of them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct WorldPath {
    segments: Vec<Arc<str>>,
}

impl WorldPath {
    /// The whole world.
    pub fn root() -> Self {
        Self::default()
    }

    /// Whether this is the whole world.
    pub fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    /// The keys and list positions, outermost first.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &str> {
        self.segments.iter().map(|segment| &**segment)
    }

    /// Whether this is `ancestor`, or lies within it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        self.segments.starts_with(&ancestor.segments)
    }

    /// Whether one of the two lies within the other: a change of one is then a change of the other.
    pub(super) fn touches(&self, other: &Self) -> bool {
        self.is_within(other) || other.is_within(self)
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn segment(&self, at: usize) -> Option<&str> {
        self.segments.get(at).map(|segment| &**segment)
    }

    /// The path of the first `len` segments.
    pub(super) fn ancestor(&self, len: usize) -> Self {
        Self { segments: self.segments[..len].to_vec() }
    }

    pub(super) fn push(&mut self, segment: &str) {
        self.segments.push(segment.into());
    }

    pub(super) fn pop(&mut self) {
        self.segments.pop();
    }
}

/// The position in a list that a segment names: plain digits without leading zeros, so that every element has one
/// name.
pub(super) fn list_position(segment: &str) -> Option<usize> {
    let is_plain =
        segment.bytes().all(|byte| byte.is_ascii_digit()) && (segment == "0" || !segment.starts_with('0'));
    if is_plain { segment.parse().ok() } else { None }
}

/// The path of these keys and list positions, whatever they contain: also of those that cannot be written.
impl<S: Into<Arc<str>>> FromIterator<S> for WorldPath {
    fn from_iter<I: IntoIterator<Item = S>>(segments: I) -> Self {
        Self { segments: segments.into_iter().map(Into::into).collect() }
    }
}

impl FromStr for WorldPath {
    type Err = WorldError;

    fn from_str(text: &str) -> Result<Self, WorldError> {
        let trimmed = text.trim();
        let keys = match trimmed.strip_prefix("$.").or_else(|| trimmed.strip_prefix('/')) {
            Some(rest) => rest,
            None if matches!(trimmed, "$" | ".") => "",
            None => trimmed,
        };
        if keys.is_empty() {
            return Ok(Self::root());
        }
        let keys = keys.strip_prefix('[').unwrap_or(keys);
        let segments: Vec<Arc<str>> =
            keys.split(['.', '[', '/']).map(|segment| segment.replace(']', "").into()).collect();
        if segments.iter().any(|segment| segment.is_empty()) {
            return Err(WorldError::InvalidPath { path: text.to_owned() });
        }
        Ok(Self { segments })
    }
}

impl fmt::Display for WorldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.segments.len().saturating_sub(1);
        for (at, segment) in self.segments().enumerate() {
            // At the ends of a path, white space and `$` mean nothing unless they stand in brackets.
            let is_lost_at_start = at == 0 && (segment == "$" || segment.starts_with(char::is_whitespace));
            let is_lost_at_end = at == last && segment.ends_with(char::is_whitespace);
            if is_lost_at_start || is_lost_at_end {
                write!(f, "[{segment}]")?;
            } else {
                write!(f, "{}{segment}", if at == 0 { "" } else { "." })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for WorldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorldPath({self})")
    }
}

impl Serialize for WorldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> WorldPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_is_read_however_it_is_written() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  \t", &[]),
            ("$", &[]),
            ("/", &[]),
            (".", &[]),
            ("$.", &[]),
            ("player", &["player"]),
            (" player.gold\n", &["player", "gold"]),
            ("$.player.gold", &["player", "gold"]),
            ("/player/gold", &["player", "gold"]),
            ("player/gold", &["player", "gold"]),
            ("party[0].name", &["party", "0", "name"]),
            ("party[0][1]", &["party", "0", "1"]),
            ("[party][0]", &["party", "0"]),
            ("/[party]", &["party"]),
            ("a b.c d", &["a b", "c d"]),
            ("a. b .c", &["a", " b ", "c"]),
            ("$a.$", &["$a", "$"]),
            ("$[0]", &["$", "0"]),
            ("a]b", &["ab"]),
            ("Öl.⚔️", &["Öl", "⚔️"]),
        ];
        for (text, segments) in cases {
            assert_eq!(path(text).segments().collect::<Vec<_>>(), *segments, "{text:?}");
        }
    }

    #[test]
    fn an_empty_segment_is_an_error_that_shows_the_path_as_it_was_given() {
        for text in
            ["a..b", ".a", "a.", "a/", "//a", "[]", "]", "[[a]", "a.[0]", "a[]", "..", "$..a", " x..y "]
        {
            let error = text.parse::<WorldPath>().unwrap_err();
            assert_eq!(error.path(), text);
            assert!(error.to_string().starts_with(&format!("'{text}' is not a valid path.")), "{error}");
        }
    }

    #[test]
    fn the_canonical_form_joins_segments_with_dots() {
        let cases = [
            ("", ""),
            ("party[0]/name", "party.0.name"),
            (" [ a][b ] ", "[ a][b ]"),
            ("[$].b", "[$].b"),
            ("[$]", "[$]"),
            ("a.$", "a.$"),
            ("[ a ]", "[ a ]"),
        ];
        for (text, canonical) in cases {
            assert_eq!(path(text).to_string(), canonical, "{text:?}");
        }
    }

    #[test]
    fn paths_touch_when_one_lies_within_the_other() {
        let cases = [
            ("", "player", true),
            ("player", "player", true),
            ("player.gold", "player", true),
            ("player", "players", false),
            ("player.gold", "player.goldfish", false),
            ("player.gold", "player.name", false),
        ];
        for (one, other, touch) in cases {
            assert_eq!(path(one).touches(&path(other)), touch, "{one} {other}");
            assert_eq!(path(other).touches(&path(one)), touch, "{other} {one}");
        }
        assert!(path("a.b").is_within(&path("a")));
        assert!(!path("a").is_within(&path("a.b")));
    }

    #[test]
    fn list_positions_are_plain_digits() {
        let cases = [("0", Some(0)), ("17", Some(17)), ("01", None), ("-1", None), ("+1", None), ("", None)];
        for (segment, position) in cases {
            assert_eq!(list_position(segment), position, "{segment}");
        }
        assert_eq!(list_position("99999999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = text.parse::<WorldPath>();
        }

        #[test]
        fn the_canonical_form_reads_back_as_the_same_path(text in "[$./\\[\\] ab0\u{a0}]{0,12}") {
            if let Ok(parsed) = text.parse::<WorldPath>() {
                prop_assert_eq!(&path(&parsed.to_string()), &parsed);
                prop_assert_eq!(path(&parsed.to_string()).to_string(), parsed.to_string());
            }
        }
    }
}
