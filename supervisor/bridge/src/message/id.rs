//! Request ids, which come back exactly as they were sent.
//!
//! Numbers travel as doubles, so only numbers that a double holds exactly are ids. They are written as plain
//! digits where they are integral, else in the shortest form that reads back the same.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Serialize, Serializer};

/// The largest integer that a double tells from its neighbours: 2^53−1.
pub const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The id of a request (docs/PROTOCOL.md, Framing). Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A number.
    Number(NumericId),
    /// Text, also the empty text.
    Text(Arc<str>),
}

/// A number that can be an id: finite and within ±(2^53−1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumericId(f64);

impl NumericId {
    /// The id of this value, or `None` when it could not be echoed exactly.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0 into 0, so that equal ids are also equal bit by bit.
        (value.abs() <= MAX_EXACT_INTEGER).then_some(Self(value + 0.0))
    }

    /// The value.
    pub fn get(self) -> f64 {
        self.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "within 2^53 the way to an integer and back changes nothing but fractions"
    )]
    fn as_integer(self) -> Option<i64> {
        let integer = self.0 as i64;
        (integer as f64 == self.0).then_some(integer)
    }
}

impl Eq for NumericId {}

impl Hash for NumericId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl RequestId {
    /// The id of this number, or `None` when it could not be echoed exactly.
    pub fn number(value: f64) -> Option<Self> {
        NumericId::new(value).map(Self::Number)
    }

    /// The text, if the id is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) => None,
        }
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<u32> for RequestId {
    fn from(number: u32) -> Self {
        Self::Number(NumericId(f64::from(number)))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => fmt::Display::fmt(&number.0, f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => match number.as_integer() {
                Some(integer) => serializer.serialize_i64(integer),
                None => serializer.serialize_f64(number.0),
            },
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use oam_agent::json_text;

    use super::*;

    #[test]
    fn numbers_are_ids_while_they_are_exact() {
        for good in [0.0, -0.25, 1.5, MAX_EXACT_INTEGER, -MAX_EXACT_INTEGER] {
            assert!(RequestId::number(good).is_some(), "{good}");
        }
        for bad in [MAX_EXACT_INTEGER + 1.0, -1e16, f64::MAX, f64::INFINITY, f64::NAN] {
            assert!(RequestId::number(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn ids_are_written_as_they_are_echoed() {
        let cases = [
            (RequestId::from(3), "3"),
            (RequestId::number(-0.0).unwrap(), "0"),
            (RequestId::number(1e3).unwrap(), "1000"),
            (RequestId::number(-0.25).unwrap(), "-0.25"),
            (RequestId::number(MAX_EXACT_INTEGER).unwrap(), "9007199254740991"),
            (RequestId::from("3"), "\"3\""),
        ];
        for (id, text) in cases {
            assert_eq!(json_text::compact(&id), text);
        }
    }

    #[test]
    fn a_number_and_its_text_are_different_ids() {
        assert_ne!(RequestId::from(3), RequestId::from("3"));
        assert_eq!(RequestId::number(-0.0), RequestId::number(0.0));
    }
}
