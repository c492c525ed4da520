//! Request ids, which come back as the number or the text that was sent.
//!
//! Numbers travel as doubles, so only numbers within the range in which a double holds every integer are ids. They are written
//! as plain digits where they are integral, else in the shortest form that reads back the same; where that is another number
//! (`1e-400` is read as 0), as they were sent.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use oam_agent::json_text;
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

/// The largest integer that a double tells from its neighbours: 2^53−1.
pub const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The id of a request (docs/PROTOCOL.md, Framing). Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A number.
    Number(NumericId),
    /// A number that is another one when it is read and written.
    Literal(NumberLiteral),
    /// Text, also the empty text.
    Text(Arc<str>),
}

/// A number that can be an id: finite and within ±(2^53−1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumericId(f64);

/// A JSON number as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NumberLiteral(Arc<str>);

impl NumericId {
    /// The id of this value, or `None` when doubles of its size do not tell all integers apart.
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

/// The value of a number that is written in digits: those without zeros at the ends, and the power of ten of the last one.
#[derive(Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` when the exponent is beyond all reason.
    fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let magnitude = whole.trim_start_matches('-');
        let all = format!("{magnitude}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = all.len() - digits.len();
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        let shift = i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
        let exponent = exponent.parse::<i64>().ok()?.checked_add(shift)?;
        Some(Self { is_negative: magnitude.len() < whole.len(), digits, exponent })
    }
}

impl Eq for NumericId {}

impl Hash for NumericId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl RequestId {
    /// The id of this number, or `None` when it is too large for one.
    pub fn number(value: f64) -> Option<Self> {
        NumericId::new(value).map(Self::Number)
    }

    /// The id of this JSON number, or `None` when it is too large for one.
    pub(super) fn literal(text: &str) -> Option<Self> {
        let number = text.parse().ok().and_then(Self::number)?;
        let echoed = json_text::compact(&number);
        let is_the_same = Decimal::of(text).is_some_and(|sent| Decimal::of(&echoed) == Some(sent));
        Some(if is_the_same { number } else { Self::Literal(NumberLiteral(text.into())) })
    }

    /// The text, if the id is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Literal(_) => None,
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
            Self::Literal(NumberLiteral(text)) | Self::Text(text) => f.write_str(text),
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
            Self::Literal(NumberLiteral(text)) => {
                serde_json::from_str::<&RawValue>(text).map_err(S::Error::custom)?.serialize(serializer)
            }
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn the_same_number_is_echoed() {
        for (sent, echoed) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.000", "0"),
            ("-0e-99999999999999999999", "0"),
            ("1.0", "1"),
            ("1E5", "100000"),
            ("-20e0", "-20"),
            ("150e-1", "15"),
            ("0.001e+3", "1"),
            ("0.1", "0.1"),
            ("1.50", "1.5"),
            ("-0.25", "-0.25"),
            ("9007199254740991.0", "9007199254740991"),
            ("1E-7", "1e-7"),
            ("50e-325", "5e-324"),
            ("2.2250738585072014e-308", "2.2250738585072014e-308"),
            // Two shortest forms are read as this double.
            ("-196635534989785.12", "-196635534989785.12"),
        ] {
            let id = RequestId::literal(sent).unwrap();
            assert_eq!(json_text::compact(&id), echoed, "{sent}");
            assert!(matches!(id, RequestId::Number(_)), "{sent}");
        }
        for unlike_its_double in [
            "1e-400",
            "-1E-99999999999999999999",
            "4e-324",
            "0.10000000000000001",
            "1.00000000000000000000001",
            "0.99999999999999999999",
            "-3.14159265358979323846",
            "9007199254740990.9",
            "-196635534989785.13",
        ] {
            let id = RequestId::literal(unlike_its_double).unwrap();
            assert_eq!(json_text::compact(&id), unlike_its_double);
            assert_eq!(id.to_string(), unlike_its_double);
        }
        for large in ["9007199254740992.0", "12345678901234567890123", "1e400", "-1e99999999999999999999"] {
            assert_eq!(RequestId::literal(large), None, "{large}");
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
